#include "controller/admission/pci_claim_advice.h"

#include "api/names.h"
#include "api/pcideviceclaim.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/admission/device.h"
#include "controller/admission/known.h"
#include "controller/admission/rule.h"
#include "controller/webhook/admission_review.h"

enum { LISTED = 4, MEMBERS_MAX = 32 };

static const char *driver_of(const struct pcideviceclaim *claim)
{
	return known_empty(claim->spec.driver) ? "vfio-pci" : claim->spec.driver;
}

static bool is_skipped(const struct pcideviceclaim *claim)
{
	return api_meta_annotation(&claim->meta, NAMES_ANNOTATION_SKIP_VFIO) != NULL;
}

static void advise_bind(const struct rule_case *c, const struct pcideviceclaim *claim,
			const struct device *device)
{
	const char *driver = driver_of(claim);
	const char *native = device_text(device, DEVICE_NATIVE);

	if (known_same(device_text(device, DEVICE_DRIVER), driver))
		rule_warn(c, "%s is bound to %s already; goes back to %s",
			  device_text(device, DEVICE_ADDRESS), driver,
			  known_empty(native) ? "no driver" : native);
	else
		rule_warn(c, "bind %s to %s; goes back to %s", device_text(device, DEVICE_ADDRESS),
			  driver, known_empty(native) ? "no driver" : native);
}

static bool is_covered(const struct pcideviceclaim *claim)
{
	return claim && !claim->meta.deletion_timestamp && !is_skipped(claim);
}

static const struct pcideviceclaim *claim_of(const struct rule_case *c, const struct device *device)
{
	return known_pciclaim_at(c->known, device_text(device, DEVICE_NODE),
				 device_text(device, DEVICE_ADDRESS));
}

/* As the agent lists them: what has a driver and is neither a port nor claimed. */
static void add_missing(struct str *list, size_t *len, const struct device *sibling)
{
	if ((*len)++ >= LISTED)
		return;
	str_addf(list, "%s%s (%s)", list->len ? ", " : "", device_text(sibling, DEVICE_ADDRESS),
		 device_text(sibling, DEVICE_DRIVER));
}

static const struct device *sibling_at(const struct rule_case *c, const struct device *device,
				       size_t i)
{
	const char *address = device_member(device, i);

	if (known_same(address, device_text(device, DEVICE_ADDRESS)))
		return NULL;
	return known_pci_at(c->known, device_text(device, DEVICE_NODE), address);
}

/* Does a claim of another function of the group stand for all of it? */
static bool is_included_by_other(const struct rule_case *c, const struct device *device)
{

	for (size_t i = 0; i < device->members; i++) {
		const struct pcideviceclaim *other =
			known_same(device_member(device, i), device_text(device, DEVICE_ADDRESS))
				? NULL
				: known_pciclaim_at(c->known, device_text(device, DEVICE_NODE),
						    device_member(device, i));

		if (other && other->spec.include_iommu_group && !other->meta.deletion_timestamp)
			return true;
	}
	return false;
}

static void advise_group(const struct rule_case *c, const struct device *device)
{
	auto_str struct str missing = STR_INIT;
	size_t len = 0;

	if (is_included_by_other(c, device))
		return;
	for (size_t i = 0; i < device->members; i++) {
		const struct device *sibling = sibling_at(c, device, i);

		if (sibling && !known_empty(device_text(sibling, DEVICE_DRIVER)) &&
		    !sibling->bridge && !is_covered(claim_of(c, sibling)))
			add_missing(&missing, &len, sibling);
	}
	if (len > LISTED)
		str_addf(&missing, " and %zu more", len - LISTED);
	if (len > 0)
		rule_warn(
			c,
			"waits, GroupShared: IOMMU group %s also holds %s: claim them too, or set "
			"spec.includeIOMMUGroup",
			device_text(device, DEVICE_GROUP), missing.buf);
}

static void advise_members(const struct rule_case *c, const struct pcideviceclaim *claim,
			   const struct device *device)
{

	for (size_t i = 0; i < device->members && i < MEMBERS_MAX; i++) {
		const struct device *sibling = sibling_at(c, device, i);

		if (sibling && !sibling->bridge && !claim_of(c, sibling))
			advise_bind(c, claim, sibling);
	}
}

/* Its group cannot be shared between people: the kernel hands it to one process. */
static void advise_users(const struct rule_case *c, const struct pcideviceclaim *claim,
			 const struct device *device)
{

	for (size_t i = 0; i < device->members; i++) {
		const struct pcideviceclaim *other = known_pciclaim_at(
			c->known, device_text(device, DEVICE_NODE), device_member(device, i));
		auto_free char *user = NULL;

		if (!other || known_same(other->meta.name, claim->meta.name) || is_skipped(other) ||
		    known_empty(other->spec.user_name) || known_empty(claim->spec.user_name) ||
		    known_same(other->spec.user_name, claim->spec.user_name))
			continue;
		user = rule_quote(other->spec.user_name);
		rule_warn(c,
			  "IOMMU group %s also holds %s, which '%s' has claimed: only one of you "
			  "can use the group at a time",
			  device_text(device, DEVICE_GROUP), device_member(device, i), user);
		return;
	}
}

static void advise_holder(const struct rule_case *c, const struct device *device)
{
	if (!known_empty(device_text(device, DEVICE_POD)))
		rule_warn(c, "waits, Held: pod %s has the device", device_text(device, DEVICE_POD));
}

void pci_claim_advise(const struct rule_case *c, const struct pcideviceclaim *claim,
		      const struct device *device)
{
	if (is_skipped(claim))
		return;
	if (c->request->dry_run) {
		advise_bind(c, claim, device);
		if (claim->spec.include_iommu_group)
			advise_members(c, claim, device);
		advise_holder(c, device);
	}
	if (!claim->spec.include_iommu_group)
		advise_group(c, device);
	advise_users(c, claim, device);
}

void pci_claim_advise_update(const struct rule_case *c, const struct pcideviceclaim *claim,
			     const struct device *device)
{
	if (c->request->dry_run)
		pci_claim_advise(c, claim, device);
}

void pci_claim_advise_release(const struct rule_case *c, const struct pcideviceclaim *claim,
			      const struct device *device)
{
	const char *native = device_text(device, DEVICE_NATIVE);

	if (!c->request->dry_run || !c->answer->allowed || is_skipped(claim))
		return;
	if (known_same(device_text(device, DEVICE_DRIVER), driver_of(claim)))
		rule_warn(c, "release %s from %s to %s", device_text(device, DEVICE_ADDRESS),
			  driver_of(claim), known_empty(native) ? "no driver" : native);
	else
		rule_warn(c, "nothing to give back: %s is on %s",
			  device_text(device, DEVICE_ADDRESS),
			  known_empty(device_text(device, DEVICE_DRIVER))
				  ? "no driver"
				  : device_text(device, DEVICE_DRIVER));
}
