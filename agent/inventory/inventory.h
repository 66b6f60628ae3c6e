/*
 * inventory: the objects that this node should have in the API, made from the facts of a scan.
 *
 * Pure: the same facts and names give the same objects. agent/publish decides what must be written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api_kind;
struct facts;
struct id_names;
struct map;
struct verdict;

struct inventory_options {
	const char *node_name;
	bool show_bridges; /* list functions of class 0604 too */
	bool show_hubs;    /* list USB hubs too                */
};

/* The objects of one kind, in the order of the scan (by address). */
struct inventory_set {
	const struct api_kind *kind;
	void **objects;
	size_t len;
	size_t cap;
	struct map *by_name; /* name -> object */
};

enum inventory_kind {
	INVENTORY_PCI,
	INVENTORY_USB,
	INVENTORY_MDEV,        /* mediated devices: have no claims     */
	INVENTORY_MDEV_PARENT, /* what can be divided into them        */
	INVENTORY_KINDS
};

extern const struct api_kind *const inventory_kinds[INVENTORY_KINDS];

struct inventory {
	struct inventory_set sets[INVENTORY_KINDS];
	struct facts *facts;          /* what the objects were made of                 */
	struct verdict *pci_verdicts; /* one for each facts->pci                       */
	uint64_t began_ms;            /* when its scan began, by the loop's clock      */
};

/* Takes @facts. @now_wall_ms stamps the conditions' lastTransitionTime. */
struct inventory *inventory_new(const struct inventory_options *options, struct facts *facts,
				const struct id_names *names, int64_t now_wall_ms);

/* Takes NULL, returns NULL. */
struct inventory *inventory_free(struct inventory *inventory);

/* Why the scan could not see what the host uses, which something on the node or about the agent
 * hides; NULL: it could. */
const char *inventory_unread(const struct inventory *inventory);

/* Rename the USBDevices, in the order of their set; of two with one name, the first is found. True
 * if any has another name now. */
bool inventory_name_usb(struct inventory *inventory, char *const *names);

/* NULL if the node has no such object. */
const void *inventory_find(const struct inventory *inventory, enum inventory_kind kind,
			   const char *name);
