/*
 * json_read: reads JSON text once from start to end, without building a tree.
 *
 *	struct json_read r = json_read_start(text, len);
 *	struct json_text key;
 *
 *	json_read_open(&r, '{');
 *	while (json_read_member(&r, &key))
 *		json_read_value(&r, NULL);
 *	ok = json_read_end(&r);
 *
 * After the first violation of RFC 8259 every call returns false. Skipped values are checked like
 * the others: UTF-8, escapes, numbers, nesting of at most JSON_READ_DEPTH, no NUL in a key. Keys
 * and strings are returned as they are in the text, with escapes unresolved.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { JSON_READ_DEPTH = 128 };

/* A part of the input text. */
struct json_text {
	const char *text;
	size_t len;
};

/* Lives on the caller's stack; nothing to release. */
struct json_read {
	const char *at;
	const char *end;
	unsigned depth;
	bool first; /* nothing of the innermost object or array was read yet */
	bool failed;
	bool in_key;
	bool large_number; /* read a number that may not fit into 64 bits or a double */
};

struct json_read json_read_start(const char *text, size_t len);

/* The first byte of the next value: one of { [ " t f n - 0 to 9; '\0' if there is none. */
char json_read_peek(struct json_read *r);

/* Enter the object ('{') or array ('[') that comes next. */
bool json_read_open(struct json_read *r, char bracket);

/* Move to the next member's value and return its key; at the end, leave the object and return
 * false. */
bool json_read_member(struct json_read *r, struct json_text *ret_key);

/* Move to the next element of an array; at the end, leave the array and return false. */
bool json_read_item(struct json_read *r);

/* Skip the next value, of any type, and return its text (@ret_value may be NULL), strings with
 * their quotes. */
bool json_read_value(struct json_read *r, struct json_text *ret_value);

/* Skip the next string and return the text between its quotes. */
bool json_read_string(struct json_read *r, struct json_text *ret_string);

/* True if the text was exactly one value and all of it was read. */
bool json_read_end(struct json_read *r);

bool json_text_is(const struct json_text *text, const char *word);
