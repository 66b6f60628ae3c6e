#include "controller/admission/rule.h"

#include "api/names.h"
#include "api/override.h"
#include "api/pcideviceclaim.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/admission/annotation_rule.h"
#include "controller/admission/claim.h"
#include "controller/admission/known.h"
#include "controller/cache/view.h"
#include "controller/webhook/admission_review.h"

/* --- conflicts with other claims and enabled features --- */

static bool is_at(const struct view *device, const char *node, const char *address)
{
	return !known_empty(address) && known_same(view_text(device, VIEW_TEXT_ADDRESS), address) &&
	       known_same(view_text(device, VIEW_TEXT_NODE), node);
}

/* True if the claim takes the function at @address of @node away from its driver. */
static bool takes_function(const struct pcideviceclaim *claim, const struct view *device,
			   const char *node, const char *address)
{
	if (is_at(device, node, address))
		return true;
	return claim->spec.include_iommu_group && !known_empty(address) &&
	       known_same(view_text(device, VIEW_TEXT_NODE), node) &&
	       view_has_member(device, address);
}

/* Passing a USB controller through takes its USB devices with it. */
static bool has_usb_claim(const struct rule_case *c, const struct pcideviceclaim *claim,
			  const struct view *device)
{
	const struct view *other;
	const char *name;
	size_t cursor = 0;

	while ((other = known_next(c->known, VIEW_USBCLAIM, &cursor, &name))) {
		const struct view *usb = known_usbdevice(c->known, name);
		const char *node = view_text(usb ? usb : other, VIEW_TEXT_NODE);
		const char *address = view_text(usb ? usb : other, VIEW_TEXT_ADDRESS);

		if (takes_function(claim, device, node, address))
			return rule_refuse(
				c, RULE_CONFLICT,
				"USBDeviceClaim '%s' has a device of the USB controller %s: "
				"delete that claim first",
				name, address);
	}
	return false;
}

static bool is_vf_of(const struct view *vf, const struct view *pf)
{
	return is_at(pf, view_text(vf, VIEW_TEXT_NODE), view_text(vf, VIEW_TEXT_PARENT));
}

static bool has_claimed_vf(const struct rule_case *c, const struct view *device)
{
	const char *name;
	size_t cursor = 0;

	while (known_next(c->known, VIEW_PCICLAIM, &cursor, &name)) {
		const struct view *vf = known_pcidevice(c->known, name);

		if (vf && is_vf_of(vf, device))
			return rule_refuse(c, RULE_CONFLICT,
					   "PCIDeviceClaim '%s' has %s, a virtual function of this "
					   "device: delete that claim first",
					   name, view_text(vf, VIEW_TEXT_ADDRESS));
	}
	return false;
}

static bool has_claimed_pf(const struct rule_case *c, const struct view *device)
{
	const char *name;

	if (!known_pciclaim_at(c->known, view_text(device, VIEW_TEXT_NODE),
			       view_text(device, VIEW_TEXT_PARENT), &name))
		return false;
	return rule_refuse(
		c, RULE_CONFLICT,
		"PCIDeviceClaim '%s' has %s, the physical function of this device: delete that "
		"claim first",
		name, view_text(device, VIEW_TEXT_PARENT));
}

/* If no user has set the number, it follows the existing functions; Claimable reports that case. */
static bool is_divided_card(const struct rule_case *c, const struct view *device)
{
	const struct view *nic;
	const char *name;
	size_t cursor = 0;

	while ((nic = known_next(c->known, VIEW_NIC, &cursor, &name))) {
		if (nic->vfs == 0 || !is_at(device, view_text(nic, VIEW_TEXT_NODE),
					    view_text(nic, VIEW_TEXT_ADDRESS)))
			continue;
		return rule_refuse(
			c, RULE_CONFLICT,
			"SRIOVNetworkDevice '%s' divides it into %d virtual functions: set "
			"spec.numVFs of that to 0 first, or claim a virtual function",
			name, nic->vfs);
	}
	return false;
}

