/*
 * usb: the USB devices of one node: their claims, names and offers.
 *
 * Owns usb_claims and usb_type, and ties them to offers.
 */
#pragma once

#include <stdbool.h>

struct config;
struct config_troubles;
struct inventory;
struct offers;
struct pcidevice_allocations;
struct this_node;
struct usb;
struct usb_selected;

/* Borrowed. All of it outlives the usb, except @offers, which is freed first. */
struct usb_deps {
	struct offers *offers;
	/* All that this node cannot carry out of the HostDeviceConfig's USB entries, once its
	 * devices and claims are known. May be NULL. */
	void (*report)(void *arg, const struct config_troubles *troubles);
	/* usb_selected() has another answer about a device. May be NULL. */
	void (*selected)(void *arg);
	/* USBDevices of the inventory have other names now. May be NULL. */
	void (*renamed)(void *arg);
	void *arg;
};

/* Adds itself to offers. @node and what @deps names are borrowed. */
struct usb *usb_new(const struct this_node *node, const struct usb_deps *deps);
/* Takes NULL, returns NULL. */
struct usb *usb_free(struct usb *usb);

/* @inventory is the node's new inventory: name its USBDevices before others read them, and note
 * which are in use. Names change later if claims change, so @inventory is borrowed until the next
 * call or the end. Call usb_enqueue_all() afterwards. */
void usb_name_devices(struct usb *usb, struct inventory *inventory);

/* The current HostDeviceConfig; borrowed until the next call or the end, may be NULL. Call
 * offers_update_soon() afterwards. */
void usb_set_config(struct usb *usb, const struct config *config);

/* The claim @name, or the USBDevice of that name, changed in the API: enqueue the claim. Devices
 * may be renamed. */
void usb_enqueue(struct usb *usb, const char *name);

/* Anything else that claims depend on changed, such as a list, an allocation, or the Node's
 * allocatable: enqueue every claim. */
void usb_enqueue_all(struct usb *usb);

/* The USBDeviceClaims are listed: devices get the names that claims keep. */
void usb_rename(struct usb *usb);

/* Has no pod the device in socket @port? As offers_is_free(); not known before what is selected and
 * claimed has been offered. */
bool usb_is_free(struct usb *usb, const char *port, char **ret_holder);

/* Who has the USBDevice @name; NULL: not known. */
const struct pcidevice_allocations *usb_allocations(const struct usb *usb, const char *name);

/* Does the HostDeviceConfig offer the USBDevice @name? *@ret_selected: how (usb_type.h), valid
 * until the next offer; NULL: it does not. False: that is not known yet. `selected` is called when
 * the answer changes. */
bool usb_selected(const struct usb *usb, const char *name,
		  const struct usb_selected **ret_selected);
