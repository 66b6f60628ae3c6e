#include "agent/inventory/vendor_vfio.h"

#include <string.h>

#include "agent/inventory/facts.h"

static bool is(const char *text, const char *word)
{
	return text && strcmp(text, word) == 0;
}

/* Only a virtual function: the physical one has the driver for the host's own use of the card. */
static bool may_be_vgpu(const struct pci_facts *pci)
{
	return is(pci->vendor, "10de") && is(pci->driver, "nvidia") &&
	       is(pci->role, "VirtualFunction");
}

void vendor_vfio_candidates(const struct facts *facts, struct json_strs *addresses)
{
	for (size_t i = 0; i < facts->pci.len; i++) {
		if (may_be_vgpu(&facts->pci.items[i]))
			json_strs_add(addresses, facts->pci.items[i].address);
	}
}

const struct vgpu_facts *vendor_vfio_find(const struct facts *facts, const char *address)
{
	for (size_t i = 0; i < facts->vgpus.len; i++) {
		if (strcmp(facts->vgpus.items[i].address, address) == 0)
			return &facts->vgpus.items[i];
	}
	return NULL;
}

bool vendor_vfio_serves(const struct facts *facts, const struct pci_facts *pci)
{
	const struct vgpu_facts *vgpu =
		may_be_vgpu(pci) ? vendor_vfio_find(facts, pci->address) : NULL;

	return vgpu && vgpu->current && !is(vgpu->current, "0");
}

bool vendor_vfio_serves_at(const struct facts *facts, const char *address)
{
	const struct pci_facts *pci = facts_find_pci(facts, address);

	return pci && vendor_vfio_serves(facts, pci);
}
