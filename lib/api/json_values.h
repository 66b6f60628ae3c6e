/* json_values: member types of JSON maps: a list of strings and a list of key-value pairs
 * (labels, annotations). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A named ARRAY(char *), so array_add() works on it. Owns its items; no item is NULL. */
struct json_strs {
	char **items;
	size_t len;
	size_t cap;
};

/* Append a copy of @text. */
void json_strs_add(struct json_strs *list, const char *text);
/* Append a copy of @text unless the list contains it. True if it was appended. */
bool json_strs_add_new(struct json_strs *list, const char *text);
bool json_strs_has(const struct json_strs *list, const char *text);
/* Remove every item equal to @text. True if there was one. */
bool json_strs_remove(struct json_strs *list, const char *text);
/* Sort by strcmp(). */
void json_strs_sort(struct json_strs *list);
/* True if both hold the same strings in the same order. */
bool json_strs_equal(const struct json_strs *a, const struct json_strs *b);
/* Release; the list is empty again. */
void json_strs_done(struct json_strs *list);

struct json_pair {
	char *key;
	char *value; /* never NULL */
};

/* Sorted by key, no duplicate keys. Modify it only through the functions below. */
struct json_pairs {
	struct json_pair *items;
	size_t len;
	size_t cap;
};

/* The value of @key; NULL if there is none. Valid until the list changes. */
const char *json_pairs_get(const struct json_pairs *list, const char *key);
/* Set @key to a copy of @value. True if anything changed. */
bool json_pairs_set(struct json_pairs *list, const char *key, const char *value);
/* True if @key existed. */
bool json_pairs_remove(struct json_pairs *list, const char *key);
/* Sort after adding many items with array_add(). The list takes ownership of the items; their
 * keys must be new. */
void json_pairs_sort(struct json_pairs *list);
/* True if @list has all pairs of @part. */
bool json_pairs_include(const struct json_pairs *list, const struct json_pairs *part);
bool json_pairs_equal(const struct json_pairs *a, const struct json_pairs *b);
/* Release; the list is empty again. */
void json_pairs_done(struct json_pairs *list);
