/*
 * usb_units: what the selectors of a HostDeviceConfig make of the USB devices of a node.
 *
 * One selector: each device that matches is a unit. Several: a bundle, whose units have one device for
 * each. Entries take in their order, and each device once. A unit's ID is its sockets, joined by ','.
 * Pure: the same devices give the same units, also after a restart; a unit that there was stays as it
 * is while its sockets have devices that match, or are empty and had such, so that plugging in makes no
 * other of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;
struct config_usb;
struct facts;
struct usbdevice;

/* A device that there is. */
struct usb_candidate {
	const struct usbdevice *device;
	bool usable;    /* may be taken into a unit; one that is in a unit stays, usable or not */
	bool taken;     /* claimed, or in a unit already */
	const char *by; /* whose it is then: a claim's name or a resource; NULL: not known */
};

struct usb_candidates {
	struct usb_candidate *items;
	size_t len, cap;
	const struct facts
		*facts; /* of the node, for hubs, which are no candidates; NULL: not known */
};

/* What the device in a socket of a unit is, or was before it was unplugged. */
struct usb_member {
	uint16_t vendor, product;
	char *serial; /* its own; NULL: none */
};

struct usb_unit {
	char *resource;
	char *id;
	const struct usbdevice **devices; /* in the order of the selectors; NULL: not there */
	struct usb_member *members;       /* likewise, of all sockets */
	size_t len;
};

struct usb_units {
	struct usb_unit *items;
	size_t len, cap;
};

/* In: the units that there were (resources, IDs and members count); out: what there are now. @candidates are
 * put into the order of their sockets, marked as taken, and outlive the units. */
void usb_units_make(const struct config *config, struct usb_candidates *candidates,
		    struct usb_units *units);
/*
 * Why the HostDeviceConfig's entry @entry has no unit on this node, after usb_units_make() with these; for
 * people, the caller frees. NULL: it has one, or units are another plugin's business. *@ret_reason is one of
 * config.h's.
 */
char *usb_units_unmet(const struct config_usb *entry, const struct usb_candidates *candidates,
		      const struct usb_units *units, const char **ret_reason);

/* Release; there are none then. */
void usb_units_done(struct usb_units *units);
