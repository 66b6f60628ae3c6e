#include "base/map.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"

/* Linear probing; a removed entry leaves a tombstone (key NULL, used), which is dropped when the
 * table grows. */
struct slot {
	char *key;
	void *value;
	uint64_t hash;
	int used;
};

struct map {
	struct slot *slots;
	size_t cap;   /* a power of two, or 0 */
	size_t len;   /* live entries */
	size_t taken; /* live entries and tombstones */
};

static uint64_t seed(void)
{
	static uint64_t value;

	if (!value) {
		if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value))
			value = (uint64_t)(uintptr_t)&value;
		value |= 1;
	}
	return value;
}

/* FNV-1a with a seed, followed by a multiply-xorshift to mix the low bits. */
static uint64_t hash_of(const char *key)
{
	uint64_t h = seed() ^ 0xcbf29ce484222325ULL;

	for (; *key; key++)
		h = (h ^ (unsigned char)*key) * 0x100000001b3ULL;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ULL;
	return h ^ (h >> 32);
}

struct map *map_new(void)
{
	return xcalloc(1, sizeof(struct map));
}

struct map *map_free(struct map *map)
{
	if (!map)
		return NULL;
	for (size_t i = 0; i < map->cap; i++)
		free(map->slots[i].key);
	free(map->slots);
	free(map);
	return NULL;
}

struct map *map_free_with(struct map *map, void (*release)(void *value))
{
	size_t cursor = 0;
	void *value;

	while (map && map_next(map, &cursor, NULL, &value))
		release(value);
	return map_free(map);
}

static struct slot *find_slot(const struct map *map, const char *key, uint64_t hash)
{
	if (map->cap == 0)
		return NULL;
	for (size_t i = hash & (map->cap - 1);; i = (i + 1) & (map->cap - 1)) {
		struct slot *slot = &map->slots[i];

		if (!slot->used)
			return NULL;
		if (slot->key && slot->hash == hash && strcmp(slot->key, key) == 0)
			return slot;
	}
}

static struct slot *free_slot(const struct map *map, uint64_t hash)
{
	size_t i = hash & (map->cap - 1);

	while (map->slots[i].used)
		i = (i + 1) & (map->cap - 1);
	return &map->slots[i];
}

static void grow(struct map *map)
{
	struct map bigger = { .cap = 16 };

	while (bigger.cap < (map->len + 1) * 2)
		bigger.cap *= 2;
	bigger.slots = xcalloc(bigger.cap, sizeof(struct slot));
	for (size_t i = 0; i < map->cap; i++) {
		if (map->slots[i].key)
			*free_slot(&bigger, map->slots[i].hash) = map->slots[i];
	}
	bigger.len = bigger.taken = map->len;
	free(map->slots);
	*map = bigger;
}

void *map_get(const struct map *map, const char *key)
{
	const struct slot *slot = find_slot(map, key, hash_of(key));

	return slot ? slot->value : NULL;
}

void *map_set(struct map *map, const char *key, void *value)
{
	uint64_t hash = hash_of(key);
	struct slot *slot = find_slot(map, key, hash);
	void *old;

	assert(value);
	if (slot) {
		old = slot->value;
		slot->value = value;
		return old;
	}
	if ((map->taken + 1) * 4 > map->cap * 3)
		grow(map);
	slot = free_slot(map, hash);
	*slot = (struct slot){ .key = xstrdup(key), .value = value, .hash = hash, .used = 1 };
	map->len++;
	map->taken++;
	return NULL;
}

void *map_remove(struct map *map, const char *key)
{
	struct slot *slot = find_slot(map, key, hash_of(key));
	void *old;

	if (!slot)
		return NULL;
	old = slot->value;
	free(slot->key);
	slot->key = NULL;
	slot->value = NULL;
	map->len--;
	return old;
}

size_t map_len(const struct map *map)
{
	return map->len;
}

int map_next(const struct map *map, size_t *cursor, const char **ret_key, void **ret_value)
{
	for (; *cursor < map->cap; (*cursor)++) {
		const struct slot *slot = &map->slots[*cursor];

		if (!slot->key)
			continue;
		if (ret_key)
			*ret_key = slot->key;
		if (ret_value)
			*ret_value = slot->value;
		(*cursor)++;
		return 1;
	}
	return 0;
}
