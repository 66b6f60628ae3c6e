/*
 * dra_devices: the devices that DRA offers on this node now, with their pool, name and attributes
 * in the ResourceSlices. The device types set them through plugins_set().
 *
 * Copies everything, also the attributes, which come from the inventory. An unhealthy device is in
 * this list, so that a claim that has it gets the reason, but not in a slice.
 *
 * A device's name depends only on the device, so it is the same after a restart. Each kind of
 * device has its own pool, so that a change of one kind does not rewrite the slices of the others.
 * Each pool has exactly one slice, so that no pool is ever incomplete; a kind with more than
 * DRA_POOL_MAX devices has more pools. A device keeps its pool while it is offered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct device_type;
struct dra_devices;
struct plugin_resource;
struct this_node;

/* Our driver's name, which is also the domain of its attributes. */
#define DRA_DRIVER "hostdev.io"

enum {
	DRA_POOL_MAX = 128,          /* devices in a slice; limit of the API                 */
	DRA_POOLS_MAX = 8,           /* of a kind; further devices are not offered           */
	DRA_ATTRIBUTES_MAX = 32,     /* of a device; limit of the API                        */
	DRA_ATTRIBUTE_TEXT_MAX = 64, /* bytes; limit of the API; longer ones are left out    */
};

/* The kinds of device. Their first pools are "node1", "node1/usb" and "node1/mdev". */
enum dra_kind { DRA_PCI, DRA_USB, DRA_MDEV, DRA_KINDS };

struct dra_device {
	const struct device_type *type; /* borrowed, as is type_arg */
	void *type_arg;
	enum dra_kind kind;
	char *resource;    /* its name in plugins_set()                                         */
	char *id;          /* PCI address, USB port path, mdev UUID                             */
	char *name;        /* in the slice: a DNS label, unique on the node: "pci-0000-3b-00-0" */
	char *pool;        /* "node1", "node1/usb"; beyond DRA_POOL_MAX devices "node1/pci-2"   */
	char *iommu_group; /* NULL: none                                                        */
	char *trouble;     /* why it is unhealthy; NULL: healthy                                */
	bool group_taken;  /* the trouble: a pod has another device of its group                */
	bool on_demand;    /* it is bound when a claim is prepared, and given back afterwards   */
	char *attributes;  /* JSON text as in a slice: {"vendorID":{"string":"8086"}}           */
};

/* @node is borrowed. @changed runs from the loop after a change, never during a call. */
struct dra_devices *dra_devices_new(const struct this_node *node, void (*changed)(void *arg),
				    void *arg);
/* Takes NULL, returns NULL. The loop must run once more. */
struct dra_devices *dra_devices_free(struct dra_devices *devices);

/*
 * Set all devices of @type that DRA offers now; for plugins_deps.dra. Everything is copied except
 * @type and @type_arg. Left out, with a line in the log for each: devices of a type that DRA does
 * not offer, a second device with the same name, and devices for which no pool has room.
 */
void dra_devices_set(struct dra_devices *devices, const struct device_type *type, void *type_arg,
		     const struct plugin_resource *resources, size_t len);

/* Set, and get, whether the HostDeviceConfig has an entry by which DRA offers devices of a kind,
 * whether or not there are such devices. False until it is set. */
void dra_devices_select(struct dra_devices *devices, const bool selected[DRA_KINDS]);
bool dra_devices_selects(const struct dra_devices *devices, enum dra_kind kind);

/* The device with this name; NULL: it is not offered. The pool does not count, because that of an
 * allocation may be outdated. Borrowed until the next dra_devices_set(), as below. */
const struct dra_device *dra_devices_find(const struct dra_devices *devices, const char *name);
size_t dra_devices_len(const struct dra_devices *devices);
/* @i < dra_devices_len(). Sorted by kind, pool and name. */
const struct dra_device *dra_devices_at(const struct dra_devices *devices, size_t i);

/* The name of pool @i (from 0) of a kind, "node1/usb" or "node1/usb-2", and of its slice,
 * "node1-hostdev.io-usb". A node name that would make them too long is shortened with a hash. The
 * caller frees. */
char *dra_pool_name(const char *node, enum dra_kind kind, size_t i);
char *dra_slice_name(const char *node, enum dra_kind kind, size_t i);
