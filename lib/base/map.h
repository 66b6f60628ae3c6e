/*
 * map: a hash table from strings to pointers. Owns its keys, not its values.
 *
 * The hash is seeded per process (getrandom), so that names from outside cannot be chosen to
 * collide.
 */
#pragma once

#include <stddef.h>

struct map;

struct map *map_new(void);
/* Takes NULL, returns NULL. Values are the caller's to release first (map_next). */
struct map *map_free(struct map *map);

/* The value of @key, NULL if it has none. */
void *map_get(const struct map *map, const char *key);

/* Give @key the value @value (not NULL; the key is copied). Returns the value it had, or NULL. */
void *map_set(struct map *map, const char *key, void *value);

/* Forget @key. Returns the value it had, or NULL. */
void *map_remove(struct map *map, const char *key);

size_t map_len(const struct map *map);

/* Walk: start with *@cursor = 0; false at the end. No set while walking; removing the entry just
 * returned is fine. Order is arbitrary. */
int map_next(const struct map *map, size_t *cursor, const char **ret_key, void **ret_value);
