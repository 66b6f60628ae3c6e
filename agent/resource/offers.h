/*
 * offers: offers this node's devices to pods through its kubelet, and knows which pod has which
 * device.
 *
 * It offers claimed PCI functions itself; other kinds are added (offers_add). Allocations are kept
 * by the device's ID: the PCI address, a mediated device's UUID, a USB port path ("1-2.3").
 *
 * Owns the device plugins, the DRA driver, the watch on the kubelet's folder and the podresources
 * client. A node without a kubelet's folder offers nothing until the folder exists.
 */
#pragma once

#include <stdbool.h>

#include "agent/plugin/registration.h"
#include "agent/resource/offered.h"

struct config;
struct device_type;
struct json_pairs;
struct json_strs;
struct on_demand_binder;
struct offers;
struct pci_last_offer;
struct pcidevice_allocations;
struct plugins;
struct pod_device;
struct store;
struct this_node;

struct offers_options {
	bool off;
	enum registration_mode registration;
	const char *cdi_dir; /* where DRA's CDI files go; NULL: /var/run/cdi. Borrowed */
};

struct offers_deps {
	const struct store *claims;  /* PCIDeviceClaims, of all nodes */
	const struct store *devices; /* PCIDevices of this node       */
	const struct store *mdevs;   /* its MediatedDevices; NULL: none */
	const struct on_demand_binder
		*on_demand; /* of devices that DRA offers on demand; NULL: there are none */
	struct offers_options options;
	/* The holder of the device @id (NULL: of any device), or its offer by the HostDeviceConfig,
	 * changed. Never runs before the called function has returned, except in
	 * offers_update(). */
	void (*changed)(void *arg, const char *id);
	/* offers_answer() has another answer about the PCI function @address. As `changed`; may be
	 * NULL. */
	void (*offered)(void *arg, const char *address);
	void *arg;
};

/* @node and what @deps names are borrowed. */
struct offers *offers_new(const struct this_node *node, const struct offers_deps *deps);
/* Takes NULL, returns NULL. The loop must run once more. */
struct offers *offers_free(struct offers *offers);

/* A kind of device to offer: offer() calls plugins_set() with the current devices. */
struct offers_type {
	void (*offer)(void *arg, struct plugins *plugins);
	void *arg;
	/* Had that container the device when its object was written last? Asked of what this agent
	 * does not offer under the resource that the kubelet lists: an entry may have been renamed
	 * or removed while no agent ran. NULL: no. */
	bool (*had)(void *arg, const struct pod_device *device);
	/* Add the device nodes ("/dev/vfio/12") without which what it offers is not healthy: when
	 * one of them comes or goes, offer() is called again. NULL: none. */
	void (*nodes)(void *arg, struct json_strs *nodes);
	/* The kubelet has opened a resource's list: offers_can_allocate() may have another answer.
	 * NULL: none. */
	void (*listed)(void *arg);
};

/* Before the loop runs. @type is copied; its arg lives until after offers_free(). */
void offers_add(struct offers *offers, const struct offers_type *type);

/* Offer the devices of now, without delay. */
void offers_update(struct offers *offers);

/* What the HostDeviceConfig selects; borrowed until the next call or the end. Not before all claims
 * are known: the config does not offer a claimed device. Call offers_update_soon() next. */
void offers_set_config(struct offers *offers, const struct config *config);

/* The last heartbeat of the Node's condition Ready, in ms of the wall clock; 0: the Node has
 * none. */
void offers_set_heartbeat(struct offers *offers, int64_t heartbeat_ms);

/* As offered_set(): the Node's status.allocatable (copied); NULL: no kubelet has written it. Before
 * the first call nothing counts as offered. Returns whether that is new. */
bool offers_set_allocatable(struct offers *offers, const struct json_pairs *allocatable);

/* Return whether a pod would get a device of @resource now: the kubelet has the device @id of @type
 * on its list as healthy, and the Node counts a device. See offered_counts(). True without a
 * kubelet. */
bool offers_can_allocate(const struct offers *offers, const struct device_type *type,
			 const char *resource, const char *id);

/* As offered_set_no_node(). */
bool offers_set_no_node(struct offers *offers, const char *denied);

/* Does the node's kubelet offer the PCI function @address, so that the scheduler finds it?
 * `offered` is called when the answer to an earlier call has changed. */
struct offered_answer offers_answer(struct offers *offers, const char *address);

/* Does the HostDeviceConfig offer the PCI function @address? *@ret_offer: how; NULL: it does not.
 * False: not known yet. `changed` is called when the answer changes. Valid until then. */
bool offers_selected(const struct offers *offers, const char *address,
		     const struct pci_last_offer **ret_offer);

/* An offer of a device type may have changed: update the offers soon. */
void offers_update_soon(struct offers *offers);

/*
 * Is the device @id free? If not, *@ret_holder names the holder, "pod default/vm-1" or
 * "ResourceClaim default/nic", for the caller to free; it is NULL if the holder is not known yet,
 * which lasts at most LEDGER_UNKNOWN_MS (ledger.h). If the device is in use, the kubelet is asked
 * again. Before its first answer, the last known holder counts: from the PCIDevice, the
 * MediatedDevice or the PCIDeviceClaim; or if all of these are gone, from the kubelet's checkpoint.
 */
bool offers_is_free(struct offers *offers, const char *id, char **ret_holder);

/* The ResourceClaim for which the device @id is bound on demand, or is about to be: "ResourceClaim
 * default/nic"; NULL: none. The caller frees. */
char *offers_bound_for(const struct offers *offers, const char *id);

/* Is there a kubelet's folder? Without one no pod has a device. */
bool offers_is_on(const struct offers *offers);

/*
 * Return the resource under which a pod has the device @id or is about to get it; NULL: none known.
 * @ret_ours: this agent offers that resource. A device keeps the resource while a pod has it: under
 * another name the kubelet would allocate it a second time.
 */
const char *offers_resource(const struct offers *offers, const char *id, bool *ret_ours);

/* The type of devices ("pci") that has the resource on this node, as plugins_owner(); NULL:
 * none. */
const char *offers_owner(const struct offers *offers, const char *resource);

/* As node_numbers_trouble(). */
char *offers_number_trouble(struct offers *offers, const char *id);

/* Why a container with the device @id must not start now: a process of a pod that had it before
 * (ledger_former()). NULL: there is none. The caller frees. */
char *offers_start_trouble(struct offers *offers, const char *id);

/* As ledger_is_busy(); @id may be several that are joined by ','. */
bool offers_is_busy(struct offers *offers, const char *id);

/* As node_numbers_bind_trouble(). */
char *offers_bind_trouble(struct offers *offers, const char *id);

/* As ledger_ids(). */
void offers_ids(const struct offers *offers, struct json_strs *ids);

/* Who has it, by the device plugin or by a ResourceClaim; NULL: not known yet. Valid until
 * `changed` is called. */
const struct pcidevice_allocations *offers_allocations(const struct offers *offers, const char *id);

/* The Node changed: as dra_driver_set_node(). */
void offers_set_node(struct offers *offers);

/* Withdraw all resources. @stopped is called once, within about a second, never before this
 * returns. */
void offers_stop(struct offers *offers, void (*stopped)(void *arg), void *arg);
