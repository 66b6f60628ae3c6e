#include "agent/sriov/sriov_card.h"

#include <stddef.h>
#include <string.h>

#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/native_driver.h"
#include "api/names.h"
#include "api/reason.h"
#include "api/sriovnetworkdevice.h"
#include "kube/store.h"

const struct pci_facts *sriov_card_function(const struct inventory *inventory, const char *address)
{
	return facts_find_pci(inventory->facts, address);
}

const struct verdict *sriov_card_verdict(const struct inventory *inventory, const char *address)
{
	const struct pci_facts *pci = sriov_card_function(inventory, address);

	return pci ? &inventory->pci_verdicts[pci - inventory->facts->pci.items] : NULL;
}

bool sriov_card_is_physical(const struct pci_facts *pci)
{
	return pci->role && strcmp(pci->role, "PhysicalFunction") == 0 && pci->total_vfs > 0;
}

bool sriov_card_is_nic(const struct pci_facts *pci)
{
	return sriov_card_is_physical(pci) && pci->class_code &&
	       strncmp(pci->class_code, "02", 2) == 0 && pci->interface;
}

const struct pci_facts *sriov_card_find(const char *node_name, const struct inventory *inventory,
					const char *name, const struct sriovnetworkdevice *object)
{
	const struct facts *facts = inventory->facts;

	if (object && object->spec.address)
		return sriov_card_function(inventory, object->spec.address);
	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];
		auto_free char *own = NULL;

		if (!sriov_card_is_nic(pci))
			continue;
		own = names_sriovnetworkdevice(node_name, pci->interface);
		if (strcmp(own, name) == 0)
			return pci;
	}
	return NULL;
}

const char *sriov_card_critical(const struct verdict *verdict)
{
	const struct reason *reason = reason_find(verdict->reason);

	return reason && (reason->flags & REASON_CRITICAL) ? reason->name : NULL;
}

const char *sriov_card_unread(const struct inventory *inventory, const struct pci_facts *pf)
{
	if (!pf->driver || native_driver_is_passthrough(pf->driver))
		return NULL;
	return claimable_unread(inventory->facts, pf);
}

/* Timestamps of RFC 3339 in UTC are in the order of their characters. */
static bool is_before(const struct entry *a, const struct entry *b)
{
	const struct sriovnetworkdevice *one = a->object;
	const struct sriovnetworkdevice *other = b->object;
	const char *made = one->meta.creation_timestamp;
	const char *other_made = other->meta.creation_timestamp;
	int order = made && other_made ? strcmp(made, other_made) : 0;

	return order < 0 || (order == 0 && strcmp(a->name, b->name) < 0);
}

const char *sriov_card_object(const struct store *objects, const char *address)
{
	const struct entry *entry;
	const struct entry *first = NULL;
	size_t cursor = 0;

	while ((entry = store_next(objects, &cursor))) {
		const struct sriovnetworkdevice *object = entry->object;

		if (!object || !object->spec.address || strcmp(object->spec.address, address) != 0)
			continue;
		if (!first || is_before(entry, first))
			first = entry;
	}
	return first ? first->name : NULL;
}
