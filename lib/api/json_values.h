/* json_values: the plain values that JSON maps fill beside strings and numbers: a list of strings
 * and a list of key-value pairs (labels, annotations). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* An ARRAY(char *) with a name, so array_add() works on it; owns its items, none of them NULL. */
struct json_strs {
	char **items;
	size_t len;
	size_t cap;
};

/* Append a copy of @text. */
void json_strs_add(struct json_strs *list, const char *text);
/* Append a copy of @text unless the list has it. True if it was appended. */
bool json_strs_add_new(struct json_strs *list, const char *text);
bool json_strs_has(const struct json_strs *list, const char *text);
/* Remove every @text. True if there was one. */
bool json_strs_remove(struct json_strs *list, const char *text);
/* Order by strcmp. */
void json_strs_sort(struct json_strs *list);
/* True if both hold the same texts in the same order. */
bool json_strs_equal(const struct json_strs *a, const struct json_strs *b);
/* Release; the list is empty again. */
void json_strs_done(struct json_strs *list);

struct json_pair {
	char *key;
	char *value; /* never NULL */
};

/* Ordered by key, each key once: change it by the functions below. */
struct json_pairs {
	struct json_pair *items;
	size_t len;
	size_t cap;
};

/* The value of @key, NULL if it has none. Valid until the list changes. */
const char *json_pairs_get(const struct json_pairs *list, const char *key);
/* Give @key a copy of @value. True if that changed anything. */
bool json_pairs_set(struct json_pairs *list, const char *key, const char *value);
/* True if @key was there. */
bool json_pairs_remove(struct json_pairs *list, const char *key);
/* Restore the order after items (owned by the list from then on, of keys that it did not have) were
 * added by array_add(): for many at once. */
void json_pairs_sort(struct json_pairs *list);
bool json_pairs_equal(const struct json_pairs *a, const struct json_pairs *b);
/* Release; the list is empty again. */
void json_pairs_done(struct json_pairs *list);
