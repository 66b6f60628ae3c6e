#include "kube/workq.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/backoff.h"

enum { NOT_TIMED = SIZE_MAX };

/* Exists while its key is queued, running, delayed or has failures. */
struct item {
	char *key;
	struct item *next;  /* in the ready list */
	bool waiting;       /* added and not taken since */
	bool running;       /* taken and not ended; if also waiting, it is not in the ready list */
	size_t timed;       /* its index in the heap, or NOT_TIMED */
	uint64_t since_ms;  /* when it began to wait */
	uint64_t waited_ms; /* when running: how long it had waited */
	unsigned failures;
	int code; /* of the last failure; 0: none */
};

/* An entry of the heap. */
struct timed {
	uint64_t due_ms;
	struct item *item;
};

struct workq {
	struct map *items;
	struct item *head; /* the ready list */
	struct item **tail;
	size_t waiting;
	size_t running;
	uint64_t added;
	ARRAY(struct timed) timed; /* binary heap, earliest first */
};

struct workq *workq_new(void)
{
	struct workq *q = xcalloc(1, sizeof(*q));

	q->items = map_new();
	q->tail = &q->head;
	return q;
}

static void item_free(void *arg)
{
	struct item *item = arg;

	free(item->key);
	free(item);
}

struct workq *workq_free(struct workq *q)
{
	if (!q)
		return NULL;
	map_free_with(q->items, item_free);
	array_done(&q->timed);
	free(q);
	return NULL;
}

static struct item *item_get(struct workq *q, const char *key)
{
	struct item *item = map_get(q->items, key);

	if (item)
		return item;
	item = xcalloc(1, sizeof(*item));
	item->key = xstrdup(key);
	item->timed = NOT_TIMED;
	map_set(q->items, key, item);
	return item;
}

static void drop_if_blank(struct workq *q, struct item *item)
{
	if (item->waiting || item->running || item->failures || item->timed != NOT_TIMED)
		return;
	map_remove(q->items, item->key);
	item_free(item);
}

/* --- heap of delayed keys --- */

static void heap_place(struct workq *q, size_t at, struct timed timed)
{
	q->timed.items[at] = timed;
	timed.item->timed = at;
}

static void heap_up(struct workq *q, size_t at)
{
	struct timed timed = q->timed.items[at];

	while (at > 0 && q->timed.items[(at - 1) / 2].due_ms > timed.due_ms) {
		heap_place(q, at, q->timed.items[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_place(q, at, timed);
}

static size_t earlier_child(const struct workq *q, size_t at)
{
	size_t child = at * 2 + 1;

	if (child + 1 < q->timed.len &&
	    q->timed.items[child + 1].due_ms < q->timed.items[child].due_ms)
		child++;
	return child;
}

static void heap_down(struct workq *q, size_t at)
{
	struct timed timed = q->timed.items[at];
	size_t child;

	while ((child = earlier_child(q, at)) < q->timed.len &&
	       q->timed.items[child].due_ms < timed.due_ms) {
		heap_place(q, at, q->timed.items[child]);
		at = child;
	}
	heap_place(q, at, timed);
}

static struct item *heap_pop(struct workq *q)
{
	struct item *top = q->timed.items[0].item;
	struct timed last = q->timed.items[--q->timed.len];

	top->timed = NOT_TIMED;
	if (q->timed.len > 0) {
		heap_place(q, 0, last);
		heap_down(q, 0);
	}
	return top;
}

/* --- ready list --- */

static void line_append(struct workq *q, struct item *item)
{
	item->next = NULL;
	*q->tail = item;
	q->tail = &item->next;
}

static void make_wait(struct workq *q, struct item *item, uint64_t since_ms)
{
	if (item->waiting)
		return;
	item->waiting = true;
	item->since_ms = since_ms;
	q->waiting++;
	q->added++;
	if (!item->running)
		line_append(q, item);
}

static void move_due(struct workq *q, uint64_t now_ms)
{
	while (q->timed.len > 0 && q->timed.items[0].due_ms <= now_ms) {
		uint64_t due_ms = q->timed.items[0].due_ms;

		make_wait(q, heap_pop(q), due_ms);
	}
}

void workq_add(struct workq *q, const char *key, uint64_t now_ms)
{
	make_wait(q, item_get(q, key), now_ms);
}

void workq_add_at(struct workq *q, const char *key, uint64_t due_ms)
{
	struct item *item = item_get(q, key);

	if (item->timed == NOT_TIMED) {
		*array_add(&q->timed) = (struct timed){ .item = item, .due_ms = due_ms };
		item->timed = q->timed.len - 1;
	} else if (q->timed.items[item->timed].due_ms > due_ms) {
		q->timed.items[item->timed].due_ms = due_ms;
	}
	heap_up(q, item->timed);
}

const struct workq_pace workq_usual_pace = { .first_ms = 5, .max_ms = 1000000 };

void workq_retry(struct workq *q, const char *key, int code, const struct workq_pace *pace,
		 uint64_t now_ms)
{
	struct item *item = item_get(q, key);
	struct backoff b = {
		.first_ms = pace->first_ms,
		.max_ms = pace->max_ms,
		.failures = item->failures,
	};
	uint64_t delay_ms = backoff_next(&b, now_ms, 0);

	item->failures = b.failures;
	item->code = code;
	if (delay_ms < pace->least_ms)
		delay_ms = pace->least_ms;
	workq_add_at(q, key, now_ms + delay_ms);
}

void workq_forget(struct workq *q, const char *key)
{
	struct item *item = map_get(q->items, key);

	if (!item)
		return;
	item->failures = 0;
	item->code = 0;
	drop_if_blank(q, item);
}

const char *workq_take(struct workq *q, uint64_t now_ms)
{
	struct item *item;

	move_due(q, now_ms);
	item = q->head;
	if (!item)
		return NULL;
	q->head = item->next;
	if (!q->head)
		q->tail = &q->head;
	item->waiting = false;
	item->running = true;
	item->waited_ms = now_ms - item->since_ms;
	q->waiting--;
	q->running++;
	return item->key;
}

void workq_end(struct workq *q, const char *key)
{
	struct item *item = map_get(q->items, key);

	assert(item && item->running);
	item->running = false;
	q->running--;
	if (item->waiting)
		line_append(q, item);
	else
		drop_if_blank(q, item);
}

uint64_t workq_due_ms(const struct workq *q)
{
	if (q->head)
		return 0;
	return q->timed.len > 0 ? q->timed.items[0].due_ms : UINT64_MAX;
}

uint64_t workq_waited_ms(const struct workq *q, const char *key)
{
	const struct item *item = map_get(q->items, key);

	return item ? item->waited_ms : 0;
}

uint64_t workq_added(const struct workq *q)
{
	return q->added;
}

size_t workq_waiting(const struct workq *q)
{
	return q->waiting;
}

size_t workq_running(const struct workq *q)
{
	return q->running;
}

unsigned workq_failures(const struct workq *q, const char *key)
{
	const struct item *item = map_get(q->items, key);

	return item ? item->failures : 0;
}

int workq_failed_with(const struct workq *q, const char *key)
{
	const struct item *item = map_get(q->items, key);

	return item ? item->code : 0;
}
