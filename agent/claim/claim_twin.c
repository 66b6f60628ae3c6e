#include "agent/claim/claim_twin.h"

#include <stdbool.h>
#include <string.h>

#include "agent/claim/claim_group.h"
#include "agent/claim/claim_plan.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/twin.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/pcideviceclaim.h"

enum device_identity_match claim_twin_compare(const struct pci_facts *pci,
					      const struct record_facts *record)
{
	return twin_compare(pci->serial, pci->identity, record->serial, record->identity);
}

const struct pci_facts *claim_twin_find(const struct claim_case *c, const struct claim_function *f)
{
	const struct facts *facts = c->inventory->facts;

	if (!f->pci || !f->record ||
	    claim_twin_compare(f->pci, f->record) != DEVICE_IDENTITY_UNKNOWN)
		return NULL;
	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *other = &facts->pci.items[i];

		if (twin_may_swap(other, f->pci) &&
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
