/* inventory_pci: one PCIDevice from what the scan found of one function. */
#pragma once

#include <stdint.h>

struct facts;
struct id_names;
struct map;
struct pci_facts;
struct pcidevice;
struct verdict;

/* The functions of each IOMMU group: group -> struct json_strs of addresses, in the scan's
 * order. */
struct map *inventory_pci_groups(const struct facts *facts);
void inventory_pci_groups_free(struct map *groups);

struct inventory_pci_source {
	const char *node_name;
	const struct pci_facts *pci;
	const struct id_names *names;
	const struct map *groups;
	const struct verdict *verdict;
	/* Only the address distinguishes it from that one; NULL: none */
	const struct pci_facts *lookalike;
};

/* The caller frees with api_object_free. */
struct pcidevice *inventory_pci_object(const struct inventory_pci_source *source,
				       int64_t now_wall_ms);
