/*
 * mdev: one mediated device (an instance that a driver made of a part of its device) as sysfs shows
 * it, and the names that belong to it. Changes nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/helper/sys/devpath.h"

struct err;

enum {
	MDEV_NAME_SIZE = 256,      /* of a parent or of a type's id, as a name in sysfs may be */
	MDEV_TYPES_MAX = 256,      /* of one parent; more are not shown                        */
	MDEV_INSTANCES_MAX = 4096, /* of one node; more are not shown                          */
};

#define MDEV_DEVICES "bus/mdev/devices"
#define MDEV_PARENTS "class/mdev_bus"

/* An instance; texts are "" where not known. */
struct mdev_instance {
	bool present;
	char parent[MDEV_NAME_SIZE]; /* "0000:3b:00.0", "mtty"                             */
	char pci[PCI_ADDRESS_SIZE];  /* the PCI function that the parent is, or hangs on   */
	char type[MDEV_NAME_SIZE];   /* "nvidia-222", "mtty-1"                             */
	int group;                   /* IOMMU group; -1: none                              */
};

/* "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001", in lower case as the kernel has it. */
bool mdev_uuid_valid(const char *text, size_t len);

/* May @text be the name of a parent, or of a type, in sysfs? It leads out of no folder. */
bool mdev_name_valid(const char *text, size_t len);

/* Do mediated devices hang on the function @address? 1: they do, 0: none does, < 0: it cannot be
 * read. */
int mdev_below(int sysfs_fd, const char *address, struct err *err);

/* Look at the instance @uuid below @sysfs_fd. That there is none is fine; < 0 with @err: it cannot
 * be read. */
int mdev_instance_read(int sysfs_fd, const char *uuid, struct mdev_instance *ret_seen,
		       struct err *err);
