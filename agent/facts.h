/*
 * facts: what one scan of hostdev-helper found on this node, as C structs.
 *
 * Filled line by line from the helper's output (one JSON object a line; agent/helper/main.c says
 * which). Holds no names from pci.ids, no decisions, nothing of Kubernetes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/json_map.h"
#include "base/array.h"

struct err;

enum { FACTS_MAX = 1 << 17 }; /* devices, uses and problems together; more is no machine */

/* One PCI function. Text that the kernel does not give, or that could not be read, is NULL; only the
 * address is always there. */
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
	char *serial;
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
	char *reason; /* "HostFilesystem", "HostNetwork", "Mounted", ...: agent/claimable.h */
	char *detail; /* "vda1 is mounted at /"                                            */
};

/* Something that the scan could not read; the device is listed all the same. */
struct problem_facts {
	char *device;
	char *attribute;
	char *message;
};

struct facts {
	bool iommu;    /* the kernel has IOMMU groups          */
	bool complete; /* the helper's last line has been seen */
	ARRAY(struct pci_facts) pci;
	ARRAY(struct usb_facts) usb;
	ARRAY(struct use_facts) uses;
	ARRAY(struct problem_facts) problems;
};

struct facts *facts_new(void);

/* Takes NULL, returns NULL. */
struct facts *facts_free(struct facts *facts);

/* Take one line of the helper's output. ERR_INVALID for a line that is no object of a known shape
 * (-EINVAL) or one too many (-EMSGSIZE), which then leaves @facts as it was; a kind that is not known
 * is passed over, so that a newer helper may say more. */
int facts_add_line(struct facts *facts, const char *line, size_t len, struct err *err);
