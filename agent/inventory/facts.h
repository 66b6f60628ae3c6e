/*
 * facts: what one scan of hostdev-helper found on this node, as C structs.
 *
 * Filled line by line from the helper's output (one JSON object a line; see agent/helper/main.c).
 * Has no names from pci.ids, no decisions, and nothing of Kubernetes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/json_map.h"
#include "base/array.h"

struct err;

enum { FACTS_MAX = 1 << 17 }; /* devices, uses, problems and records together; more is no machine */

/* One PCI function. A text that the kernel does not provide, or that could not be read, is NULL;
 * only the address is always set. */
struct pci_facts {
	char *address;
	char *vendor, *device, *class_code; /* 4, 4 and 6 hex digits */
	char *subsystem_vendor, *subsystem_device, *revision;
	char *driver;
	char *iommu_group;
	int numa_node; /* -1: unknown */
	char *role;    /* "Function", "PhysicalFunction", "VirtualFunction" */
	char *physical_function;
	int total_vfs, num_vfs;
	char *interface;                    /* of a physical function: its network interface */
	char *vf_device;                    /* ... and its virtual ones' device id, "25b6"   */
	struct json_strs virtual_functions; /* addresses, by index                           */
	char *serial;
	char *identity; /* base/device_identity.h */
	struct json_strs reset_methods;
	bool boot_vga;
	struct json_strs parents; /* PCI addresses from the root down */
};

struct usb_interface_facts {
	char *class_code, *subclass, *protocol; /* 2 hex digits each */
	char *driver;
};

struct usb_interfaces_facts {
	struct usb_interface_facts *items;
	size_t len;
	size_t cap;
};

/* One USB device; only the port is always there. */
struct usb_facts {
	char *port;      /* "1-2.3"                    */
	int bus, device; /* 0: could not be read       */
	char *vendor, *product;
	char *class_code;
	int speed_mbps;
	char *manufacturer, *product_name, *serial;
	bool hub;
	char *pci_address;
	struct usb_interfaces_facts interfaces;
};

/* Something of the host rests on a device. At least one of @pci and @usb is set. */
struct use_facts {
	char *pci;
	char *usb;
	char *reason; /* "HostFilesystem", "Mounted", ...: agent/inventory/claimable.h */
	char *detail; /* "vda1 is mounted at /"                                            */
};

/* A question about the host's use of devices that the scan could not answer. */
struct unknown_facts {
	char *question; /* "Mounts", "Routes", ...: agent/helper/scan/use.h */
	bool unread;    /* the kernel's answer could not be read: the node or the agent is set up
			   in a way that hides it                                              */
	/* First digits of the classes of functions that are not free for it */
	struct json_strs pci_classes;
	/* The same for interfaces of USB devices */
	struct json_strs usb_classes;
	char *detail;
};

/* Something that the scan could not read; the device is listed all the same. */
struct problem_facts {
	char *device;
	char *attribute;
	char *message;
};

/* A function that hostdev has taken, or is about to: the record of its intent on the node's disk.
 * Only the address is always there. */
struct record_facts {
	char *address;
	char *claim, *uid;
	char *driver; /* the passthrough driver                             */
	char *native; /* what it goes back to; "": none; NULL: not known    */
	char *id;     /* "8086:10d3"                                        */
	char *serial;
	char *identity; /* base/device_identity.h; NULL: nothing is known  */
	char *boot;     /* of an earlier version: boot id of its first writing */
	char *bound;    /* boot id of the kernel under which it was bound last */
	bool this_boot; /* that is the kernel that runs                    */
};

/* One type that a parent can be divided into. */
struct mdev_type_facts {
	char *id;   /* "nvidia-222"; always there */
	char *name; /* "GRID T4-1Q"               */
	char *description;
	char *device_api; /* "vfio-pci"                      */
	int available;    /* instances; -1: cannot be read   */
};

struct mdev_types_facts {
	struct mdev_type_facts *items;
	size_t len;
	size_t cap;
};

/* A device that can be divided into mediated devices; only the name is always there. */
struct mdev_parent_facts {
	char *name;        /* "0000:3b:00.0", "mtty"                         */
	char *pci_address; /* of the function that it is, or hangs on        */
	int numa_node;     /* -1: unknown                                    */
	struct mdev_types_facts types;
};

/* One mediated device; only UUID and parent are always there. */
struct mdev_facts {
	char *uuid;
	char *parent;
	char *pci_address;
	int numa_node;
	char *type, *type_name; /* as above */
	char *device_api;
	char *iommu_group;
};

/* The record of an instance that hostdev has made, or was about to. */
struct mdev_record_facts {
	char *uuid;
	char *parent;
	char *type;
	char *owner;    /* the part that created it */
	bool this_boot; /* of the kernel that runs; else the instance is gone */
};

/* A virtual function that its driver lets be a vGPU without mediated devices; only the address is
 * always there. */
struct vgpu_facts {
	char *address;
	char *current;              /* number of the type that it is; "0": none            */
	struct json_strs creatable; /* the lines of the driver's table of types */
};

/* A GPU of AMD or Intel, or a part of a divided one of AMD. */
struct drm_facts {
	char *name;             /* "0000:03:00.0"; of a part "amdgpu_xcp_1"                   */
	char *pci_address;      /* of the GPU                                                 */
	char *driver;           /* "amdgpu", "i915" or "xe"                                   */
	int card, render;       /* the numbers of its nodes in /dev/dri; -1: it has none      */
	char *compute, *memory; /* how the GPU is divided, "SPX" and "NPS1"; NULL: it cannot be */
	char *hive;             /* GPUs with the same one have XGMI links to each other       */
};

struct facts {
	bool iommu;    /* the kernel has IOMMU groups          */
	bool complete; /* the helper's last line has been seen */
	ARRAY(struct pci_facts) pci;
	ARRAY(struct usb_facts) usb;
	ARRAY(struct use_facts) uses;
	ARRAY(struct unknown_facts) unknowns;
	ARRAY(struct problem_facts) problems;
	ARRAY(struct record_facts) records;
	/* Addresses of physical functions whose sriov_drivers_autoprobe was changed for their
	 * virtual functions, and is to be restored after them. */
	struct json_strs autoprobes;
	ARRAY(struct mdev_parent_facts) mdev_parents;
	ARRAY(struct mdev_facts) mdevs;
	ARRAY(struct mdev_record_facts) mdev_records;
	ARRAY(struct vgpu_facts) vgpus;
	bool vgpus_known; /* all were read: a function that is not among them is no vGPU */
	ARRAY(struct drm_facts) drms;
	bool drms_known; /* likewise; never without --amd and --intel */
};

struct facts *facts_new(void);

/* Takes NULL, returns NULL. */
struct facts *facts_free(struct facts *facts);

/* The PCI function at @address; NULL: there is none. */
const struct pci_facts *facts_find_pci(const struct facts *facts, const char *address);

/* Add one line of the helper's output. ERR_INVALID, with @facts unchanged, for a line that is no
 * object of a known shape (-EINVAL) or one too many (-EMSGSIZE). An unknown kind is skipped, so
 * that a newer helper may report more. */
int facts_add_line(struct facts *facts, const char *line, size_t len, struct err *err);
