/*
 * sticks: a node with USB devices and claims of them, for tests of offers.
 *
 *	sticks_open(&node);
 *	sticks_plug(&node, "1-2", 5, "E0D5");    a Kingston stick in port 1-2, as device 5
 *	sticks_claim(&node, CLAIM(NAME, KNOWN("1-2", "E0D5")));
 *	sticks_scan(&node);
 */
#pragma once

#include <string.h>

#include "agent/usb/usb_names.h"
#include "api/json_map.h"
#include "api/names.h"
#include "api/pcideviceclaim.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/str.h"
#include "kube/store.h"
#include "unit/agent/claim_store.h"
#include "unit/agent/world.h"

#define STICK  "node1-0951-1666-001005" /* device 5 of bus 1 */
#define HC     "0000:00:14.0"
#define MARKED "'finalizers':['" NAMES_FINALIZER_HARVESTER_USB "']"
#define OWNED \
	"'ownerReferences':[{'apiVersion':'a/v1','kind':'USBDevice','name':'" STICK "','uid':'d1'}]"

/* clang-format off */
#define KNOWN(port, serial) \
	"'nodeName':'node1','pciAddress':'" HC "','portPath':'" port "','vendorID':'0951','productID':'1666'," \
	"'serialNumber':'" serial "'"
#define CLAIM_OF(name, meta, status) \
	"{'metadata':{'name':'" name "','uid':'u','resourceVersion':'1','generation':1" meta "},'status':{" status "}}"
/* Marked, owned, and it is known which device it is for. */
#define CLAIM(name, status) CLAIM_OF(name, "," MARKED "," OWNED, status)
/* clang-format on */

enum { STICKS_LINES = 16 };

struct sticks {
	struct world world;
	struct str lines;
	struct store *claims;
	struct store *pci_claims;
};

static inline void sticks_open(struct sticks *node)
{
	*node = (struct sticks){ .claims = store_new(&usbdeviceclaim_kind),
				 .pci_claims = store_new(&pcideviceclaim_kind) };
	world_open(&node->world);
}

static inline void sticks_close(struct sticks *node)
{
	inventory_free(node->world.inventory);
	if (!node->world.inventory)
		facts_free(node->world.facts);
	id_names_free(node->world.names);
	store_free(node->claims);
	store_free(node->pci_claims);
	str_done(&node->lines);
}

SUITE_FIXTURE(sticks, struct sticks, sticks_open, sticks_close);

/* What the helper says, with ' for ". */
static inline void sticks_line(struct sticks *node, const char *text)
{
	auto_json json_t *json = object_json(text);
	auto_free char *line = json_map_text(json);

	world_add(&node->world, line);
}

/* A device of @ids "0951:1666"; @serial "" for none. */
static inline void sticks_plug_as(struct sticks *node, const char *ids, const char *port,
				  unsigned number, const char *serial)
{
	auto_free char *rest = *serial ? xasprintf(",'serial':'%s'", serial) : xstrdup("");
	auto_free char *line =
		xasprintf("{'kind':'usb','name':'%s','bus':%c,'device':%u,'vendor':'%.4s',"
			  "'product':'%s','pciAddress':'" HC "'%s}",
			  port, port[0], number, ids, ids + 5, rest);

	sticks_line(node, line);
}

static inline void sticks_plug(struct sticks *node, const char *port, unsigned number,
			       const char *serial)
{
	sticks_plug_as(node, "0951:1666", port, number, serial);
}

static inline void sticks_put(struct store *store, const struct api_kind *kind, const char *text)
{
	auto_json json_t *json = object_json(text);

	object_put(store, kind, json);
}

static inline void sticks_claim(struct sticks *node, const char *text)
{
	sticks_put(node->claims, &usbdeviceclaim_kind, text);
}

/* After all of it is plugged. */
static inline void sticks_scan(struct sticks *node)
{
	world_look(&node->world, &(struct inventory_options){ .node_name = "node1" });
	(void)usb_names_apply(node->world.inventory, node->claims, "node1");
}

/* The next inventory, empty at first: plug all devices again. */
static inline void sticks_again(struct sticks *node)
{
	inventory_free(node->world.inventory);
	if (!node->world.inventory)
		facts_free(node->world.facts);
	id_names_free(node->world.names);
	world_open(&node->world);
}

/* Plug what @text says, "1-2=5:E0D5 1-3=6": sockets, device numbers, serial numbers. */
static inline void sticks_plug_all(struct sticks *node, const char *text)
{
	auto_free char *copy = xstrdup(text);
	char *rest = copy;
	char *word;

	while ((word = strsep(&rest, " "))) {
		char *number = strchr(word, '=');
		char *serial = strchr(word, ':');

		if (!number)
			continue;
		*number++ = '\0';
		if (serial)
			*serial++ = '\0';
		sticks_plug(node, word, (unsigned)strtoul(number, NULL, 10), serial ? serial : "");
	}
}
