/* map_kind: what the page is made of, by the kinds of the API server's objects. Pure. */
#pragma once

struct api_kind;

enum map_kind {
	MAP_PCI,
	MAP_PCI_CLAIM,
	MAP_USB,
	MAP_USB_CLAIM,
	MAP_MDEV,
	MAP_VGPU,
	MAP_MIG,
	MAP_NODE,
	MAP_EVENT_DEVICE,
	MAP_EVENT_OWN,
	MAP_KINDS
};

/* A card's id is the prefix, "/" and the name; a claim is told on the card of its device. */
struct map_kind_row {
	const struct api_kind *kind;
	const char *prefix;
	const char *fields; /* field selector; NULL: none */
};

extern const struct map_kind_row map_kinds[MAP_KINDS];

/* The node that @object is of, or is; "" if it does not say. */
const char *map_kind_node(enum map_kind what, const void *object);
