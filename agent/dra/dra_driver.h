/*
 * dra_driver: the DRA driver of this node. It prepares ResourceClaims for the kubelet and publishes
 * ResourceSlices.
 *
 * It starts when the HostDeviceConfig first offers something by DRA, or at once if claims are
 * prepared. It then serves <kubelet_dir>/plugins/hostdev.io/dra.sock, registers with the kubelet
 * through plugins_registry, and publishes ResourceSlices once the kubelet has accepted it. It does
 * not stop before the agent does, because claims that pods still have must be unprepared.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/dra/dra_devices.h"

struct device_type;
struct dra_driver;
struct json_strs;
struct kubelet_watch;
struct on_demand_binder;
struct plugin_resource;
struct this_node;

/* Borrowed, except for the strings, which are copied. */
struct dra_driver_deps {
	struct kubelet_watch *watch;
	const char *registry_dir; /* the kubelet's plugins_registry */
	const char *cdi_dir;      /* where the container runtime reads CDI files */
	const char *boot;         /* the ID of this boot; NULL: read it from the kernel */
	/* The pod that has the device @id through its device plugin, for the caller to free; NULL:
	 * none. May be NULL. */
	char *(*holder)(void *arg, const char *id);
	const struct on_demand_binder *on_demand; /* NULL: there are no devices on demand */
	/* The answer of dra_driver_holder() for @id has changed. Runs only during calls of the
	 * kubelet. May be NULL. */
	void (*changed)(void *arg, const char *id);
	void *arg;
};

/* Reads the checkpoints of prepared claims. */
struct dra_driver *dra_driver_new(const struct this_node *node, const struct dra_driver_deps *deps);
/* Keeps the slices and the prepared claims. Takes NULL, returns NULL. The loop must run once
 * more. */
struct dra_driver *dra_driver_free(struct dra_driver *driver);

/* Set the devices of a type: dra_devices_set(). */
void dra_driver_set(struct dra_driver *driver, const struct device_type *type, void *type_arg,
		    const struct plugin_resource *resources, size_t len);

/* Set what the HostDeviceConfig offers by DRA: dra_devices_select(). */
void dra_driver_select(struct dra_driver *driver, const bool selected[DRA_KINDS]);

/* The claim that has the device @id, "ResourceClaim default/nic", for the caller to free; NULL:
 * none. */
char *dra_driver_holder(const struct dra_driver *driver, const char *id);
/* The same, if the device is bound for that claim, or is about to be. */
char *dra_driver_bound_for(const struct dra_driver *driver, const char *id);
/* As prepared_device_id(). */
const char *dra_driver_device_id(const struct dra_driver *driver, const char *ns, const char *name,
				 const char *device);
/* Add the IDs of all devices of prepared claims. */
void dra_driver_ids(const struct dra_driver *driver, struct json_strs *ids);

/* Call it when the Node changes. */
void dra_driver_set_node(struct dra_driver *driver);
