/*
 * array: a growable array of any type, as a struct { T *items; size_t len, cap; }.
 *
 *	ARRAY(struct part) parts = { 0 };
 *	*array_add(&parts) = (struct part){ ... };
 *	for (size_t i = 0; i < parts.len; i++) use(&parts.items[i]);
 *	array_done(&parts);
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define ARRAY(type)          \
	struct {             \
		type *items; \
		size_t len;  \
		size_t cap;  \
	}

static inline void *array_room_(void *items, size_t len, size_t *cap, size_t size)
{
	if (len < *cap)
		return items;
	*cap = *cap ? *cap * 2 : 8;
	return xreallocarray(items, *cap, size);
}

/* Append one zeroed item; yields a pointer to it, valid until the next append. */
#define array_add(a)                                                                            \
	({                                                                                      \
		(a)->items = array_room_((a)->items, (a)->len, &(a)->cap, sizeof(*(a)->items)); \
		memset(&(a)->items[(a)->len], 0, sizeof(*(a)->items));                          \
		&(a)->items[(a)->len++];                                                        \
	})

/* Release the storage; the caller must release what the items own before. */
#define array_done(a)                    \
	do {                             \
		free((a)->items);        \
		(a)->items = NULL;       \
		(a)->len = (a)->cap = 0; \
	} while (0)
