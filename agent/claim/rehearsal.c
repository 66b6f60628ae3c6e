#include "agent/claim/rehearsal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/limits.h"
#include "api/names.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/array.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "kube/store.h"

enum { STEPS_MAX = 16 };

struct rehearsal {
	struct rehearsal_wish wish;
	struct store *claims;
	struct json_strs names;
	struct pcideviceclaim *claim; /* what rehearsal_run() handed out last */
};

struct rehearsal *rehearsal_new(const struct rehearsal_wish *wish)
{
	struct rehearsal *rehearsal = xcalloc(1, sizeof(*rehearsal));

	rehearsal->wish = *wish;
	rehearsal->claims = store_new(&pcideviceclaim_kind);
	return rehearsal;
}

struct rehearsal *rehearsal_free(struct rehearsal *rehearsal)
{
	if (!rehearsal)
		return NULL;
	store_free(rehearsal->claims);
	json_strs_done(&rehearsal->names);
	api_object_free(&pcideviceclaim_kind, rehearsal->claim);
	free(rehearsal);
	return NULL;
}

static void on_change(void *arg, const struct entry *before, const struct entry *after)
{
	(void)arg;
	(void)before;
	(void)after;
}

/* The store takes text, as it does from the API server. */
static void put(struct rehearsal *rehearsal, const json_t *claim)
{
	auto_free char *text = json_map_text(claim);
	struct json_text all = { text, strlen(text) };
	struct entry *entry = entry_decode(&pcideviceclaim_kind, &all, NULL);

	store_remove(rehearsal->claims, entry->name, NULL, on_change, NULL);
	store_put(rehearsal->claims, entry, on_change, NULL);
}

/* Of the claim that has the device already, NULL if none has. */
static const char *recorded_uid(const struct rehearsal_wish *wish, const char *name)
{
	const struct facts *facts = wish->inventory->facts;

	for (size_t i = 0; i < facts->records.len; i++) {
		const struct record_facts *record = &facts->records.items[i];

		if (record->claim && strcmp(record->claim, name) == 0)
			return record->uid;
	}
	return NULL;
}

/* A claim as a user would write it, or as it is while it is being deleted. */
static json_t *claim_of(const struct rehearsal_wish *wish, const char *name)
{
	const char *uid = recorded_uid(wish, name);
	json_t *claim =
		json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:{}}", "apiVersion",
			  NAMES_GROUP "/" NAMES_VERSION, "kind", "PCIDeviceClaim", "metadata",
			  "name", name, "uid", uid ? uid : name, "resourceVersion", "1", "spec");
	json_t *spec = json_object_get(claim, "spec");
	json_t *meta = json_object_get(claim, "metadata");

	json_object_set_new(spec, "nodeName", json_string(wish->node_name));
	if (wish->driver)
		json_object_set_new(spec, "driver", json_string(wish->driver));
	if (wish->include_group)
		json_object_set_new(spec, "includeIOMMUGroup", json_true());
	if (!wish->release)
		return claim;
	json_object_set_new(meta, "deletionTimestamp", json_string("1970-01-01T00:00:00Z"));
	json_object_set_new(meta, "finalizers", json_pack("[s]", NAMES_FINALIZER_HARVESTER_PCI));
	json_object_set_new(claim, "status", json_pack("{s:b}", "passthroughEnabled", 1));
	return claim;
}

int rehearsal_add(struct rehearsal *rehearsal, const char *word, struct err *err)
{
	const char *node = rehearsal->wish.node_name;
	auto_free char *of_address = NULL;
	auto_json json_t *claim = NULL;
	char address[NAMES_ADDRESS_SIZE];

	if (limit_is_address(word, strlen("00000000:00:00.0")))
		of_address = names_pcidevice(node, word);
	else if (names_pcidevice_address(node, word, address) < 0)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "'%s' is no PCI address, and not the name of a PCI device of node "
			       "'%s'; `hostdev-agent inspect` lists them",
			       word, node);
	if (store_get(rehearsal->claims, of_address ? of_address : word))
		return 0;
	json_strs_add(&rehearsal->names, of_address ? of_address : word);
	claim = claim_of(&rehearsal->wish, of_address ? of_address : word);
	put(rehearsal, claim);
	return 0;
}

size_t rehearsal_len(const struct rehearsal *rehearsal)
{
	return rehearsal->names.len;
}

static void merge(json_t *target, json_t *patch);

static void merge_member(json_t *target, const char *key, json_t *value)
{
	if (json_is_null(value)) {
		json_object_del(target, key);
		return;
	}
	if (!json_is_object(value)) {
		json_object_set(target, key, value);
		return;
	}
	if (!json_is_object(json_object_get(target, key)))
		json_object_set_new(target, key, json_object());
	merge(json_object_get(target, key), value);
}

/* RFC 7396, as the API server does it. */
static void merge(json_t *target, json_t *patch)
{
	const char *key;
	json_t *value;

	json_object_foreach (patch, key, value)
		merge_member(target, key, value);
}

static void write_claim(struct rehearsal *rehearsal, const struct pcideviceclaim *claim,
			json_t *patch)
{
	auto_json json_t *object = api_object_encode(&pcideviceclaim_kind, claim);

	merge(object, patch);
	put(rehearsal, object);
}

/* The API's object of the device: the inventory's, which has no uid. */
static struct pcidevice *device_of(const struct rehearsal *rehearsal, const char *name)
{
	const void *device = inventory_find(rehearsal->wish.inventory, INVENTORY_PCI, name);
	struct pcidevice *copy = device ? api_object_copy(&pcidevice_kind, device) : NULL;

	if (copy && !copy->meta.uid)
		copy->meta.uid = xstrdup(name);
	return copy;
}

/* One step; true if another may follow. */
static bool step(struct rehearsal *rehearsal, struct claim_case *c,
		 struct claim_decision *ret_decision)
{
	const struct pcideviceclaim *claim = store_object(rehearsal->claims, c->name);

	c->claim = claim;
	claim_plan(c, ret_decision);
	switch (ret_decision->step) {
	case CLAIM_MARK:
	case CLAIM_TELL:
		write_claim(rehearsal, claim, ret_decision->body);
		return true;
	case CLAIM_READ:
		c->fresh = true;
		return true;
	case CLAIM_REST:
	case CLAIM_BIND:
	case CLAIM_RELEASE:
	case CLAIM_UNMARK:
		return false;
	}
	return false;
}

void rehearsal_run(struct rehearsal *rehearsal, size_t at, const struct pcideviceclaim **ret_claim,
		   struct claim_decision *ret_decision)
{
	const char *name = rehearsal->names.items[at];
	struct pcidevice *device = device_of(rehearsal, name);
	struct claim_case c = {
		.node_name = rehearsal->wish.node_name,
		.name = name,
		.inventory = rehearsal->wish.inventory,
		.claims = rehearsal->claims,
		.device = device,
		.vfio_drivers = rehearsal->wish.vfio_drivers,
		.driverless = rehearsal->wish.driverless,
		.now_wall_ms = timefmt_wall_ms(),
	};

	for (int i = 0; step(rehearsal, &c, ret_decision) && i < STEPS_MAX; i++)
		claim_decision_done(ret_decision);
	api_object_free(&pcideviceclaim_kind, rehearsal->claim);
	rehearsal->claim =
		api_object_copy(&pcideviceclaim_kind, store_object(rehearsal->claims, name));
	api_object_free(&pcidevice_kind, device);
	*ret_claim = rehearsal->claim;
}
