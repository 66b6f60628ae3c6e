/*
 * usb_bundles: which USB devices of a node the selectors of a HostDeviceConfig hand out together.
 *
 * With one selector, each device that matches is a bundle. With several, a bundle has one device
 * for each of them. Entries take devices in their order, and a device is in one bundle only. A
 * bundle's ID is the port paths of its devices, joined by ','.
 *
 * Pure: the same devices give the same bundles, also after a restart. An existing bundle stays as
 * it is while each of its ports has a device that matches, or is empty and had such a device. So
 * plugging a device in does not change it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;
struct config_usb;
struct facts;
struct usbdevice;

/* A device that is present. */
struct usb_candidate {
	const struct usbdevice *device;
	bool usable; /* may be added to a bundle; a device in a bundle stays there, usable or not */
	bool taken;  /* claimed, or in a bundle already */
	const char *by; /* by what it is taken: a claim's name or a resource; NULL: not known */
};

struct usb_candidates {
	struct usb_candidate *items;
	size_t len, cap;
	/* Of the node, for hubs, which are no candidates; NULL: not known */
	const struct facts *facts;
};

/* The device in a port of a bundle, or the one that was unplugged from it. */
struct usb_member {
	uint16_t vendor, product;
	char *serial; /* its own; NULL: none */
};

struct usb_bundle {
	char *resource;
	char *id;
	const struct usbdevice **devices; /* in the order of the selectors; NULL: not there */
	struct usb_member *members;       /* of all ports */
	size_t len;
};

struct usb_bundles {
	struct usb_bundle *items;
	size_t len, cap;
};

/* Replace the earlier @bundles (their resources, IDs and members are used) by those of now. Sorts
 * @candidates by port and marks those in bundles as taken. @candidates must outlive the bundles. */
void usb_bundles_make(const struct config *config, struct usb_candidates *candidates,
		      struct usb_bundles *bundles);
/*
 * Explain why @entry of the HostDeviceConfig has no bundle on this node. Call it after
 * usb_bundles_make() with the same arguments. The caller frees the text. NULL: it has a bundle, or
 * nothing is to be offered by it without a claim. *@ret_reason is one of config.h's.
 */
char *usb_bundles_unmet(const struct config_usb *entry, const struct usb_candidates *candidates,
			const struct usb_bundles *bundles, const char **ret_reason);

/* Does the config offer @device by DRA once it is claimed? The first entry that selects the device
 * decides. */
bool usb_bundles_for_dra(const struct config *config, const struct usbdevice *device);

/* Free the bundles and leave an empty list. */
void usb_bundles_done(struct usb_bundles *bundles);
