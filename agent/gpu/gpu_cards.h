/*
 * gpu_cards: the NVIDIA graphics cards of the node that can be divided by virtual functions, and
 * which vGPU each of these is. Pure: made of what a scan saw; both ways in which NVIDIA's driver
 * has vGPUs, mediated devices and attributes of the function, come out the same.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/json_values.h"

struct facts;
struct mdev_facts;
struct pci_facts;

enum gpu_backend {
	GPU_NO_BACKEND, /* no driver that offers vGPUs                      */
	GPU_ATTRIBUTES, /* nvidia/current_vgpu_type of the function         */
	GPU_MDEV,       /* a mediated device below the function               */
};

/* One virtual function. Texts are borrowed from the facts, but for the types. */
struct gpu_function {
	const struct pci_facts *pci;
	enum gpu_backend backend;
	struct json_pairs types;       /* that can be made of it now: name -> id     */
	const char *type;              /* id of the type that it is; NULL: none      */
	const char *type_name;         /* NULL: not known                            */
	const struct mdev_facts *mdev; /* GPU_MDEV, of @type                         */
	bool own;                      /* hostdev has made @mdev                     */
	char *resource;                /* under which @mdev is offered               */
};

struct gpu_card {
	const struct pci_facts *pci;
	struct gpu_function *items; /* by the virtual functions' index */
	size_t len;
	size_t cap;
};

struct gpu_cards {
	struct gpu_card *items;
	size_t len;
	size_t cap;
	bool known; /* the vGPUs have been looked at: what is none here, is none */
};

/* In the records of the mediated devices that are made here. */
#define GPU_MDEV_OWNER "vgpu"

void gpu_cards_make(const struct facts *facts, struct gpu_cards *ret_cards);
void gpu_cards_done(struct gpu_cards *cards);

/* NULL: there is none at @address. */
const struct gpu_card *gpu_cards_find(const struct gpu_cards *cards, const char *address);

/* The virtual function at @address, and in @ret_card (may be NULL) its card; NULL: there is
 * none. */
const struct gpu_function *gpu_cards_function(const struct gpu_cards *cards, const char *address,
					      const struct gpu_card **ret_card);

/* The virtual function whose vGPU is the mediated device @uuid; NULL: none. */
const struct gpu_function *gpu_cards_mdev(const struct gpu_cards *cards, const char *uuid);

/* The name of the type @id, from any function of @card; NULL: not known. */
const char *gpu_card_type_name(const struct gpu_card *card, const char *id);

/*
 * NVIDIA's table of the vGPU types that a virtual function can be now, which is what its attribute
 * nvidia/creatable_vgpu_types says. The text comes from a driver that we do not know: what is no
 * row of such a table is passed over.
 *
 *	ID    : vGPU Name
 *	1146  : NVIDIA A2-4C
 */
enum {
	VGPU_TYPES_MAX = 256,     /* the schema's; more are left out       */
	VGPU_TYPE_NAME_MAX = 255, /* bytes; a type with a longer one is left out */
	VGPU_TYPE_ID_MAX = 10,    /* digits */
};

/* Put the types of the table whose lines are @lines into @ret_types (empty), name -> id. Of two
 * with one name the first counts. */
void vgpu_types_parse(const struct json_strs *lines, struct json_pairs *ret_types);

/* The name of the type @id; NULL: it is not among @types. Valid until the list changes. */
const char *vgpu_types_name(const struct json_pairs *types, const char *id);

/* Is @id (may be NULL) the number of a type, and not 0, which means none? */
bool vgpu_type_valid(const char *id);
