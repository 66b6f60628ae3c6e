#include "agent/inventory.h"

#include <string.h>

#include "agent/claimable.h"
#include "agent/facts.h"
#include "agent/id_names.h"
#include "agent/inventory_pci.h"
#include "agent/inventory_usb.h"
#include "api/meta.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "base/array.h"
#include "base/map.h"
#include "base/mem.h"

static const struct api_kind *const kinds[] = {
	[INVENTORY_PCI] = &pcidevice_kind,
	[INVENTORY_USB] = &usbdevice_kind,
};

/* Two devices cannot have one name: names hold the address, or bus and device number. If the kernel
 * gave one twice all the same, the first counts. */
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

static void add_pci(struct inventory_set *set, const struct inventory_options *options,
		    const struct facts *facts, const struct id_names *names, int64_t now_wall_ms)
{
	struct verdict *verdicts = claimable_judge_pci(facts);
	struct map *groups = inventory_pci_groups(facts);

	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];
		struct inventory_pci_source source = {
			.node_name = options->node_name,
			.pci = pci,
			.names = names,
			.groups = groups,
			.verdict = &verdicts[i],
		};

		if (options->show_bridges || !is_port(pci))
			set_add(set, inventory_pci_object(&source, now_wall_ms));
	}
	inventory_pci_groups_free(groups);
	verdicts_free(verdicts, facts->pci.len);
}

static void add_usb(struct inventory_set *set, const struct inventory_options *options,
		    const struct facts *facts, const struct id_names *names, int64_t now_wall_ms)
{
	struct verdict *verdicts = claimable_judge_usb(facts);

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

struct inventory *inventory_new(const struct inventory_options *options, const struct facts *facts,
				const struct id_names *names, int64_t now_wall_ms)
{
	struct inventory *inventory = xcalloc(1, sizeof(*inventory));

	for (int i = 0; i < INVENTORY_KINDS; i++) {
		inventory->sets[i].kind = kinds[i];
		inventory->sets[i].by_name = map_new();
	}
	add_pci(&inventory->sets[INVENTORY_PCI], options, facts, names, now_wall_ms);
	add_usb(&inventory->sets[INVENTORY_USB], options, facts, names, now_wall_ms);
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
	free(inventory);
	return NULL;
}

const void *inventory_find(const struct inventory *inventory, enum inventory_kind kind,
			   const char *name)
{
	return map_get(inventory->sets[kind].by_name, name);
}
