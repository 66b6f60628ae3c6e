#include "controller/kubevirt/vm_book.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/mem.h"
#include "controller/kubevirt/launcher.h"

struct vm_book {
	struct map *by_key; /* struct vm_book_items, none empty */
};

struct vm_book *vm_book_new(void)
{
	struct vm_book *book = xcalloc(1, sizeof(*book));

	book->by_key = map_new();
	return book;
}

static void item_done(struct vm_book_item *item)
{
	free(item->device);
	free(item->pod);
}

static void items_free(struct vm_book_items *list)
{
	for (size_t i = 0; i < list->len; i++)
		item_done(&list->items[i]);
	array_done(list);
	free(list);
}

struct vm_book *vm_book_free(struct vm_book *book)
{
	void *list;
	const char *key;
	size_t cursor = 0;

	if (!book)
		return NULL;
	while (map_next(book->by_key, &cursor, &key, &list))
		items_free(list);
	map_free(book->by_key);
	free(book);
	return NULL;
}

static void take_out(struct vm_book *book, enum view_kind kind, const char *name, const char *pod)
{
	auto_free char *key = pod ? launcher_key_of_pod(pod) : NULL;
	struct vm_book_items *list = key ? map_get(book->by_key, key) : NULL;
	size_t kept = 0;

	if (!list)
		return;
	for (size_t i = 0; i < list->len; i++) {
		struct vm_book_item *item = &list->items[i];

		if (item->kind == kind && strcmp(item->device, name) == 0)
			item_done(item);
		else
			list->items[kept++] = *item;
	}
	list->len = kept;
	if (kept > 0)
		return;
	map_remove(book->by_key, key);
	items_free(list);
}

static void put_in(struct vm_book *book, enum view_kind kind, const char *name, const char *pod)
{
	auto_free char *key = pod ? launcher_key_of_pod(pod) : NULL;
	struct vm_book_items *list;

	if (!key)
		return;
	list = map_get(book->by_key, key);
	if (!list) {
		list = xcalloc(1, sizeof(*list));
		map_set(book->by_key, key, list);
	}
	*array_add(list) = (struct vm_book_item){ kind, xstrdup(name), xstrdup(pod) };
}

void vm_book_move(struct vm_book *book, enum view_kind kind, const char *name, const char *before,
		  const char *pod)
{
	take_out(book, kind, name, before);
	put_in(book, kind, name, pod);
}

const struct vm_book_items *vm_book_get(const struct vm_book *book, const char *key)
{
	return map_get(book->by_key, key);
}

const char *vm_book_next(const struct vm_book *book, size_t *cursor)
{
	const char *key;

	return map_next(book->by_key, cursor, &key, NULL) ? key : NULL;
}
