#include "agent/claim/claim_ties.h"

#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "api/names.h"
#include "base/mem.h"

static const struct record_facts *record_of(const struct inventory *inventory, const char *name)
{
	const struct facts *facts = inventory->facts;

	for (size_t i = 0; i < facts->records.len; i++) {
		const struct record_facts *record = &facts->records.items[i];

		if (record->claim && strcmp(record->claim, name) == 0)
			return record;
	}
	return NULL;
}

char *claim_ties_address(const char *node_name, const struct inventory *inventory, const char *name)
{
	const struct record_facts *record;
	char address[NAMES_ADDRESS_SIZE];

	if (names_pcidevice_address(node_name, name, address) == 0)
		return xstrdup(address);
	record = record_of(inventory, name);
	return record ? xstrdup(record->address) : NULL;
}

static const char *group_of(const struct facts *facts, const char *address)
{
	for (size_t i = 0; i < facts->pci.len; i++) {
		if (strcmp(facts->pci.items[i].address, address) == 0)
			return facts->pci.items[i].iommu_group;
	}
	return NULL;
}

void claim_ties_members(const struct inventory *inventory, const char *address,
			struct json_strs *ret_members)
{
	const struct facts *facts = inventory->facts;
	const char *group = group_of(facts, address);

	json_strs_add_new(ret_members, address);
	for (size_t i = 0; group && i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];

		if (pci->iommu_group && strcmp(pci->iommu_group, group) == 0)
			json_strs_add_new(ret_members, pci->address);
	}
}

void claim_ties_claims(const char *node_name, const struct inventory *inventory,
		       const char *address, struct json_strs *ret_names)
{
	const struct facts *facts = inventory->facts;
	auto_free char *name = names_pcidevice(node_name, address);

	json_strs_add_new(ret_names, name);
	for (size_t i = 0; i < facts->records.len; i++) {
		const struct record_facts *record = &facts->records.items[i];

		if (record->claim && strcmp(record->address, address) == 0)
			json_strs_add_new(ret_names, record->claim);
	}
}

bool claim_ties_has_record(const struct inventory *inventory, const char *name)
{
	return record_of(inventory, name) != NULL;
}
