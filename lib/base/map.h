/*
 * map: a hash table from strings to pointers. Owns its keys, not its values.
 *
 * The hash is seeded per process (getrandom), so that outside input cannot be chosen to collide.
 */
#pragma once

#include <stddef.h>

struct map;

struct map *map_new(void);
/* Takes NULL, returns NULL. The values stay with the caller. */
struct map *map_free(struct map *map);
/* The same, after @release of each value. */
struct map *map_free_with(struct map *map, void (*release)(void *value));

/* The value of @key; NULL if there is none. */
void *map_get(const struct map *map, const char *key);

/* Set the value of @key (not NULL; the key is copied). Returns the old value, or NULL. */
void *map_set(struct map *map, const char *key, void *value);

/* Remove @key. Returns its value, or NULL. */
void *map_remove(struct map *map, const char *key);

size_t map_len(const struct map *map);

/* Iterate, starting with *@cursor = 0; false at the end. Do not call map_set() meanwhile;
 * removing the entry just returned is allowed. The order is arbitrary. */
int map_next(const struct map *map, size_t *cursor, const char **ret_key, void **ret_value);
