/*
 * vm_book: which devices the pods of virtual machines have, kept up by the devices' changes.
 *
 * Pure. Knows pods and devices by name only, and a machine by what its pods' names say (launcher).
 */
#pragma once

#include <stddef.h>

#include "controller/views/view.h"

/* A device that a pod has. */
struct vm_book_item {
	enum view_kind kind;
	char *device;
	char *pod; /* "namespace/name" */
};

struct vm_book_items {
	struct vm_book_item *items;
	size_t len;
	size_t cap;
};

struct vm_book;

struct vm_book *vm_book_new(void);
/* Takes NULL, returns NULL. */
struct vm_book *vm_book_free(struct vm_book *book);

/* The device @name is @pod's now and was @before's; either may be NULL, and a pod that is no virt-launcher counts as
 * none. */
void vm_book_move(struct vm_book *book, enum view_kind kind, const char *name, const char *before,
		  const char *pod);

/* The devices of pods with the key @key (launcher_key_of_vm), in any order; NULL: none. Valid until the next move. */
const struct vm_book_items *vm_book_get(const struct vm_book *book, const char *key);

/* Walk over the keys from *@cursor = 0; NULL at the end. */
const char *vm_book_next(const struct vm_book *book, size_t *cursor);
