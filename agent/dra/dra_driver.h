/*
 * dra_driver: the DRA driver of this node: serves the kubelet, and publishes what it offers.
 *
 * It does nothing as long as the HostDeviceConfig has DRA offer nothing and no claim is prepared.
 * Then it serves <kubelet_dir>/plugins/hostdev.io/dra.sock, lets the kubelet find it in plugins_registry, and
 * publishes ResourceSlices once the kubelet has accepted it. It goes on until the agent ends: a
 * claim that a pod still has must be unprepared by somebody.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/dra/dra_devices.h"

struct device_type;
struct dra_driver;
struct json_strs;
struct kubelet_watch;
struct lender;
struct plugin_resource;
struct this_node;

/* Borrowed, except for the texts, which are copied. */
struct dra_driver_deps {
	struct kubelet_watch *watch;
	const char *registry_dir; /* the kubelet's plugins_registry */
	const char *cdi_dir;      /* where the container runtime reads CDI files */
	const char *boot;         /* the ID of this boot; NULL: the kernel's */
	/* Which pod has the device @id by its device plugin, as a text for the caller to free;
	 * NULL: none has. May be NULL. */
	char *(*holder)(void *arg, const char *id);
	const struct lender *lender; /* NULL: there are no devices on demand */
	/* dra_driver_holder() has another answer about the device @id. Runs inside of calls of the
	 * kubelet alone. May be NULL. */
	void (*changed)(void *arg, const char *id);
	void *arg;
};

/* Reads the checkpoints of prepared claims. */
struct dra_driver *dra_driver_new(const struct this_node *node, const struct dra_driver_deps *deps);
/* The slices and what is prepared stay. Takes NULL, returns NULL. The loop must run once more. */
struct dra_driver *dra_driver_free(struct dra_driver *driver);

/* The devices of a type, as plugins_deps.dra has them. */
void dra_driver_set(struct dra_driver *driver, const struct device_type *type, void *type_arg,
		    const struct plugin_resource *resources, size_t len);

/* What the HostDeviceConfig has DRA offer, as dra_devices_select(). */
void dra_driver_select(struct dra_driver *driver, const bool selected[DRA_KINDS]);

/* Which claim has the device @id: "ResourceClaim default/nic", for the caller to free; NULL: none
 * has. */
char *dra_driver_holder(const struct dra_driver *driver, const char *id);
/* The same, if the device is bound for that claim, or is about to be. */
char *dra_driver_borrower(const struct dra_driver *driver, const char *id);
/* Add the IDs of all devices that claims have. */
void dra_driver_ids(const struct dra_driver *driver, struct json_strs *ids);

/* The Node changed: slices_update(). */
void dra_driver_set_node(struct dra_driver *driver);
