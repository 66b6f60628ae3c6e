/*
 * bind_state: what a function and its IOMMU group are at this moment.
 *
 * Reads driver_override, which waits for the device's lock: only the helper of a transition does
 * so, and only with the group's lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/helper/sys/pci_serial.h"

struct err;

enum {
	BIND_NAME_SIZE =
		80, /* of a driver; what is longer is cut, and no driver of ours is so long */
	BIND_ID_SIZE = 10, /* "8086:10d3" */
};

/* "" where there is none. */
struct bind_state {
	bool present;
	int group; /* -1: none */
	char id[BIND_ID_SIZE];
	char driver[BIND_NAME_SIZE];
	char override[BIND_NAME_SIZE];
	bool no_autoprobe; /* a virtual function that only the driver of its override binds */
};

/* Look at the function @address. A function that is absent or just disappears is !present and no
 * error. A function with an attribute that cannot be read is an error. */
int bind_state_read(int sysfs_fd, const char *address, struct bind_state *ret_seen,
		    struct err *err);

/* The serial of the device that @address is a function of; "" if it cannot be had without waking
 * the device. */
void bind_read_serial(int sysfs_fd, const char *address, char ret_serial[PCI_SERIAL_SIZE]);

/* A device of an IOMMU group. */
struct bind_member {
	char name[BIND_NAME_SIZE]; /* of a PCI function: its address */
	char driver[BIND_NAME_SIZE];
	bool port; /* a bridge: the kernel lets its driver stay     */
	bool vfio; /* its driver passes it to user space */
};

struct bind_members {
	struct bind_member *items;
	size_t len;
	size_t cap;
};

/* List the devices of the group @group. */
int bind_members_read(int sysfs_fd, int group, struct bind_members *ret_members, struct err *err);
void bind_members_done(struct bind_members *members);

/* Would the kernel refuse to pass the group to user space because of this member? */
bool bind_member_blocks(const struct bind_member *member);

/* Does @driver, which has the function @address, do nothing but hand it to programs? Only VFIO and
 * UIO drivers and pci-stub do: whatever other driver has a function uses it for the host. */
bool bind_driver_is_for_programs(int sysfs_fd, const char *address, const char *driver);

/* Is there a device node through which user space can open the function @address of @group? */
bool bind_has_node(int sysfs_fd, int dev_fd, int group, const char *address);

/*
 * Does the kernel show that no process has @group or a function of it open? It lets one process at
 * a time open the group's node, and none while a function is open. False: in use, or not known.
 */
bool bind_group_is_free(int dev_fd, int group);

#define auto_members __attribute__((cleanup(bind_members_done)))
