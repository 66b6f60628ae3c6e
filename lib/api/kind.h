/*
 * kind: what the client machinery must know of a kind to list, watch, decode and write it.
 *
 * Every object struct begins with its struct api_meta, so that machinery which knows no kind can
 * read names and versions.
 */
#pragma once

#include <stddef.h>

struct json_row;

struct api_kind {
	const char *group; /* "" for the core group       */
	const char *version;
	const char *kind;   /* "PCIDevice"                 */
	const char *plural; /* "pcidevices"                */
	const char *ns;     /* NULL: cluster-scoped        */
	size_t size;        /* sizeof the object's struct  */
	const struct json_row *map;
	/* What a store keeps of a decoded object instead of all of it: one block of memory, for free().
	 * NULL: the object. */
	void *(*digest)(const void *object);
};
