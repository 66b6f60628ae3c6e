#include "agent/usb/usb_names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/usb/usb_identity.h"
#include "api/names.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "kube/store.h"

enum {
	IDS = 10,       /* "0951-1666-" */
	NUMBER_MIN = 6, /* bus and device, three digits each */
	NUMBER_MAX = 9,
	DEVICE_DIGITS = 3,
};

/* The name from bus and device number. */
static char *plain_name(const struct inventory *inventory, const char *node_name,
			const struct usbdevice *device)
{
	const struct facts *facts = inventory->facts;
	uint64_t vendor = 0;
	uint64_t product = 0;

	for (size_t i = 0; i < facts->usb.len; i++) {
		const struct usb_facts *usb = &facts->usb.items[i];

		if (!str_match(usb->port, device->status.port_path))
			continue;
		(void)str_to_hex(usb->vendor, &vendor);
		(void)str_to_hex(usb->product, &product);
		return names_usbdevice(node_name, (uint16_t)vendor, (uint16_t)product,
				       usb->bus > 0 ? (unsigned)usb->bus : 0,
				       usb->device > 0 ? (unsigned)usb->device : 0);
	}
	return xstrdup(device->meta.name);
}

/* Does a claim with a known device have @name? Then no other device gets it. */
static bool is_taken(const struct store *claims, const char *node_name, const char *name)
{
	const struct usbdeviceclaim *claim = store_object(claims, name);

	return claim && claim->status.port_path && str_match(claim->status.node_name, node_name);
}

static char *name_of(const struct inventory *inventory, const struct store *claims,
		     const char *node_name, const struct usbdevice *device)
{
	const struct usbdeviceclaim *claim = usb_identity_claim(claims, node_name, device, NULL);
	auto_free char *plain = NULL;
	char *other;

	if (claim)
		return xstrdup(claim->meta.name);
	plain = plain_name(inventory, node_name, device);
	if (!is_taken(claims, node_name, plain))
		return take_ptr(plain);
	other = xasprintf("%s-%s", plain, device->status.port_path);
	if (names_valid_object(other))
		return other;
	free(other);
	return take_ptr(plain);
}

bool usb_names_apply(struct inventory *inventory, const struct store *claims, const char *node_name)
{
	const struct inventory_set *set = &inventory->sets[INVENTORY_USB];
	char **names = xcalloc(set->len + 1, sizeof(*names));
	bool changed;

	for (size_t i = 0; i < set->len; i++)
		names[i] = name_of(inventory, claims, node_name, set->objects[i]);
	changed = inventory_name_usb(inventory, names);
	for (size_t i = 0; i < set->len; i++)
		free(names[i]);
	free(names);
	return changed;
}

static bool is_plain(const char *node_name, const char *name)
{
	const char *dash = strrchr(name, '-');
	const char *number = dash ? dash + 1 : name;
	size_t len = strlen(number);
	auto_free char *vendor = NULL;
	auto_free char *product = NULL;
	auto_free char *bus = NULL;
	auto_free char *again = NULL;
	uint64_t ids[2];
	uint64_t place[2];

	if (number - name < IDS || len < NUMBER_MIN || len > NUMBER_MAX)
		return false;
	vendor = xstrndup(number - IDS, 4);
	product = xstrndup(number - IDS / 2, 4);
	bus = xstrndup(number, len - DEVICE_DIGITS);
	if (!str_to_hex(vendor, &ids[0]) || !str_to_hex(product, &ids[1]) ||
	    !str_to_u64(bus, &place[0]) || !str_to_u64(number + len - DEVICE_DIGITS, &place[1]))
		return false;
	again = names_usbdevice(node_name, (uint16_t)ids[0], (uint16_t)ids[1], (unsigned)place[0],
				(unsigned)place[1]);
	return strcmp(again, name) == 0;
}

bool usb_names_of_node(const char *node_name, const char *name)
{
	auto_free char *copy = xstrdup(name);

	if (is_plain(node_name, copy))
		return true;
	for (int i = 0; i < 2; i++) { /* "-1-2.3" */
		char *dash = strrchr(copy, '-');

		if (!dash)
			return false;
		*dash = '\0';
	}
	return is_plain(node_name, copy);
}
