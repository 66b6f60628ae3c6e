/*
 * uevent: what a kernel uevent says, from the bytes of one netlink message.
 *
 * Pure; the socket is uevent_socket's. Uevents are hints that something changed, never facts:
 * messages get lost, and a scan follows each of them, so only enough is parsed to tell which kind.
 */
#pragma once

#include <stddef.h>

struct err;

/* How soon the inventory should look again. */
enum uevent_hint {
	UEVENT_IGNORE, /* says nothing about a device we list                               */
	UEVENT_LAZY,   /* may change who uses a device (block, net): look when things calm  */
	UEVENT_DEVICE, /* a PCI, USB or mediated device came, went or changed its driver: look at once */
};

/* Values are borrowed from the message; "" where it has none. */
struct uevent {
	const char *action;    /* "add", "remove", "bind", "unbind", "change", "move"  */
	const char *subsystem; /* "pci", "usb", "net", ...                            */
	const char *devpath;   /* below /sys                                          */
	/* "registered", "unregistered": the device, of whatever subsystem, can be divided into mediated
	 * devices now, or no longer (mdev_register_parent() in drivers/vfio/mdev/mdev_core.c) */
	const char *mdev_state;
};

/*
 * Parse "ACTION@DEVPATH\0KEY=VALUE\0..." (lib/kobject_uevent.c). @data need not be terminated; it is
 * changed: the last byte of an unterminated value becomes the terminator of the text before it.
 * ERR_INVALID for anything that is no kernel uevent, udev's own messages ("libudev\0") included.
 */
int uevent_parse(char *data, size_t len, struct uevent *ret_event, struct err *err);

enum uevent_hint uevent_classify(const struct uevent *event);