static bool is_divided_gpu(const struct rule_case *c, const char *name, const struct view *device)
{
	const struct view *gpu = known_gpu(c->known, name);
	const struct view *vgpu;
	size_t cursor = 0;

	if (gpu && gpu->enabled)
		return rule_refuse(
			c, RULE_CONFLICT,
			"SRIOVGPUDevice '%s' divides it: set spec.enabled of that to false "
			"first",
			name);
	while ((vgpu = known_next(c->known, VIEW_VGPU, &cursor, &name))) {
		if (vgpu->enabled && is_at(device, view_text(vgpu, VIEW_TEXT_NODE),
					   view_text(vgpu, VIEW_TEXT_PARENT)))
			return rule_refuse(c, RULE_CONFLICT,
					   "VGPUDevice '%s' is a part of it: set spec.enabled of "
					   "that to false first",
					   name);
	}
	return false;
}

/* The creator of the vGPU claims it with the annotation that keeps its driver. */
static bool is_vgpu(const struct rule_case *c, const struct pcideviceclaim *claim)
{
	const struct view *vgpu = known_vgpu(c->known, claim->meta.name);

	if (!vgpu || !vgpu->enabled ||
	    api_meta_annotation(&claim->meta, NAMES_ANNOTATION_SKIP_VFIO))
		return false;
	return rule_refuse(
		c, RULE_CONFLICT,
		"VGPUDevice '%s' is enabled, and creates its claim itself: set its spec.enabled "
		"to false first",
		claim->meta.name);
}

/* A claim that leaves the device on the host's driver gives nobody access to it, and takes the verb
 * `manage`; the agent knows which drivers pass a device through themselves. One that is being
 * deleted counts while it has our finalizer: a pod may still have the device. */
static bool is_in_group(const struct view *claim)
{
	return !claim->skipped && (!claim->deleting || claim->has_finalizer);
}

static bool refuse_owner(const struct rule_case *c, const struct view *device, const char *address,
			 const struct view *other)
{
	const char *owner = view_text(other, VIEW_TEXT_USER);
	auto_free char *user = rule_quote(owner);

	if (known_empty(owner))
		return rule_refuse(
			c, RULE_CONFLICT,
			"GroupShared: IOMMU group %s also holds %s, whose claim names no owner: "
			"whoever has one function of a group can use all of them. Delete that "
			"claim, or ask an administrator to claim both for one user",
			view_text(device, VIEW_TEXT_GROUP), address);
	return rule_refuse(
		c, RULE_CONFLICT,
		"GroupShared: IOMMU group %s also holds %s, which '%s' has claimed: whoever has "
		"one function of a group can use all of them. Ask '%s' to release it, or an "
		"administrator to claim both for one user",
		view_text(device, VIEW_TEXT_GROUP), address, user, user);
}

/* A program that has one function of a group can open all of them. No owner is not the same as any
 * owner. */
static bool has_other_owner(const struct rule_case *c, const struct pcideviceclaim *claim,
			    const struct view *device)
{
	size_t len = pcideviceclaim_is_skipped(claim) ? 0 : view_members(device);

	for (size_t i = 0; i < len; i++) {
		const char *address = view_member(device, i);
		const char *name;
		const struct view *other = known_pciclaim_at(
			c->known, view_text(device, VIEW_TEXT_NODE), address, &name);

		if (other && !known_same(name, claim->meta.name) && is_in_group(other) &&
		    !known_same(view_text(other, VIEW_TEXT_USER), claim->spec.user_name))
			return refuse_owner(c, device, address, other);
	}
	return false;
}

/* True if refused. */
static bool pci_claim_conflict(const struct rule_case *c, const struct pcideviceclaim *claim,
			       const struct view *device)
{
	return has_usb_claim(c, claim, device) || has_claimed_vf(c, device) ||
	       has_claimed_pf(c, device) || is_divided_card(c, device) ||
	       is_divided_gpu(c, claim->meta.name, device) || is_vgpu(c, claim) ||
	       has_other_owner(c, claim, device);
}

