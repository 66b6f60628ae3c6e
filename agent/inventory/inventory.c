#include "agent/inventory/inventory.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/id_names.h"
#include "agent/inventory/inventory_mdev.h"
#include "agent/inventory/inventory_pci.h"
#include "agent/inventory/inventory_usb.h"
#include "agent/inventory/limits.h"
#include "agent/inventory/lookalike.h"
#include "api/mediateddevice.h"
#include "api/mediateddeviceparent.h"
#include "api/meta.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "base/array.h"
#include "base/map.h"
#include "base/mem.h"

enum { UUID_LEN = 36 };

const struct api_kind *const inventory_kinds[INVENTORY_KINDS] = {
	[INVENTORY_PCI] = &pcidevice_kind,
	[INVENTORY_USB] = &usbdevice_kind,
	[INVENTORY_MDEV] = &mediateddevice_kind,
	[INVENTORY_MDEV_PARENT] = &mediateddeviceparent_kind,
};

/* Two devices cannot have one name, because names contain the address, or bus and device number. If
 * it happens all the same, the first counts. */
static void set_add(struct inventory_set *set, void *object)
{
	const struct api_meta *meta = object;

	if (map_get(set->by_name, meta->name)) {
		api_object_free(set->kind, object);
		return;
	}
	map_set(set->by_name, meta->name, object);
	set->objects = array_room_(set->objects, set->len, &set->cap, sizeof(void *));
	set->objects[set->len++] = object;
}

static bool is_port(const struct pci_facts *pci)
{
	return pci->class_code && strncmp(pci->class_code, "0604", 4) == 0;
}

/* Functions that are part of the machine are not claimed, and a machine has many equal ones. */
static bool is_of_the_machine(const struct verdict *verdict)
{
	return strcmp(verdict->reason, "HostBridge") == 0 ||
	       strcmp(verdict->reason, "HostFunction") == 0;
}

static void add_pci(struct inventory *inventory, const struct inventory_options *options,
		    const struct id_names *names, int64_t now_wall_ms)
{
	struct inventory_set *set = &inventory->sets[INVENTORY_PCI];
	const struct facts *facts = inventory->facts;
	struct map *groups = inventory_pci_groups(facts);
	auto_free struct lookalike *lookalikes = lookalikes_find(facts);

	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];
		struct inventory_pci_source source = {
			.node_name = options->node_name,
			.pci = pci,
			.names = names,
			.groups = groups,
			.verdict = &inventory->pci_verdicts[i],
			.lookalike = is_of_the_machine(&inventory->pci_verdicts[i])
					     ? NULL
					     : lookalikes[i].pci,
		};

		if (options->show_bridges || !is_port(pci))
			set_add(set, inventory_pci_object(&source, now_wall_ms));
	}
	inventory_pci_groups_free(groups);
}

static void add_usb(struct inventory_set *set, const struct inventory_options *options,
		    const struct facts *facts, const struct id_names *names, int64_t now_wall_ms)
{
	struct verdict *verdicts = claimable_check_usb(facts);

	for (size_t i = 0; i < facts->usb.len; i++) {
		struct inventory_usb_source source = {
			.node_name = options->node_name,
			.usb = &facts->usb.items[i],
			.facts = facts,
			.names = names,
			.verdict = &verdicts[i],
		};

		if (options->show_hubs || !source.usb->hub)
			set_add(set, inventory_usb_object(&source, now_wall_ms));
	}
	verdicts_free(verdicts, facts->usb.len);
}

/* The UUID becomes a part of the object's name. */
static void add_mdevs(struct inventory *inventory, const struct inventory_options *options)
{
	const struct facts *facts = inventory->facts;
	const char *node = options->node_name;

	for (size_t i = 0; i < facts->mdevs.len; i++) {
		if (limit_is_uuid(facts->mdevs.items[i].uuid, UUID_LEN))
			set_add(&inventory->sets[INVENTORY_MDEV],
				inventory_mdev_object(node, facts, &facts->mdevs.items[i]));
	}
	for (size_t i = 0; i < facts->mdev_parents.len; i++)
		set_add(&inventory->sets[INVENTORY_MDEV_PARENT],
			inventory_mdev_parent_object(node, facts, &facts->mdev_parents.items[i]));
}

struct inventory *inventory_new(const struct inventory_options *options, struct facts *facts,
				const struct id_names *names, int64_t now_wall_ms)
{
	struct inventory *inventory = xcalloc(1, sizeof(*inventory));

	inventory->facts = facts;
	inventory->pci_verdicts = claimable_check_pci(facts);
	for (int i = 0; i < INVENTORY_KINDS; i++) {
		inventory->sets[i].kind = inventory_kinds[i];
		inventory->sets[i].by_name = map_new();
	}
	add_pci(inventory, options, names, now_wall_ms);
	add_usb(&inventory->sets[INVENTORY_USB], options, facts, names, now_wall_ms);
	add_mdevs(inventory, options);
	return inventory;
}

struct inventory *inventory_free(struct inventory *inventory)
{
	if (!inventory)
		return NULL;
	for (int i = 0; i < INVENTORY_KINDS; i++) {
		struct inventory_set *set = &inventory->sets[i];

		for (size_t j = 0; j < set->len; j++)
			api_object_free(set->kind, set->objects[j]);
		free(set->objects);
		map_free(set->by_name);
	}
	verdicts_free(inventory->pci_verdicts, inventory->facts->pci.len);
	facts_free(inventory->facts);
	free(inventory);
	return NULL;
}

const char *inventory_unread(const struct inventory *inventory)
{
	const struct facts *facts = inventory->facts;

	for (size_t i = 0; i < facts->unknowns.len; i++) {
		if (facts->unknowns.items[i].unread)
			return facts->unknowns.items[i].detail;
	}
	return NULL;
}

bool inventory_name_usb(struct inventory *inventory, char *const *names)
{
	struct inventory_set *set = &inventory->sets[INVENTORY_USB];
	bool changed = false;

	map_free(set->by_name);
	set->by_name = map_new();
	for (size_t i = 0; i < set->len; i++) {
		struct usbdevice *device = set->objects[i];

		if (strcmp(device->meta.name, names[i]) != 0) {
			changed = true;
			inventory_usb_rename(device, names[i]);
		}
		if (!map_get(set->by_name, names[i]))
			map_set(set->by_name, names[i], device);
	}
	return changed;
}

const void *inventory_find(const struct inventory *inventory, enum inventory_kind kind,
			   const char *name)
{
	return map_get(inventory->sets[kind].by_name, name);
}
