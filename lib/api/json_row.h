/*
 * json_row: functions of the row types of a JSON map. Private to json_map: json_row.c has the
 * scalar values, json_row_list.c the lists of strings, json_map.c nested structs.
 */
#pragma once

#include "api/json_map.h"

/* A position in the document: a linked list on the stack, innermost first; NULL is the root. */
struct json_path {
	const struct json_path *up;
	const char *key; /* NULL: item number @index */
	size_t index;
};

struct json_row_ops {
	/* @value is neither missing nor null; @member is in its initial state. */
	int (*decode)(const struct json_row *row, json_t *value, void *member,
		      const struct json_path *path, struct err *err);
	json_t *(*encode)(const struct json_row *row, const void *member);
	bool (*absent)(const struct json_row *row, const void *member);
	bool (*equal)(const struct json_row *row, const void *a, const void *b);
	/* @to is in its initial state. */
	void (*copy)(const struct json_row *row, void *to, const void *from);
	void (*done)(const struct json_row *row, void *member); /* NULL: nothing to release */
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
/* Check that @value is a list, and not too long. */
int json_row_check_list(const json_t *value, const struct json_path *path, struct err *err);

/* Return @json; abort if it is NULL, because jansson had no memory. */
json_t *json_row_new(json_t *json);
/* A copy of a JSON string, with U+FFFD for each NUL in it; the caller frees it. */
char *json_row_dup(const json_t *string);
/* A JSON string; text that is not UTF-8 is sanitized. */
json_t *json_row_text(const char *text);
