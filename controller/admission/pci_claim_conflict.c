#include "controller/admission/pci_claim_conflict.h"

#include "api/names.h"
#include "api/pcideviceclaim.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "base/mem.h"
#include "controller/admission/device.h"
#include "controller/admission/known.h"
#include "controller/admission/rule.h"

static bool is_at(const struct device *device, const char *node, const char *address)
{
	return !known_empty(address) && known_same(device_text(device, DEVICE_ADDRESS), address) &&
	       known_same(device_text(device, DEVICE_NODE), node);
}

/* Will the claim take the function at @address of @node away from its driver? */
static bool takes(const struct pcideviceclaim *claim, const struct device *device, const char *node,
		  const char *address)
{
	if (is_at(device, node, address))
		return true;
	return claim->spec.include_iommu_group && !known_empty(address) &&
	       known_same(device_text(device, DEVICE_NODE), node) &&
	       device_has_member(device, address);
}

/* A USB controller that is lent takes its devices along. */
static bool has_usb_claim(const struct rule_case *c, const struct pcideviceclaim *claim,
			  const struct device *device)
{
	const struct usbdeviceclaim *other;
	size_t cursor = 0;

	while ((other = known_next(c->known, KNOWN_USBCLAIM, &cursor))) {
		const struct device *usb = known_usbdevice(c->known, other->meta.name);
		const char *node = usb ? device_text(usb, DEVICE_NODE) : other->status.node_name;
		const char *address =
			usb ? device_text(usb, DEVICE_ADDRESS) : other->status.pci_address;

		if (takes(claim, device, node, address))
			return rule_refuse(c, RULE_CONFLICT,
					   "USBDeviceClaim '%s' lends a device behind the USB "
					   "controller %s: delete that claim first",
					   other->meta.name, address);
	}
	return false;
}

static bool is_vf_of(const struct device *vf, const struct device *pf)
{
	return is_at(pf, device_text(vf, DEVICE_NODE), device_text(vf, DEVICE_PARENT));
}

static bool has_claimed_vf(const struct rule_case *c, const struct device *device)
{
	const struct pcideviceclaim *other;
	size_t cursor = 0;

	while ((other = known_next(c->known, KNOWN_PCICLAIM, &cursor))) {
		const struct device *vf = known_pcidevice(c->known, other->meta.name);

		if (vf && is_vf_of(vf, device))
			return rule_refuse(c, RULE_CONFLICT,
					   "PCIDeviceClaim '%s' has %s, a virtual function of this "
					   "device: delete that claim first",
					   other->meta.name, device_text(vf, DEVICE_ADDRESS));
	}
	return false;
}

static bool has_claimed_pf(const struct rule_case *c, const struct device *device)
{
	const struct pcideviceclaim *other = known_pciclaim_at(
		c->known, device_text(device, DEVICE_NODE), device_text(device, DEVICE_PARENT));

	if (!other)
		return false;
	return rule_refuse(
		c, RULE_CONFLICT,
		"PCIDeviceClaim '%s' has %s, of which this is a virtual function: delete "
		"that claim first",
		other->meta.name, device_text(device, DEVICE_PARENT));
}

/* A number that nobody asked for follows what there is, which Claimable tells. */
static bool is_divided_card(const struct rule_case *c, const struct device *device)
{
	const struct sriovnetworkdevice *nic;
	size_t cursor = 0;

	while ((nic = known_next(c->known, KNOWN_NIC, &cursor))) {
		if (nic->spec.num_vfs <= 0 ||
		    !is_at(device, nic->spec.node_name, nic->spec.address))
			continue;
		return rule_refuse(
			c, RULE_CONFLICT,
			"SRIOVNetworkDevice '%s' divides it into %d virtual functions: set "
			"spec.numVFs of that to 0 first, or claim a virtual function",
			nic->meta.name, nic->spec.num_vfs);
	}
	return false;
}

static bool is_divided_gpu(const struct rule_case *c, const char *name, const struct device *device)
{
	const struct sriovgpudevice *gpu = known_gpu(c->known, name);
	const struct vgpudevice *vgpu;
	size_t cursor = 0;

	if (gpu && gpu->spec.enabled)
		return rule_refuse(
			c, RULE_CONFLICT,
			"SRIOVGPUDevice '%s' divides it: set spec.enabled of that to false "
			"first",
			gpu->meta.name);
	while ((vgpu = known_next(c->known, KNOWN_VGPU, &cursor))) {
		if (vgpu->spec.enabled &&
		    is_at(device, vgpu->spec.node_name, vgpu->spec.parent_address))
			return rule_refuse(c, RULE_CONFLICT,
					   "VGPUDevice '%s' is a part of it: set spec.enabled of "
					   "that to false first",
					   vgpu->meta.name);
	}
	return false;
}

/* Who makes the vGPU claims it with the annotation that keeps it on its driver. */
static bool is_vgpu(const struct rule_case *c, const struct pcideviceclaim *claim)
{
	const struct vgpudevice *vgpu = known_vgpu(c->known, claim->meta.name);

	if (!vgpu || !vgpu->spec.enabled ||
	    api_meta_annotation(&claim->meta, NAMES_ANNOTATION_SKIP_VFIO))
		return false;
	return rule_refuse(c, RULE_CONFLICT,
			   "VGPUDevice '%s' is enabled, and its claim is made by itself: set "
			   "spec.enabled of that to false first",
			   vgpu->meta.name);
}

bool pci_claim_conflict(const struct rule_case *c, const struct pcideviceclaim *claim,
			const struct device *device)
{
	return has_usb_claim(c, claim, device) || has_claimed_vf(c, device) ||
	       has_claimed_pf(c, device) || is_divided_card(c, device) ||
	       is_divided_gpu(c, claim->meta.name, device) || is_vgpu(c, claim);
}
