/*
 * json_row: what the rows of a JSON map do, one set of functions per row type. Private to json_map:
 * json_row.c has the single values, json_row_list.c the lists of text, json_map.c what nests.
 */
#pragma once

#include "api/json_map.h"

/* Where in the document we are: a chain on the stack, innermost first; NULL is the top. */
struct json_path {
	const struct json_path *up;
	const char *key; /* NULL: the item @index */
	size_t index;
};

struct json_row_ops {
	/* @value is there and not null; @member is in its initial state. */
	int (*decode)(const struct json_row *row, json_t *value, void *member,
		      const struct json_path *path, struct err *err);
	json_t *(*encode)(const struct json_row *row, const void *member);
	bool (*absent)(const struct json_row *row, const void *member);
	bool (*equal)(const struct json_row *row, const void *a, const void *b);
	/* @to is in its initial state. */
	void (*copy)(const struct json_row *row, void *to, const void *from);
	void (*done)(const struct json_row *row, void *member); /* NULL: owns nothing */
};

extern const struct json_row_ops json_row_str;
extern const struct json_row_ops json_row_bool;
extern const struct json_row_ops json_row_number;
extern const struct json_row_ops json_row_strs;
extern const struct json_row_ops json_row_pairs;

/* "<path>: <what>", ERR_INVALID, -EINVAL. */
int json_row_fail(const struct json_path *path, struct err *err, const char *what);
int json_row_fail_type(const struct json_path *path, struct err *err, const char *expected,
		       const json_t *value);
/* That @value is a list, and not too long a one. */
int json_row_check_list(const json_t *value, const struct json_path *path, struct err *err);

/* @json, or the end of the program when jansson had no memory for it. */
json_t *json_row_new(json_t *json);
/* The text of a JSON string, with U+FFFD for each NUL in it; the caller frees. */
char *json_row_dup(const json_t *string);
/* A JSON string; text that is not UTF-8 comes out cleaned. */
json_t *json_row_text(const char *text);
