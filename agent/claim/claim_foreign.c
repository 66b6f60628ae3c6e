#include "agent/claim/claim_foreign.h"

#include <stdlib.h>
#include <string.h>

#include "agent/claim/claim_attempts.h"
#include "agent/claim/claim_group.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/node/this_node.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/store.h"

struct claim_foreign {
	const struct this_node *node;
	const struct claim_attempts *attempts;
	struct map *told;    /* name of the PCIDevice -> this: it is in the log     */
	struct map *pending; /* name -> its driver: the event waits for the object */
};

struct claim_foreign *claim_foreign_new(const struct this_node *node,
					const struct claim_attempts *attempts)
{
	struct claim_foreign *foreign = xcalloc(1, sizeof(*foreign));

	*foreign = (struct claim_foreign){
		.node = node, .attempts = attempts, .told = map_new(), .pending = map_new()
	};
	return foreign;
}

struct claim_foreign *claim_foreign_free(struct claim_foreign *foreign)
{
	if (!foreign)
		return NULL;
	map_free_with(foreign->pending, free);
	map_free(foreign->told);
	free(foreign);
	return NULL;
}

static bool passes_through(const struct this_node *node, const char *driver)
{
	if (!driver)
		return false;
	return strcmp(driver, "vfio-pci") == 0 || json_strs_has(&node->vfio_drivers, driver);
}

/* A claim of any function of the group may include the group. */
static bool is_claimed(const struct claim_foreign *foreign, const char *address)
{
	const struct inventory *inventory = foreign->node->inventory;
	const struct store *claims = informer_store(foreign->node->claims[INVENTORY_PCI]);
	struct json_strs members = { 0 };
	struct json_strs names = { 0 };
	bool claimed = false;

	claim_group_add_members(inventory, address, &members);
	for (size_t i = 0; i < members.len; i++)
		claim_group_add_claims(foreign->node->name, inventory, members.items[i], &names);
	for (size_t i = 0; i < names.len; i++)
		claimed = claimed || store_get(claims, names.items[i]) != NULL ||
			  claim_group_is_recorded(inventory, names.items[i]);
	json_strs_done(&members);
	json_strs_done(&names);
	return claimed;
}

void claim_foreign_hear(struct claim_foreign *foreign, const char *name)
{
	const struct pcidevice *device;
	auto_free char *driver = NULL;

	if (!map_get(foreign->pending, name))
		return;
	device = store_object(informer_store(foreign->node->devices[INVENTORY_PCI]), name);
	if (!device)
		return;
	driver = map_remove(foreign->pending, name);
	events_record(foreign->node->events,
		      &(struct events_about){ &pcidevice_kind, &device->meta }, EVENTS_NORMAL,
		      "LeftAlone", "bound to %s without a claim: hostdev does not change it",
		      driver);
}

void claim_foreign_look(struct claim_foreign *foreign)
{
	const struct facts *facts = foreign->node->inventory->facts;

	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];
		auto_free char *name = NULL;

		if (!passes_through(foreign->node, pci->driver) ||
		    claim_attempts_moving(foreign->attempts, pci->address))
			continue;
		name = names_pcidevice(foreign->node->name, pci->address);
		if (map_get(foreign->told, name) || is_claimed(foreign, pci->address))
			continue;
		log_info("device is bound to a vfio driver without a claim, not changed",
			 log_str("address", pci->address), log_str("driver", pci->driver));
		map_set(foreign->told, name, foreign);
		map_set(foreign->pending, name, xstrdup(pci->driver));
		claim_foreign_hear(foreign, name);
	}
}
