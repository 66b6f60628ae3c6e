/*
 * usb_identity: which USB device a claim is for, also after the kernel has enumerated it again.
 *
 * A device is identified by its port path, its ids and its serial number. The claim's status keeps
 * them, also while the claim is refused and waits. Bus and device number do not identify it: the
 * kernel assigns a new device number each time. Pure.
 *
 * A device that was moved to another port still belongs to the claim if no other device can be it:
 * it has the serial number, or, without one, it is below the same ports of the same controller
 * (whose bus number may change at a reboot).
 */
#pragma once

#include <stdbool.h>

struct inventory;
struct store;
struct usbdevice;
struct usbdeviceclaim;

enum usb_sight {
	USB_UNKNOWN,   /* the claim's status does not identify a device yet */
	USB_HERE,      /* it is in its socket                               */
	USB_MOVED,     /* it is in another socket                           */
	USB_GONE,      /* its socket is empty                               */
	USB_DIFFERENT, /* another device is in its socket                   */
};

struct usb_sighting {
	enum usb_sight sight;
	const struct usbdevice *device; /* HERE, MOVED: it; DIFFERENT: the other one; else NULL */
	bool ambiguous;                 /* GONE: several others could be it                     */
};

/* Find the device of @claim. @claims: USBDeviceClaims of all nodes; devices of other claims are
 * skipped. The device belongs to the inventory. */
struct usb_sighting usb_identity_find(const struct usbdeviceclaim *claim,
				      const struct inventory *inventory,
				      const struct store *claims);

/* The other claim that is for this very device in this very socket: the one that has it, else the
 * first by name of those that wait for it; NULL: none. */
const struct usbdeviceclaim *usb_identity_claim(const struct store *claims, const char *node_name,
						const struct usbdevice *device, const char *except);

/* The device in this socket, NULL if there is none. */
const struct usbdevice *usb_identity_in(const struct inventory *inventory, const char *port_path);
