/*
 * devpath: reads PCI functions and USB devices out of a path of the kernel's device tree, such as
 * "../../devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2.3/1-2.3:1.0/host6/.../block/sdb".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PCI_ADDRESS_SIZE = 17, /* "10000000:00:1f.7" and the terminator */
	USB_NAME_SIZE = 40,    /* bus, six hubs and a port */
};

/* The devices nearest to the end of a path; "" where there is none. */
struct devpath {
	char pci[PCI_ADDRESS_SIZE];
	char usb[USB_NAME_SIZE];
};

struct devpaths {
	struct devpath *items;
	size_t len;
	size_t cap;
};

/* Is this "dddd:bb:dd.f" (four to eight digits of domain), in the kernel's lower case? */
bool pci_address_valid(const char *name, size_t len);

/* A number that sorts as the address does; @address is valid. */
uint64_t pci_address_key(const char *address);

/* Is this a USB device's port name, "bus-port.port..."? Interfaces and root hubs are not. */
bool usb_name_valid(const char *name, size_t len);

/* Take the next component off *@path; false at the end. */
bool devpath_next(const char **path, const char **ret_part, size_t *ret_len);

void devpath_parse(const char *path, struct devpath *ret_devpath);

/* Is there a device at all? */
bool devpath_found(const struct devpath *devpath);

/* The devices in the target of the link @path below @dir_fd. False, with *@ret_devpath unchanged:
 * it is not a link that can be read, or there is no device in it. */
bool devpath_of_link(int dir_fd, const char *path, struct devpath *ret_devpath);
