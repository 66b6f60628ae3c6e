/*
 * plugins: all resources of this node that are offered to the kubelet, of all device types.
 *
 *	plugins_set(plugins, &pci_type, pci, resources, len);   whenever something may have changed
 *	plugins_stop(plugins, on_stopped, arg);                 at the end
 *
 * A resource belongs to one type at a time: to the type with claimed devices, and of several to the
 * one that called plugins_set() first ever. Without claimed devices, the first type that offers it
 * keeps it until it withdraws it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/plugin/device_type.h"
#include "agent/plugin/plugin_event.h"
#include "agent/plugin/registration.h"

struct plugin_resource;
struct plugins;

struct plugins_deps {
	/* Borrowed, see registration.h. REGISTRATION_AUTO is resolved once, for all resources. */
	struct registration_deps registration;
	/* Where our sockets are if it is REGISTRATION_REGISTRY, under the path that the kubelet
	 * sees; NULL, and otherwise: the kubelet's folder. Borrowed. */
	const char *socket_dir;
	const char *checkpoint_path; /* the kubelet's, copied; NULL: none */
	/* Told what happens, also from inside of plugins_set(). */
	plugin_event_fn *fn;
	/* Told in each plugins_set() which devices of @type DRA offers: all of its resources that
	 * have such devices, with no others in them; @len may be 0. What it is given is borrowed
	 * for the call, the types and their @type_arg for as long as the plugins. NULL: nobody
	 * offers such devices. */
	void (*dra)(void *arg, const struct device_type *type, void *type_arg,
		    const struct plugin_resource *resources, size_t len);
	/* Has a ResourceClaim the device @id? DRA goes on offering it then, whatever its type says:
	 * the kubelet would allocate it a second time. NULL: none has any. */
	bool (*claimed)(void *arg, const char *id);
	void *arg; /* of all of them */
};

/* One resource and all of its devices; borrowed. */
struct plugin_resource {
	const char *name;
	const struct plugin_device *devices;
	size_t ndevices;
	bool claimed; /* one of them is claimed: it takes precedence over a HostDeviceConfig */
};

/* Removes sockets that a process before left over. */
struct plugins *plugins_new(const struct plugins_deps *deps);

/* Without a word to the kubelet. Takes NULL, returns NULL. The loop must run once more. */
struct plugins *plugins_free(struct plugins *plugins);

/*
 * Set all resources of @type: new ones are started, missing ones withdrawn, changed ones sent;
 * unchanged ones cost nothing. Everything is copied except the type and its @type_arg, which is the
 * same each time. Devices that DRA offers go to plugins_deps.dra; a resource that has no others is
 * not offered to the kubelet.
 *
 * Skipped with PLUGIN_REFUSED: a resource whose name a kubelet would refuse, that appears twice or
 * belongs to another type; devices as in device_list.h; and a list that is longer than a kubelet
 * reads, where the resource stays as it was. The same refusal is reported once.
 */
void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len);

/* Does any type offer this resource, or is it being withdrawn? */
bool plugins_offer(const struct plugins *plugins, const char *resource);

/* The name of the type that offers @resource now, or for which it is taken from another; NULL: none
 * does, or it is being withdrawn. */
const char *plugins_owner(const struct plugins *plugins, const char *resource);

/* Does the kubelet have the device @id of @type on its list as one of @resource, and as healthy? */
bool plugins_list(const struct plugins *plugins, const struct device_type *type,
		  const char *resource, const char *id);

/* Does a type other than @type offer any resource? */
bool plugins_offer_others(const struct plugins *plugins, const struct device_type *type);

/* Send the kubelet the list of one resource again: it then writes its checkpoint. False: it has no
 * stream open. */
bool plugins_make_kubelet_write(const struct plugins *plugins);

/* Withdraw everything. @stopped is called once when that is done, at the latest after
 * PLUGIN_STOP_MS, never before this returns, and may free the plugins. plugins_set() must not
 * follow. */
void plugins_stop(struct plugins *plugins, void (*stopped)(void *arg), void *arg);
