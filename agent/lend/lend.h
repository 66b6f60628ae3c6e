/*
 * lend: lends the devices of this node to pods, through its kubelet, and knows who has what.
 *
 * Claimed PCI functions it knows itself; the other kinds are added (lend_add). Who has what is known by
 * the device's ID, of whatever kind: the PCI address, a mediated device's UUID, a USB port path ("1-2.3").
 *
 * Owns the device plugins, the watch on the kubelet's folder and the questions to podresources. A
 * node without a kubelet's folder lends nothing until there is one.
 */
#pragma once

#include <stdbool.h>

#include "agent/lend/offered.h"
#include "agent/plugin/registration.h"

struct clock;
struct config;
struct inventory;
struct json_pairs;
struct json_strs;
struct lend;
struct metrics;
struct pci_told;
struct pcidevice_allocations;
struct plugins;
struct pod_device;
struct store;
struct uv_loop_s;

struct lend_options {
	bool off;
	const char *kubelet_dir; /* "/var/lib/kubelet" */
	enum registration_mode registration;
	const char *host_root;  /* NULL: / */
	const char *dev_root;   /* NULL: /dev */
	const char *sysfs_root; /* NULL: /sys */
};

/* Borrowed, but for @options (copied, its texts borrowed). */
struct lend_deps {
	struct uv_loop_s *loop;
	struct clock *clock;
	struct metrics *metrics; /* may be NULL */
	const char *node_name;
	const struct store *claims;           /* PCIDeviceClaims, of all nodes */
	const struct store *devices;          /* PCIDevices of this node       */
	const struct store *mdevs;            /* its MediatedDevices; NULL: none */
	const struct json_strs *vfio_drivers; /* beside vfio-pci */
	struct lend_options options;
	/* Who has the device @id (NULL: any device), or what the HostDeviceConfig lends of it, is not what it was. Never runs before the function
	 * that was called has returned, but for lend_set(). */
	void (*changed)(void *arg, const char *id);
	/* lend_offered() has another answer about the PCI function @address. As `changed`; may be NULL. */
	void (*offered)(void *arg, const char *address);
	void *arg;
};

struct lend *lend_new(const struct lend_deps *deps);
/* Takes NULL, returns NULL. The loop must run once more. */
struct lend *lend_free(struct lend *lend);

/* A kind of device that is lent: offer() calls plugins_set() with what there is now. */
struct lend_type {
	void (*offer)(void *arg, struct plugins *plugins);
	void *arg;
	/* Had that container the device when its object was written last? Asked of what this agent does not offer under
	 * the resource that the kubelet lists: an entry may have been renamed or removed while no agent ran. NULL: no. */
	bool (*had)(void *arg, const struct pod_device *device);
	/* Add the device nodes ("/dev/vfio/12") without which what it offers is not healthy: when one of them comes or goes,
	 * offer() is called again. NULL: none. */
	void (*nodes)(void *arg, struct json_strs *nodes);
};

/* Before the loop runs. @type is copied; its arg lives until after lend_free(). */
void lend_add(struct lend *lend, const struct lend_type *type);

/* What the node has now; borrowed until the next call or the end. */
void lend_set(struct lend *lend, const struct inventory *inventory);

/* What the HostDeviceConfig selects; borrowed until the next call or the end. Not before all claims are
 * known: what is claimed is not lent by it. */
void lend_set_config(struct lend *lend, const struct config *config);

/* When the kubelet told its Node's condition Ready last, in ms of the wall clock; 0: the Node has none. */
void lend_set_heartbeat(struct lend *lend, int64_t heartbeat_ms);

/* As offered_set(): the Node's status.allocatable (copied); NULL: no kubelet has written it. Before the first call
 * nothing counts as offered. Returns whether that is new. */
bool lend_set_allocatable(struct lend *lend, const struct json_pairs *allocatable);

/* As offered_counts(); true without a kubelet. */
bool lend_node_counts(const struct lend *lend, const char *resource);

/* As offered_set_no_node(). */
bool lend_set_no_node(struct lend *lend, const char *denied);

/* Does the node's kubelet offer the PCI function @address, so that the scheduler finds it? Whoever asks is told by
 * `offered` when the answer changes. */
struct offered_answer lend_offered(struct lend *lend, const char *address);

/* Does the HostDeviceConfig lend the PCI function @address? *@ret_told: how; NULL: it does not. False: that is not known
 * yet. `changed` tells when that is another. Valid until then. */
bool lend_selected(const struct lend *lend, const char *address, const struct pci_told **ret_told);

/* Something that a type offers may have changed: look soon. */
void lend_touch(struct lend *lend);

/*
 * Has nobody the device @id? If somebody has, *@ret_holder says who, "pod default/vm-1", for
 * the caller to free; it is NULL if that is not known yet, which passes within CUSTODY_UNKNOWN_MS (custody.h). Whoever
 * has it is asked for again. Before the kubelet has said a word, those count who had it when it was told last: by the
 * PCIDevice, the MediatedDevice or the PCIDeviceClaim; or if all of these are gone, by the kubelet's checkpoint.
 */
bool lend_is_free(struct lend *lend, const char *id, char **ret_holder);

/* Is there a kubelet's folder? Without one nobody has anything. */
bool lend_is_on(const struct lend *lend);

/*
 * The resource under which a pod has the device @id, or is about to; NULL: none, as far as is known.
 * @ret_ours: this agent offers that resource. A device stays in the resource that a pod has it as: under
 * another name the kubelet would give it away a second time.
 */
const char *lend_resource(const struct lend *lend, const char *id, bool *ret_ours);

/* The type of devices ("pci") that has the resource on this node, as plugins_owner(); NULL: none. */
const char *lend_owner(const struct lend *lend, const char *resource);

/* Who has it; NULL: not known yet. Valid until `changed` is called. */
const struct pcidevice_allocations *lend_allocations(const struct lend *lend, const char *id);

/* Withdraw all resources. @stopped is called once, within about a second, never before this returns. */
void lend_stop(struct lend *lend, void (*stopped)(void *arg), void *arg);
