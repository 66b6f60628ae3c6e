#include "agent/lend/group_pods.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/lend/custody.h"
#include "agent/lend/pci_type.h"
#include "api/json_values.h"
#include "api/pcidevice.h"
#include "base/mem.h"

static const struct pcidevice_allocation *pod_of(const struct pci_view *view, const char *address)
{
	const struct pcidevice_allocations *list =
		view->pods ? view->pods(view->arg, address) : NULL;

	return list && list->len > 0 ? &list->items[0] : NULL;
}

/* The resource as which it was given to a pod that no list has named yet; NULL: it was not. */
static const char *given_as(const struct pci_view *view, const char *address, uint64_t *ret_ago_ms)
{
	return view->given ? view->given(view->arg, address, ret_ago_ms) : NULL;
}

static bool is_among(const struct json_strs *ids, const char *address)
{
	for (size_t i = 0; ids && i < ids->len; i++) {
		if (strcmp(ids->items[i], address) == 0)
			return true;
	}
	return false;
}

static bool same_pod(const struct pcidevice_allocation *a, const struct pcidevice_allocation *b)
{
	return strcmp(a->namespace, b->namespace) == 0 && strcmp(a->pod, b->pod) == 0;
}

/* Has whoever has the function @own the one at @address too? Not if that was given later on. */
static bool goes_along(const struct pci_view *view, const char *own, const char *address)
{
	const struct pcidevice_allocation *own_pod = pod_of(view, own);
	const struct pcidevice_allocation *pod = pod_of(view, address);
	uint64_t own_ms = 0;
	uint64_t ago_ms = 0;
	bool own_given = given_as(view, own, &own_ms);
	bool given = given_as(view, address, &ago_ms);

	if (own_given && given)
		return own_ms <= ago_ms + CUSTODY_FRESH_MS;
	return own_pod && pod && !given && same_pod(own_pod, pod);
}

/* NULL: the function at @address is in nobody's hands, or in those of whoever asks for @own. */
static char *taken(const struct pci_view *view, const char *group, const char *own,
		   const char *address, const char *resource)
{
	const struct pcidevice_allocation *pod = pod_of(view, address);
	uint64_t ago_ms = 0;
	const char *given = given_as(view, address, &ago_ms);

	if (goes_along(view, own, address) ||
	    (given && strcmp(given, resource) != 0 && ago_ms <= CUSTODY_FRESH_MS))
		return NULL;
	if (pod)
		return xasprintf("IOMMU group %s serves one pod at a time, and %s/%s has %s of it",
				 group, pod->namespace, pod->pod, address);
	if (given)
		return xasprintf("IOMMU group %s serves one pod at a time, and %s of it was just "
				 "given to another container",
				 group, address);
	return NULL;
}

char *group_pods_trouble(const struct pci_view *view, const struct pcidevice *device,
			 const char *resource, const struct json_strs *together)
{
	const struct facts *facts = view->inventory->facts;
	const char *group = device->status.iommu_group;
	const char *own = device->status.address;
	char *trouble = NULL;

	if (!group)
		return NULL;
	for (size_t i = 0; i < facts->pci.len && !trouble; i++) {
		const struct pci_facts *other = &facts->pci.items[i];

		if (other->iommu_group && strcmp(other->iommu_group, group) == 0 &&
		    strcmp(other->address, own) != 0 && !is_among(together, other->address))
			trouble = taken(view, group, own, other->address, resource);
	}
	return trouble;
}