/* --- advice: the effect of a claim, as in `hostdev-agent plan` --- */

enum {
	LISTED = 4,
	LIST_MAX = 64,
	MEMBERS_MAX = 32
}; /* leave room for the text that says what to do */

static const char vfio[] = "vfio-pci";

static const char *driver_of(const struct pcideviceclaim *claim)
{
	return known_empty(claim->spec.driver) ? vfio : claim->spec.driver;
}

/* The agents' settings are not known here. */
static const char *proviso_of(const char *driver)
{
	return known_same(driver, vfio) ? "" : ", if the agent's --vfio-driver allows that";
}

/* The agent writes the native driver into the claim; before that, a device that already has the
 * passthrough driver stays on it. */
static const char *native_of(const struct pcideviceclaim *claim, const struct view *device)
{
	const char *recorded = claim->status.kernel_driver_to_unbind;
	const char *native = view_text(device, VIEW_TEXT_NATIVE);

	if (known_same(claim->spec.release, "None"))
		return "no driver";
	if (!known_empty(recorded))
		return recorded;
	if (!claim->status.passthrough_enabled &&
	    known_same(view_text(device, VIEW_TEXT_DRIVER), driver_of(claim)))
		return driver_of(claim);
	/* The view of a device without a native driver has its present one in that place. */
	return known_empty(native) || known_same(native, driver_of(claim)) ? "no driver" : native;
}

/* A misspelled driver would be found out only by who reads the claim's conditions. */
static void advise_driver(const struct rule_case *c, const struct pcideviceclaim *claim,
			  const struct view *device)
{
	auto_free char *driver = rule_quote(driver_of(claim));

	if (known_same(driver_of(claim), vfio))
		return;
	rule_warn(c,
		  "spec.driver is '%s' in place of vfio-pci: the claim is refused with the reason "
		  "DriverNotAllowed unless the agent of node %s has --vfio-driver %s",
		  driver, view_text(device, VIEW_TEXT_NODE), driver);
}

static void advise_bind(const struct rule_case *c, const struct pcideviceclaim *claim,
			const struct view *device)
{
	const char *driver = driver_of(claim);
	const char *native = native_of(claim, device);

	if (known_same(view_text(device, VIEW_TEXT_DRIVER), driver) && known_same(native, driver))
		rule_warn(c, "%s is bound to %s already, and stays on it%s",
			  view_text(device, VIEW_TEXT_ADDRESS), driver, proviso_of(driver));
	else if (known_same(view_text(device, VIEW_TEXT_DRIVER), driver))
		rule_warn(c, "%s is bound to %s already%s; goes back to %s",
			  view_text(device, VIEW_TEXT_ADDRESS), driver, proviso_of(driver), native);
	else
		rule_warn(c, "bind %s to %s%s; goes back to %s",
			  view_text(device, VIEW_TEXT_ADDRESS), driver, proviso_of(driver), native);
}

static bool is_covered(const struct view *claim)
{
	return claim && !claim->deleting && !claim->skipped;
}

static const struct view *claim_of(const struct rule_case *c, const struct view *device)
{
	return known_pciclaim_at(c->known, view_text(device, VIEW_TEXT_NODE),
				 view_text(device, VIEW_TEXT_ADDRESS), NULL);
}

/* As the agent lists them: functions that have a driver and are neither bridges nor claimed. */
static void add_missing(struct str *list, size_t *len, const struct view *sibling)
{
	if ((*len)++ >= LISTED)
		return;
	str_addf(list, "%s%s (%s)", list->len ? ", " : "", view_text(sibling, VIEW_TEXT_ADDRESS),
		 view_text(sibling, VIEW_TEXT_DRIVER));
}

static const struct view *sibling_at(const struct rule_case *c, const struct view *device, size_t i)
{
	const char *address = view_member(device, i);

	if (known_same(address, view_text(device, VIEW_TEXT_ADDRESS)))
		return NULL;
	return known_pci_at(c->known, view_text(device, VIEW_TEXT_NODE), address);
}

