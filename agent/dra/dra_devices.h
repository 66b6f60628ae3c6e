/*
 * dra_devices: the devices that DRA offers on this node now, as the device types hand them to
 * plugins_set(): with the pool and the name that a ResourceSlice gives them, and their attributes.
 *
 * Copies all of it, the attributes from the inventory. A device that is not healthy is here, so
 * that a claim which has it learns why it cannot be used, and in no slice.
 *
 * Names are those of the devices, and stay over restarts. Each kind of device has a pool, so that a
 * change of one kind rewrites no other's slice. Each pool has one slice, so that no pool is ever
 * incomplete: beyond DRA_POOL_MAX devices a kind has further pools. A device keeps its pool while it
 * is offered.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct device_type;
struct dra_devices;
struct plugin_resource;
struct this_node;

/* Our driver's name, which is also the domain of its attributes. */
#define DRA_DRIVER "hostdev.io"

enum {
	DRA_POOL_MAX = 128,          /* devices in a slice, by the API                        */
	DRA_POOLS_MAX = 8,           /* of a kind; further devices are not offered            */
	DRA_ATTRIBUTES_MAX = 32,     /* of a device, by the API                               */
	DRA_ATTRIBUTE_TEXT_MAX = 64, /* bytes of a text, by the API; a longer one is left out */
};

/* The kinds of device, each with its pools: "node1", "node1/usb", "node1/mdev". */
enum dra_kind { DRA_PCI, DRA_USB, DRA_MDEV, DRA_KINDS };

struct dra_device {
	const struct device_type *type; /* borrowed, as its arg */
	void *type_arg;
	enum dra_kind kind;
	char *resource;     /* as plugins_set() had it                                           */
	char *id;           /* PCI address, USB port path, mdev UUID                             */
	char *name;         /* in the slice: a DNS label, unique on the node: "pci-0000-3b-00-0" */
	char *pool;         /* "node1", "node1/usb"; beyond DRA_POOL_MAX devices "node1/pci-2"   */
	char *iommu_group;  /* NULL: none                                                        */
	char *trouble;      /* why it is not healthy; NULL: it is                                */
	bool on_demand;     /* it is bound when a claim is prepared, and given back afterwards   */
	json_t *attributes; /* as a slice has them: {"vendorID": {"string": "8086"}}             */
};

/* @node is borrowed. @changed runs after a change, from the loop, never inside of a call. */
struct dra_devices *dra_devices_new(const struct this_node *node, void (*changed)(void *arg),
				    void *arg);
/* Takes NULL, returns NULL. The loop must run once more. */
struct dra_devices *dra_devices_free(struct dra_devices *devices);

/*
 * All devices of @type that DRA offers now, for plugins_deps.dra. Everything is copied but the type
 * and its @type_arg. Left out, each with a line in the log: devices of a type that DRA does not
 * offer, a second device of the same name, and those for which no pool has room.
 */
void dra_devices_set(struct dra_devices *devices, const struct device_type *type, void *type_arg,
		     const struct plugin_resource *resources, size_t len);

/* Has the HostDeviceConfig an entry by which DRA offers devices of @kind, whether there are any or
 * not? False for each before the first call. */
void dra_devices_select(struct dra_devices *devices, const bool selected[DRA_KINDS]);
bool dra_devices_selects(const struct dra_devices *devices, enum dra_kind kind);

/* By name only: the pool of an allocation may be an earlier one. NULL: it is not offered. Borrowed
 * until the next dra_devices_set(), as below. */
const struct dra_device *dra_devices_find(const struct dra_devices *devices, const char *name);
size_t dra_devices_len(const struct dra_devices *devices);
/* @i < dra_devices_len(). Sorted by kind, pool and name. */
const struct dra_device *dra_devices_at(const struct dra_devices *devices, size_t i);

/* The pool of number @i, from 0, of a kind: "node1/usb", "node1/usb-2"; and its slice:
 * "node1-hostdev.io-usb". A node's name that makes them too long is cut, with a hash. The caller
 * frees. */
char *dra_pool_name(const char *node, enum dra_kind kind, size_t i);
char *dra_slice_name(const char *node, enum dra_kind kind, size_t i);
