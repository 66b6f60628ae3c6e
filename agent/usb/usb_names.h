/*
 * usb_names: the names of a node's USBDevices, with those of claimed devices kept.
 *
 * A USBDevice is named after bus and device number, as Harvester does it. A claim has the name of
 * its device; so that both stay together, the device has the name of its claim for as long as there
 * is one. Another device that would have that name gets the number of its socket added. Pure.
 */
#pragma once

#include <stdbool.h>

struct inventory;
struct store;

/* Give the USBDevices of @inventory the names that they have with these claims (of all nodes). True
 * if any has another name now. */
bool usb_names_apply(struct inventory *inventory, const struct store *claims,
		     const char *node_name);

/* Is @name one that a USB device of this node can have? */
bool usb_names_of_node(const char *node_name, const char *name);