/* True if a claim of another function covers the whole group. */
static bool is_included_by_other(const struct rule_case *c, const struct view *device)
{
	size_t len = view_members(device);

	for (size_t i = 0; i < len; i++) {
		const struct view *other =
			known_same(view_member(device, i), view_text(device, VIEW_TEXT_ADDRESS))
				? NULL
				: known_pciclaim_at(c->known, view_text(device, VIEW_TEXT_NODE),
						    view_member(device, i), NULL);

		if (other && other->group && !other->deleting)
			return true;
	}
	return false;
}

static void advise_group(const struct rule_case *c, const struct view *device)
{
	auto_str struct str missing = STR_INIT;
	size_t members = view_members(device);
	size_t len = 0;

	if (is_included_by_other(c, device))
		return;
	for (size_t i = 0; i < members; i++) {
		const struct view *sibling = sibling_at(c, device, i);

		if (sibling && !known_empty(view_text(sibling, VIEW_TEXT_DRIVER)) &&
		    !sibling->bridge && !is_covered(claim_of(c, sibling)))
			add_missing(&missing, &len, sibling);
	}
	str_cut(&missing, LIST_MAX);
	if (len > LISTED)
		str_addf(&missing, " and %zu more", len - LISTED);
	if (len > 0)
		rule_warn(
			c,
			"waits, GroupShared: IOMMU group %s also holds %s: claim them too, or set "
			"spec.includeIOMMUGroup",
			view_text(device, VIEW_TEXT_GROUP), missing.buf);
}

/* As the agent decides: a function that has a driver and cannot be handed out blocks the whole
 * group. If the reason is the group's, it names another function, which is checked as well. */
static bool stays_back(const struct rule_case *c, const struct view *sibling)
{
	const char *reason = view_text(sibling, VIEW_TEXT_REASON);
	auto_free char *message = NULL;

	if (!*reason || known_same(reason, "GroupHostCritical"))
		return false;
	message = rule_quote_words(view_text(sibling, VIEW_TEXT_MESSAGE));
	rule_warn(c, "waits, %s: IOMMU group %s also holds %s: %s", reason,
		  view_text(sibling, VIEW_TEXT_GROUP), view_text(sibling, VIEW_TEXT_ADDRESS),
		  message);
	return true;
}

/* Bridges and functions without a driver are left unchanged. */
static void advise_members(const struct rule_case *c, const struct pcideviceclaim *claim,
			   const struct view *device)
{
	size_t len = view_members(device);

	for (size_t i = 0; i < len && i < MEMBERS_MAX; i++) {
		const struct view *sibling = sibling_at(c, device, i);

		if (sibling && !sibling->bridge &&
		    !known_empty(view_text(sibling, VIEW_TEXT_DRIVER)) && !claim_of(c, sibling) &&
		    !stays_back(c, sibling))
			advise_bind(c, claim, sibling);
	}
}

static void advise_holder(const struct rule_case *c, const struct view *device)
{
	if (!known_empty(device->pod))
		rule_warn(c, "waits, Held: pod %s has the device", device->pod);
}

/* Warn about what keeps an accepted claim waiting; in a dry run, also which device gets which
 * driver. */
static void pci_claim_advise(const struct rule_case *c, const struct pcideviceclaim *claim,
			     const struct view *device)
{
	if (pcideviceclaim_is_skipped(claim))
		return;
	if (c->request->dry_run) {
		advise_bind(c, claim, device);
		if (claim->spec.include_iommu_group)
			advise_members(c, claim, device);
		advise_holder(c, device);
	} else if (!c->old) {
		advise_driver(c, claim, device);
	}
	if (!claim->spec.include_iommu_group)
		advise_group(c, device);
}

/* The same for an existing claim, only in a dry run. */
static void pci_claim_advise_update(const struct rule_case *c, const struct pcideviceclaim *claim,
				    const struct view *device)
{
	if (c->request->dry_run)
		pci_claim_advise(c, claim, device);
}

