#include "agent/resource/group_pods.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/node/this_node.h"
#include "agent/resource/ledger.h"
#include "agent/resource/pci_type.h"
#include "api/json_values.h"
#include "api/pcidevice.h"
#include "base/mem.h"

/* Borrowed. */
struct asked {
	const char *own;
	const char *resource;
	const struct json_strs *together; /* NULL: for the list, not for a call */
};

static bool has_pod(const struct pci_view *view, const char *address)
{
	const struct pcidevice_allocations *list =
		view->pods ? view->pods(view->arg, address) : NULL;

	return list && list->len > 0;
}

static struct ledger_allocation allocation_of(const struct pci_view *view, const char *address)
{
	return view->allocation ? view->allocation(view->arg, address)
				: (struct ledger_allocation){ 0 };
}

static bool is_among(const struct json_strs *ids, const char *address)
{
	for (size_t i = 0; ids && i < ids->len; i++) {
		if (strcmp(ids->items[i], address) == 0)
			return true;
	}
	return false;
}

/* Does the pod that has the function @own also have the one at @address? */
static bool goes_along(const struct pci_view *view, const char *own, const char *address)
{
	struct ledger_allocation own_allocation = allocation_of(view, own);
	struct ledger_allocation allocation = allocation_of(view, address);

	if (own_allocation.resource && allocation.resource &&
	    own_allocation.call >= allocation.call)
		return true;
	return view->same_pod && view->same_pod(view->arg, own, address);
}

/* Does the container that asks already have the function at @address? */
static bool askers(const struct pci_view *view, const struct asked *asked, const char *address)
{
	struct ledger_allocation allocation = allocation_of(view, address);

	if (goes_along(view, asked->own, address))
		return true;
	if (!asked->together)
		return allocation.recent;
	for (size_t i = 0; i < asked->together->len; i++) {
		if (goes_along(view, asked->together->items[i], address))
			return true;
	}
	return allocation.resource && allocation.open &&
	       strcmp(allocation.resource, asked->resource) != 0;
}

/* As ledger_written(). */
static const char *written(const struct pci_view *view, const char *address)
{
	return view->written ? view->written(view->arg, address) : NULL;
}

static bool is_claimed(const struct pci_view *view, const char *address)
{
	return view->claimed && view->claimed(view->arg, address);
}

/* NULL: no pod has the function at @address, or the calling pod has it. The message does not name
 * the pod, because its reader may not be allowed to see that pod. */
static char *taken(const struct pci_view *view, const char *group, const struct asked *asked,
		   const char *address)
{
	/* A group goes to one ResourceClaim at a time: what has @own has this one. */
	if (is_claimed(view, address) && is_claimed(view, asked->own))
		return NULL;
	if (is_claimed(view, address))
		return xasprintf("IOMMU group %s serves one pod at a time, and %s of it is "
				 "prepared for a ResourceClaim",
				 group, address);
	if (askers(view, asked, address))
		return NULL;
	if (has_pod(view, address))
		return xasprintf("IOMMU group %s serves one pod at a time, and a pod has %s of it",
				 group, address);
	if (allocation_of(view, address).resource)
		return xasprintf("IOMMU group %s serves one pod at a time, and %s of it was just "
				 "allocated to another container",
				 group, address);
	if (written(view, address))
		return xasprintf("IOMMU group %s serves one pod at a time, and %s of it belongs to "
				 "%s",
				 group, address, written(view, address));
	return NULL;
}

char *group_pods_trouble(const struct pci_view *view, const struct pcidevice *device,
			 const char *resource, const struct json_strs *together)
{
	const struct facts *facts = view->node->inventory->facts;
	const char *group = device->status.iommu_group;
	const struct asked asked = { device->status.address, resource, together };
	char *trouble = NULL;

	if (!group)
		return NULL;
	for (size_t i = 0; i < facts->pci.len && !trouble; i++) {
		const struct pci_facts *other = &facts->pci.items[i];

		if (other->iommu_group && strcmp(other->iommu_group, group) == 0 &&
		    strcmp(other->address, asked.own) != 0 && !is_among(together, other->address))
			trouble = taken(view, group, &asked, other->address);
	}
	return trouble;
}
