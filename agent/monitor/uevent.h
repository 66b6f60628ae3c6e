/*
 * uevent: the kernel's uevents on the loop, and what one says, from the bytes of one netlink
 * message.
 *
 * Uevents are hints that something changed, never facts:
 * messages get lost, and a scan follows each of them, so only enough is parsed to tell which kind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct uevent_socket;
struct uv_loop_s;

/* How soon a scan should follow. */
enum uevent_hint {
	UEVENT_IGNORE, /* says nothing about a device we list                               */
	UEVENT_LAZY, /* may change who uses a device (block, net of hardware): after a quiet time */
	/* a PCI, USB or mediated device appeared, disappeared or changed its driver: scan at
	 * once */
	UEVENT_DEVICE,
};

/* Values are borrowed from the message; "" where it has none. */
struct uevent {
	const char *action;    /* "add", "remove", "bind", "unbind", "change", "move"  */
	const char *subsystem; /* "pci", "usb", "net", ...                            */
	const char *devpath;   /* below /sys                                          */
	/* "registered", "unregistered": the device, of whatever subsystem, can be divided into
	 * mediated devices now, or no longer (mdev_register_parent() in
	 * drivers/vfio/mdev/mdev_core.c) */
	const char *mdev_state;
};

/*
 * Parse "ACTION@DEVPATH\0KEY=VALUE\0..." (lib/kobject_uevent.c). @data need not be terminated; it
 * is changed: the last byte of an unterminated value becomes the terminator of the text before it.
 * ERR_INVALID for anything that is no kernel uevent, udev's own messages ("libudev\0") included.
 */
int uevent_parse(char *data, size_t len, struct uevent *ret_event, struct err *err);

enum uevent_hint uevent_classify(const struct uevent *event);

/*
 * The socket: one of NETLINK_KOBJECT_UEVENT. Messages that do not come from the kernel are dropped.
 */

/* A hint; @lost says that messages were lost (ENOBUFS) and everything may have changed. Never runs
 * before uevent_socket_new() has returned. */
typedef void uevent_socket_fn(void *arg, enum uevent_hint hint, bool lost);

/* Listen. Errors: -EPERM and the other errnos of socket and bind; the caller goes on with its
 * periodic scan then. The receive buffer is made large where the process may (8 MiB with
 * CAP_NET_ADMIN; the default holds 166 messages). */
int uevent_socket_new(struct uv_loop_s *loop, uevent_socket_fn *fn, void *arg,
		      struct uevent_socket **ret_socket, struct err *err);

/* Takes NULL, returns NULL; the memory goes when the loop has run the close callback. */
struct uevent_socket *uevent_socket_free(struct uevent_socket *s);
