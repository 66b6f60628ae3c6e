#include "kube/event_book.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "kube/events.h"

struct budget {
	unsigned tokens;
	uint64_t filled_ms; /* when the last token came */
};

struct event_book {
	struct map *said;
	struct map *budgets;
};

static void said_free(void *value)
{
	struct event_said *said = value;

	free(said->name);
	free(said);
}

static void clear(struct map **map, void (*value_free)(void *value))
{
	size_t cursor = 0;
	void *value;

	while (*map && map_next(*map, &cursor, NULL, &value))
		value_free(value);
	map_free(*map);
	*map = NULL;
}

/* The value of @key, a zeroed one of @size bytes if it had none. */
static void *get(struct map **map, const char *key, size_t size, void (*value_free)(void *value))
{
	void *value = *map ? map_get(*map, key) : NULL;

	if (value)
		return value;
	if (*map && map_len(*map) >= EVENTS_KNOWN)
		clear(map, value_free);
	if (!*map)
		*map = map_new();
	value = xcalloc(1, size);
	map_set(*map, key, value);
	return value;
}

struct event_book *event_book_new(void)
{
	return xcalloc(1, sizeof(struct event_book));
}

struct event_book *event_book_free(struct event_book *book)
{
	if (!book)
		return NULL;
	clear(&book->said, said_free);
	clear(&book->budgets, free);
	free(book);
	return NULL;
}

static void refill(struct budget *budget, uint64_t now_ms)
{
	uint64_t tokens = (now_ms - budget->filled_ms) / EVENTS_REFILL_MS;

	if (budget->tokens + tokens >= EVENTS_BURST) {
		budget->tokens = EVENTS_BURST;
		budget->filled_ms = now_ms;
	} else {
		budget->tokens += (unsigned)tokens;
		budget->filled_ms += tokens * EVENTS_REFILL_MS;
	}
}

bool event_book_allow(struct event_book *book, const char *uid, uint64_t now_ms)
{
	bool known = book->budgets && map_get(book->budgets, uid);
	struct budget *budget = get(&book->budgets, uid, sizeof(*budget), free);

	if (!known)
		*budget = (struct budget){ .tokens = EVENTS_BURST, .filled_ms = now_ms };
	refill(budget, now_ms);
	if (budget->tokens == 0)
		return false;
	budget->tokens--;
	return true;
}

struct event_said *event_book_find(struct event_book *book, const char *same)
{
	return get(&book->said, same, sizeof(struct event_said), said_free);
}
