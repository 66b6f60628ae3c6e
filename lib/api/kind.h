/*
 * kind: what the client code must know about a kind to list, watch, decode and write it.
 *
 * Every object struct begins with its struct api_meta, so that generic code can read names and
 * versions.
 */
#pragma once

#include <stddef.h>

struct json_row;

struct api_kind {
	const char *group; /* "" for the core group */
	const char *version;
	const char *kind;   /* "PCIDevice" */
	const char *plural; /* "pcidevices" */
	const char *ns;     /* NULL: cluster-scoped */
	size_t size;        /* sizeof the object's struct */
	const struct json_row *map;
	/* Converts a decoded object to what a store keeps instead: a single block of memory,
	 * released with free(). NULL: keep the object. */
	void *(*digest)(const void *object);
};
