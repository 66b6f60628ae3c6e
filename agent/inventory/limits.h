/*
 * limits: what the schema of record (crds/) takes, held against values from outside.
 *
 * The API server refuses a whole status for one value that breaks the schema. So text is cleaned
 * and cut, and a value of a wrong form is dropped: the rest of the device is published all the
 * same. Each kind has one table of its fields.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_strs;

/* Has @text the form, in at most (ids: exactly) @max bytes? */
typedef bool limit_form_fn(const char *text, size_t max);

limit_form_fn limit_is_id;      /* lower-case hex digits, @max of them                    */
limit_form_fn limit_is_number;  /* decimal digits                                         */
limit_form_fn limit_is_address; /* of a PCI function: "0000:04:00.0"                      */
limit_form_fn limit_is_port;    /* of a USB device: "1-4.2", "usb1"                       */
limit_form_fn limit_is_uuid;    /* in lower case                                         */
limit_form_fn limit_is_word;    /* printable ASCII, without blanks                        */

/* One text of a struct. */
struct limit {
	size_t at;
	size_t max;
	limit_form_fn *form; /* NULL: any text */
};

/* The row of a member `char *`. */
/* NOLINTBEGIN(bugprone-macro-parentheses): types and members cannot stand in parentheses */
#define LIMIT(type, member, max_, form_)                                                 \
	{                                                                                \
		.at = _Generic(&((type *)0)->member, char **: offsetof(type, member)), \
		.max = (max_), .form = (form_) \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

/* Hold each text of @object that a row names against it. NULL stays NULL. */
void limits_apply(const struct limit *rows, size_t len, void *object);

/* Remove items that are not of the form, then those past @items_max. */
void limit_list(struct json_strs *list, size_t items_max, size_t max, limit_form_fn *form);

/* @number, or @absent if it is not between 0 and @max. */
int limit_number(int number, int max, int absent);
