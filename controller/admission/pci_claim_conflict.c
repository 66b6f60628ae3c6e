#include "controller/admission/pci_claim_conflict.h"

#include "api/names.h"
#include "api/pcideviceclaim.h"
#include "base/mem.h"
#include "controller/admission/known.h"
#include "controller/admission/rule.h"
#include "controller/cache/view.h"
#include "controller/cache/view_text.h"

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

bool pci_claim_conflict(const struct rule_case *c, const struct pcideviceclaim *claim,
			const struct view *device)
{
	return has_usb_claim(c, claim, device) || has_claimed_vf(c, device) ||
	       has_claimed_pf(c, device) || is_divided_card(c, device) ||
	       is_divided_gpu(c, claim->meta.name, device) || is_vgpu(c, claim);
}
