/*
 * json_read: walks JSON text once, from front to back, without building a tree of it.
 *
 *	struct json_read r = json_read_start(text, len);
 *	struct json_text key;
 *
 *	json_read_open(&r, '{');
 *	while (json_read_member(&r, &key))
 *		json_read_value(&r, NULL);
 *	ok = json_read_end(&r);
 *
 * The first thing that is not as RFC 8259 wants it ends the walk: every call returns false from then
 * on. What is skipped is checked as what is used: UTF-8, escapes, numbers, nesting of at most
 * JSON_READ_DEPTH, no NUL in a key. Keys and strings are handed out as they stand in the text, escapes
 * unresolved.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { JSON_READ_DEPTH = 128 };

/* A part of the text. */
struct json_text {
	const char *text;
	size_t len;
};

/* Lives on the caller's stack; needs no release. */
struct json_read {
	const char *at;
	const char *end;
	unsigned depth;
	bool first; /* nothing of the innermost object or array was read yet */
	bool failed;
	bool in_key;
	bool large_number; /* passed one that may not fit into 64 bits, or into a double */
};

struct json_read json_read_start(const char *text, size_t len);

/* The first byte of the value to come: one of { [ " t f n - 0 to 9; '\0' if there is none. */
char json_read_peek(struct json_read *r);

/* Enter the object ('{') or array ('[') to come. */
bool json_read_open(struct json_read *r, char bracket);

/* Go to the next member's value, after handing out its key; or leave the object and return false. */
bool json_read_member(struct json_read *r, struct json_text *ret_key);

/* Go to the next element of an array; or leave the array and return false. */
bool json_read_item(struct json_read *r);

/* Pass the value to come, of any type; hand out its text (@ret_value may be NULL), strings with their
 * quotes. */
bool json_read_value(struct json_read *r, struct json_text *ret_value);

/* Pass the string to come; hand out what is between its quotes. */
bool json_read_string(struct json_read *r, struct json_text *ret_string);

/* True if the whole text was one value and all of it was read. */
bool json_read_end(struct json_read *r);

bool json_text_is(const struct json_text *text, const char *word);
