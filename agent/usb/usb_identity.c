#include "agent/usb/usb_identity.h"

#include <stddef.h>
#include <string.h>

#include "agent/inventory/inventory.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "kube/store.h"

static bool same(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Is it the device that the claim is for, wherever it is? */
static bool is_identity(const struct usbdeviceclaim *claim, const struct usbdevice *device)
{
	return same(claim->status.vendor_id, device->status.vendor_id) &&
	       same(claim->status.product_id, device->status.product_id) &&
	       same(claim->status.serial_number, device->status.serial_number);
}

const struct usbdevice *usb_identity_in(const struct inventory *inventory, const char *port_path)
{
	const struct inventory_set *set = &inventory->sets[INVENTORY_USB];

	for (size_t i = 0; i < set->len; i++) {
		const struct usbdevice *device = set->objects[i];

		if (same(device->status.port_path, port_path))
			return device;
	}
	return NULL;
}

/* The claim that has the device comes before those that wait for it. */
static bool comes_before(const struct usbdeviceclaim *a, const struct usbdeviceclaim *b)
{
	if (usbdeviceclaim_waits(a) != usbdeviceclaim_waits(b))
		return usbdeviceclaim_waits(b);
	return strcmp(a->meta.name, b->meta.name) < 0;
}

const struct usbdeviceclaim *usb_identity_claim(const struct store *claims, const char *node_name,
						const struct usbdevice *device, const char *except)
{
	const struct usbdeviceclaim *found = NULL;
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(claims, &cursor))) {
		const struct usbdeviceclaim *claim = entry->object;

		if (claim && claim->status.port_path && !same(claim->meta.name, except) &&
		    same(claim->status.node_name, node_name) &&
		    same(claim->status.port_path, device->status.port_path) &&
		    is_identity(claim, device) && (!found || comes_before(claim, found)))
			found = claim;
	}
	return found;
}

/* The ports on the way, without the number of the bus: "-2.3". */
static const char *ports_of(const char *port_path)
{
	const char *dash = port_path ? strchr(port_path, '-') : NULL;

	return dash ? dash : "";
}

static bool has(const char *text)
{
	return text && *text;
}

static bool can_be(const struct usbdeviceclaim *claim, const struct usbdevice *device)
{
	if (!is_identity(claim, device) || !has(claim->status.vendor_id))
		return false;
	if (has(claim->status.serial_number))
		return true;
	return has(claim->status.pci_address) &&
	       same(claim->status.pci_address, device->status.pci_address) &&
	       same(ports_of(claim->status.port_path), ports_of(device->status.port_path));
}

static struct usb_sighting find_elsewhere(const struct usbdeviceclaim *claim,
					  const struct inventory *inventory,
					  const struct store *claims)
{
	const struct inventory_set *set = &inventory->sets[INVENTORY_USB];
	struct usb_sighting found = { .sight = USB_GONE };

	for (size_t i = 0; i < set->len; i++) {
		const struct usbdevice *device = set->objects[i];

		if (!can_be(claim, device) ||
		    usb_identity_claim(claims, claim->status.node_name, device, claim->meta.name))
			continue;
		if (found.device)
			return (struct usb_sighting){ .sight = USB_GONE, .ambiguous = true };
		found = (struct usb_sighting){ .sight = USB_MOVED, .device = device };
	}
	return found;
}

struct usb_sighting usb_identity_find(const struct usbdeviceclaim *claim,
				      const struct inventory *inventory, const struct store *claims)
{
	const struct usbdevice *device;

	if (!claim->status.port_path)
		return (struct usb_sighting){ .sight = USB_UNKNOWN };
	device = usb_identity_in(inventory, claim->status.port_path);
	if (!device)
		return find_elsewhere(claim, inventory, claims);
	return (struct usb_sighting){
		.sight = is_identity(claim, device) ? USB_HERE : USB_DIFFERENT,
		.device = device,
	};
}
