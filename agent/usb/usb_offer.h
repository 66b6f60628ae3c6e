/* usb_offer: which USB devices are offered under which resource, and whether they are healthy.
 * Pure, except that it reads the device nodes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct config_troubles;
struct usb_bundles;
struct usb_view;
struct usbdevice;

/* One device of the kubelet's. Texts are its own, but for the ID. */
struct usb_offer {
	const char *id;
	char *resource;
	bool claimed;                     /* else by the HostDeviceConfig */
	bool dra;                         /* by DRA, not to the kubelet; claimed */
	char *trouble;                    /* NULL: it is healthy                                  */
	const struct usbdevice **devices; /* of the inventory; one that is not there is left out */
	size_t len;
};

struct usb_offers {
	struct usb_offer *items;
	size_t len, cap;
};

/* All of them, by resource and ID. @bundles is brought up to date, and lives as long as @ret_lents.
 * Entries of the config that have no bundle are added to @troubles (may be NULL). */
void usb_offers_find(const struct usb_view *view, struct usb_bundles *bundles,
		     struct usb_offers *ret_offers, struct config_troubles *troubles);
/* Is the device's node not QEMU's, and can this agent not make it so? */
bool usb_offer_is_out_of_reach(const struct usb_view *view, const struct usbdevice *device);

void usb_offers_done(struct usb_offers *offers);
