#include "controller/admission/usb_claim.h"

#include "api/pcideviceclaim.h"
#include "api/usbdeviceclaim.h"
#include "controller/admission/claim_owner.h"
#include "controller/admission/claimable_rule.h"
#include "controller/admission/device.h"
#include "controller/admission/known.h"
#include "controller/admission/rule.h"
#include "controller/webhook/admission_review.h"

static bool refuse_missing(const struct rule_case *c)
{
	return rule_refuse(
		c, RULE_INVALID,
		"there is no USBDevice of this name: a claim has the name of its device, "
		"which changes when that is plugged in anew; see kubectl get usbdevices");
}

/* A claim of the controller, or one that takes the controller's whole group. */
static const struct pcideviceclaim *controller_claim(const struct rule_case *c,
						     const struct device *device)
{
	const char *node = device_text(device, DEVICE_NODE);
	const struct device *controller =
		known_pci_at(c->known, node, device_text(device, DEVICE_ADDRESS));
	const struct pcideviceclaim *claim =
		known_pciclaim_at(c->known, node, device_text(device, DEVICE_ADDRESS));

	if (claim || !controller)
		return claim;
	for (size_t i = 0; i < controller->members; i++) {
		claim = known_pciclaim_at(c->known, node, device_member(controller, i));
		if (claim && claim->spec.include_iommu_group)
			return claim;
	}
	return NULL;
}

static bool is_controller_claimed(const struct rule_case *c, const struct device *device)
{
	const struct pcideviceclaim *claim = controller_claim(c, device);

	if (!claim)
		return false;
	return rule_refuse(
		c, RULE_CONFLICT,
		"PCIDeviceClaim '%s' lends %s, the USB controller that it hangs on: delete "
		"that claim first",
		claim->meta.name, device_text(device, DEVICE_ADDRESS));
}

/* A claim is for what is in a socket, under whatever name. */
static bool is_socket_claimed(const struct rule_case *c, const char *name,
			      const struct device *device)
{
	const struct usbdeviceclaim *other;
	size_t cursor = 0;

	while ((other = known_next(c->known, KNOWN_USBCLAIM, &cursor))) {
		if (known_same(other->meta.name, name) || known_empty(other->status.port_path) ||
		    !known_same(other->status.port_path, device_text(device, DEVICE_PORT)) ||
		    !known_same(other->status.node_name, device_text(device, DEVICE_NODE)))
			continue;
		return rule_refuse(
			c, RULE_CONFLICT,
			"USBDeviceClaim '%s' is for the device in socket %s, which is this "
			"one: use that claim, or delete it first",
			other->meta.name, device_text(device, DEVICE_PORT));
	}
	return false;
}

void usb_claim_create(const struct rule_case *c)
{
	const struct usbdeviceclaim *claim = c->object;
	const struct device *device = known_usbdevice(c->known, claim->meta.name);

	if (!device) {
		refuse_missing(c);
		return;
	}
	if (claim_owner_refused(c, KNOWN_USBDEVICE, &claim->meta) ||
	    claimable_rule(c, &claim->meta, device) || is_controller_claimed(c, device) ||
	    is_socket_claimed(c, claim->meta.name, device))
		return;
	if (c->request->dry_run && !known_empty(device_text(device, DEVICE_RESOURCE)))
		rule_warn(c, "lend the device in socket %s as %s",
			  device_text(device, DEVICE_PORT) ? device_text(device, DEVICE_PORT) : "?",
			  device_text(device, DEVICE_RESOURCE));
}

void usb_claim_delete(const struct rule_case *c)
{
	const struct usbdeviceclaim *claim = c->old;
	const struct device *device = known_usbdevice(c->known, claim->meta.name);
	const char *node = claim->status.node_name;

	if (known_empty(node) && device)
		node = device_text(device, DEVICE_NODE);
	claim_deletion(c, &claim->meta, node);
}