/* The effect of deleting the claim, only in a dry run. */
static void pci_claim_advise_release(const struct rule_case *c, const struct pcideviceclaim *claim,
				     const struct view *device)
{
	const char *driver = driver_of(claim);
	const char *native = native_of(claim, device);

	if (!c->request->dry_run || !c->answer->allowed || pcideviceclaim_is_skipped(claim))
		return;
	if (known_same(view_text(device, VIEW_TEXT_DRIVER), driver) && known_same(native, driver))
		rule_warn(c, "%s stays on %s, where it was before the claim",
			  view_text(device, VIEW_TEXT_ADDRESS), driver);
	else if (known_same(view_text(device, VIEW_TEXT_DRIVER), driver))
		rule_warn(c, "release %s from %s to %s", view_text(device, VIEW_TEXT_ADDRESS),
			  driver, native);
	else
		rule_warn(c, "nothing to release: %s is on %s",
			  view_text(device, VIEW_TEXT_ADDRESS),
			  known_empty(view_text(device, VIEW_TEXT_DRIVER))
				  ? "no driver"
				  : view_text(device, VIEW_TEXT_DRIVER));
}

/* --- the rules --- */

static bool refuse_missing(const struct rule_case *c)
{
	if (known_usbdevice(c->known, c->request->name))
		return rule_refuse(c, RULE_INVALID,
				   "the device of this name is a USBDevice: create a "
				   "USBDeviceClaim in place of the PCIDeviceClaim");
	return rule_refuse(
		c, RULE_INVALID,
		"there is no PCIDevice of this name: a claim has the name of its device, "
		"see kubectl get pcidevices");
}

static bool refuse_different(const struct rule_case *c, const char *field, const char *written,
			     const char *is)
{
	auto_free char *shown = NULL;

	if (known_empty(written) || known_same(written, is))
		return false;
	shown = rule_quote(written);
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

/* The API server calls the webhook before it looks for an existing object, and refuses the claim
 * afterwards; a warning about its effects would mislead. A dry run asks for exactly that. */
static bool exists_already(const struct rule_case *c, const struct pcideviceclaim *claim)
{
	return !c->request->dry_run && *known_uid(c->known, VIEW_PCICLAIM, claim->meta.name);
}

void pci_claim_create(const struct rule_case *c)
{
	const struct pcideviceclaim *claim = c->object;
	const struct view *device = known_pcidevice(c->known, claim->meta.name);

	if (!device) {
		refuse_missing(c);
		return;
	}
	annotation_rule(c, &claim->meta, NULL, ANNOTATION_OF_PCICLAIM);
	if (is_contradictory(c, claim, device) || resource_misnamed(c, &claim->meta, NULL) ||
	    claim_owner_refused(c, VIEW_PCIDEVICE, &claim->meta) || is_refused(c, claim, device) ||
	    exists_already(c, claim))
		return;
	pci_claim_advise(c, claim, device);
}

/* An owner can be filled in later, and the annotation that leaves the driver be removed. */
static bool joins_group(const struct pcideviceclaim *claim, const struct pcideviceclaim *old)
{
	return !known_same(claim->spec.user_name, old->spec.user_name) ||
	       (pcideviceclaim_is_skipped(old) && !pcideviceclaim_is_skipped(claim));
}

/* Immutable fields are enforced by the schema. */
void pci_claim_update(const struct rule_case *c)
{
	const struct pcideviceclaim *claim = c->object;
	const struct pcideviceclaim *old = c->old;
	const struct view *device = known_pcidevice(c->known, claim->meta.name);

	if (claim->meta.deletion_timestamp)
		return;
	annotation_rule(c, &claim->meta, &old->meta, ANNOTATION_OF_PCICLAIM);
	if (!device || resource_misnamed(c, &claim->meta, &old->meta))
		return;
	if (!known_same(claim->spec.address, old->spec.address) ||
	    !known_same(claim->spec.node_name, old->spec.node_name)) {
		if (is_contradictory(c, claim, device))
			return;
	}
	if (joins_group(claim, old) && has_other_owner(c, claim, device))
		return;
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
