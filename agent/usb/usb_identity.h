/*
 * usb_identity: which USB device a claim is for, also after the kernel has enumerated it again.
 *
 * A device is known by its socket (port path), ids and serial number, which the claim's status
 * keeps, also while the claim is refused and waits. Bus and device number say nothing: the kernel
 * gives another one each time. Pure.
 *
 * A device that left its socket empty and is in another one is still the claim's, if it is the only
 * one that it can be: by its serial number or, without one, because it hangs on the same ports of
 * the same controller (whose bus has another number after a reboot).
 */
#pragma once

#include <stdbool.h>

struct inventory;
struct store;
struct usbdevice;
struct usbdeviceclaim;

enum usb_sight {
	USB_UNKNOWN,   /* the claim does not say yet which device it is for */
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

/* @claims: USBDeviceClaims of all nodes; what another claim has is not looked at. The device is the
 * inventory's. */
struct usb_sighting usb_identity_find(const struct usbdeviceclaim *claim,
				      const struct inventory *inventory,
				      const struct store *claims);

/* Is it the device that the claim is for, wherever it is? */
bool usb_identity_is(const struct usbdeviceclaim *claim, const struct usbdevice *device);

/* The other claim that is for this very device in this very socket: the one that has it, else the
 * first by name of those that wait for it; NULL: none. */
const struct usbdeviceclaim *usb_identity_claim(const struct store *claims, const char *node_name,
						const struct usbdevice *device, const char *except);

/* The device in this socket, NULL if there is none. */
const struct usbdevice *usb_identity_in(const struct inventory *inventory, const char *port_path);
