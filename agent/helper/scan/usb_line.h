/* usb_line: one USB device as a value, and as a line of the report. */
#pragma once

#include <stddef.h>

#include "agent/helper/sys/devpath.h"

struct str;

/* Numbers are -1 and texts NULL where they are not known. */
struct usb_interface {
	int type[3]; /* class, subclass, protocol */
	char *driver;
};

struct usb_interfaces {
	struct usb_interface *items;
	size_t len;
	size_t cap;
};

struct usb_device {
	char name[USB_NAME_SIZE];
	char pci_address[PCI_ADDRESS_SIZE]; /* of its controller */
	int ids[3];                         /* vendor, product, release */
	int type[3];                        /* class, subclass, protocol */
	int bus;
	int number;
	int speed;
	char *manufacturer;
	char *product;
	char *serial;
	struct usb_interfaces interfaces;
};

/* @name is a valid port name. */
void usb_device_init(struct usb_device *device, const char *name);
void usb_device_done(struct usb_device *device);
void usb_device_write(const struct usb_device *device, struct str *lines);
