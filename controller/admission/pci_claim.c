#include "controller/admission/pci_claim.h"

#include "api/names.h"
#include "api/override.h"
#include "api/pcideviceclaim.h"
#include "base/mem.h"
#include "controller/admission/claim_owner.h"
#include "controller/admission/claimable_rule.h"
#include "controller/admission/device_object.h"
#include "controller/admission/known.h"
#include "controller/admission/pci_claim_advice.h"
#include "controller/admission/pci_claim_conflict.h"
#include "controller/admission/rule.h"
#include "controller/cache/view.h"
#include "controller/cache/view_text.h"

static bool refuse_missing(const struct rule_case *c)
{
	return rule_refuse(
		c, RULE_INVALID,
		"there is no PCIDevice of this name: a claim has the name of its device, "
		"see kubectl get pcidevices");
}

static bool refuse_different(const struct rule_case *c, const char *field, const char *said,
			     const char *is)
{
	auto_free char *shown = NULL;

	if (known_empty(said) || known_same(said, is))
		return false;
	shown = rule_quote(said);
	return rule_refuse(c, RULE_INVALID,
			   "%s is '%s', but the PCIDevice of this name has '%s': leave it out, or "
			   "give the claim the name of the device that is meant",
			   field, shown, is ? is : "");
}

static bool is_contradictory(const struct rule_case *c, const struct pcideviceclaim *claim,
			     const struct view *device)
{
	return refuse_different(c, "spec.address", claim->spec.address,
				view_text(device, VIEW_TEXT_ADDRESS)) ||
	       refuse_different(c, "spec.nodeName", claim->spec.node_name,
				view_text(device, VIEW_TEXT_NODE));
}

/* A device without an IOMMU group cannot be passed through. Agents other than ours do not report
 * this. */
static bool has_no_group(const struct rule_case *c, const struct view *device)
{
	if (!known_empty(view_text(device, VIEW_TEXT_GROUP)))
		return false;
	return rule_refuse(
		c, RULE_FORBIDDEN,
		"NoIOMMU: %s is in no IOMMU group: switch the IOMMU on in the firmware and "
		"on the kernel command line of node %s",
		view_text(device, VIEW_TEXT_ADDRESS) ? view_text(device, VIEW_TEXT_ADDRESS)
						     : "the device",
		view_text(device, VIEW_TEXT_NODE) ? view_text(device, VIEW_TEXT_NODE) : "");
}

static bool is_refused(const struct rule_case *c, const struct pcideviceclaim *claim,
		       const struct view *device)
{
	return claimable_rule(c, &claim->meta, override_lifts, device) || has_no_group(c, device) ||
	       pci_claim_conflict(c, claim, device);
}

void pci_claim_create(const struct rule_case *c)
{
	const struct pcideviceclaim *claim = c->object;
	const struct view *device = known_pcidevice(c->known, claim->meta.name);

	if (!device) {
		refuse_missing(c);
		return;
	}
	claimable_rule_annotations(c, &claim->meta, NULL, false);
	if (is_contradictory(c, claim, device) || resource_misnamed(c, &claim->meta, NULL) ||
	    claim_owner_refused(c, VIEW_PCIDEVICE, &claim->meta) || is_refused(c, claim, device))
		return;
	pci_claim_advise(c, claim, device);
}

/* Immutable fields are enforced by the schema. */
void pci_claim_update(const struct rule_case *c)
{
	const struct pcideviceclaim *claim = c->object;
	const struct pcideviceclaim *old = c->old;
	const struct view *device = known_pcidevice(c->known, claim->meta.name);

	if (claim->meta.deletion_timestamp)
		return;
	claimable_rule_annotations(c, &claim->meta, &old->meta, false);
	if (!device || resource_misnamed(c, &claim->meta, &old->meta))
		return;
	if (!known_same(claim->spec.address, old->spec.address) ||
	    !known_same(claim->spec.node_name, old->spec.node_name)) {
		if (is_contradictory(c, claim, device))
			return;
	}
	if (claim->spec.include_iommu_group == old->spec.include_iommu_group) {
		pci_claim_advise_update(c, claim, device);
		return;
	}
	if (!pci_claim_conflict(c, claim, device))
		pci_claim_advise(c, claim, device);
}

void pci_claim_delete(const struct rule_case *c)
{
	const struct pcideviceclaim *claim = c->old;
	const struct view *device = known_pcidevice(c->known, claim->meta.name);
	const char *node = claim->spec.node_name;

	if (known_empty(node) && device)
		node = view_text(device, VIEW_TEXT_NODE);
	claim_deletion(c, &claim->meta, node);
	if (device)
		pci_claim_advise_release(c, claim, device);
}
