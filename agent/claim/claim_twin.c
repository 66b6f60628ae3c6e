#include "agent/claim/claim_twin.h"

#include <stdbool.h>
#include <string.h>

#include "agent/claim/claim_group.h"
#include "agent/claim/claim_plan.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/pcideviceclaim.h"

/* NULL equals NULL. */
static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

enum device_identity_match claim_twin_compare(const struct pci_facts *pci,
					      const struct record_facts *record)
{
	if (pci->serial && record->serial && *record->serial)
		return strcmp(pci->serial, record->serial) == 0 ? DEVICE_IDENTITY_SAME
								: DEVICE_IDENTITY_OTHER;
	return device_identity_compare(pci->identity, record->identity);
}

static bool is_model(const struct pci_facts *a, const struct pci_facts *b)
{
	return same(a->vendor, b->vendor) && same(a->device, b->device) &&
	       same(a->subsystem_vendor, b->subsystem_vendor) &&
	       same(a->subsystem_device, b->subsystem_device);
}

/* The functions of one device, and the virtual ones of one function, keep their order. */
static bool may_change_places(const struct pci_facts *a, const struct pci_facts *b)
{
	if (a->physical_function || b->physical_function)
		return a->physical_function && b->physical_function &&
		       strcmp(a->physical_function, b->physical_function) != 0;
	return a->address[strlen(a->address) - 1] == b->address[strlen(b->address) - 1];
}

const struct pci_facts *claim_twin_find(const struct claim_case *c, const struct claim_function *f)
{
	const struct facts *facts = c->inventory->facts;

	if (!f->pci || !f->record ||
	    claim_twin_compare(f->pci, f->record) != DEVICE_IDENTITY_UNKNOWN)
		return NULL;
	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *other = &facts->pci.items[i];

		if (other != f->pci && is_model(other, f->pci) &&
		    may_change_places(other, f->pci) &&
		    claim_twin_compare(other, f->record) != DEVICE_IDENTITY_OTHER)
			return other;
	}
	return NULL;
}

/* The address identifies the device if the claim's annotation says so, or if the claim was created after the boot. */
static bool is_asked(const struct claim_function *f)
{
	const struct pcideviceclaim *claim = f->claim ? f->claim : f->cover;
	const char *value =
		claim ? api_meta_annotation(&claim->meta, NAMES_ANNOTATION_BY_ADDRESS) : NULL;

	if (value && strcmp(value, "true") == 0)
		return true;
	return f->claim && !claim_function_recorded_for(f, f->claim);
}

/* What earlier versions have bound may be bound since before an upgrade: their records say only under
 * which boot they were written first. */
static bool has_booted(const struct claim_function *f)
{
	return f->record->bound || (f->record->boot && !claim_function_is_bound(f));
}

const struct pci_facts *claim_twin_hinders(const struct claim_case *c,
					   const struct claim_function *f)
{
	if (!f->recorded || f->rewritten || !f->record || f->record->this_boot || !has_booted(f) ||
	    is_asked(f))
		return NULL;
	return claim_twin_find(c, f);
}
