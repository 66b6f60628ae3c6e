/*
 * usb_names: the names of a node's USBDevices, where claimed devices keep theirs.
 *
 * A USBDevice is named after bus and device number, as in Harvester. A claim has the name of its
 * device. So that both stay together, the device keeps its claim's name while the claim exists.
 * Another device with that name gets its port path appended. Pure.
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
