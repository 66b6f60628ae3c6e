/*
 * nvidia: offers NVIDIA's GPUs to containers as NVIDIA's device plugin does. Follows the GPUs that
 * are bound to NVIDIA's driver, runs hostdev-nvml to read, watch and probe them, and offers them to
 * the kubelet. While another device plugin offers them on the node, nothing is offered.
 *
 * If hostdev-nvml dies or misses a deadline, it is started again: after the first failure at once,
 * then at most once per NVIDIA_REPLACE_MS, separately for questions and for watches.
 *
 * When a PCIDeviceClaim takes the card of a GPU, the GPU is withdrawn: its units become unhealthy.
 * Once no container has it, hostdev-nvml turns its persistence mode off and its drain state on, and
 * the card can be bound. After the claim is gone, these are restored before containers get the GPU
 * again.
 *
 * The Node gets labels that describe its GPUs.
 */
#pragma once

#include <stdbool.h>

struct config;
struct config_troubles;
struct facts;
struct json_pairs;
struct json_strs;
struct nvidia;
struct nvidia_type;
struct pcidevice_allocations;
struct plugins;
struct this_node;

enum {
	NVIDIA_COLD_MS = 20000, /* timeout of a GPU's first answer: the driver initializes it */
	NVIDIA_WARM_MS = 5000,  /* timeout of later answers                                   */
	NVIDIA_REPLACE_MS = 60000,
	NVIDIA_LOOK_MS = 5000,       /* between checks of files, and for another plugin */
	NVIDIA_SETTLE_MS = 500,      /* before a new configuration file is read again    */
	NVIDIA_MIG_MS = 60000,       /* between reads of MIG devices: some changes have no event */
	NVIDIA_ABSENT_MS = 30000,    /* between attempts while no GPU has ever answered  */
	NVIDIA_ALLOCATIONS_MAX = 64, /* in a PCIDevice; limit of its CRD                 */
	NVIDIA_MACHINE_MAX = 255,    /* bytes of a machine's name                        */
};

/* The strings are borrowed. */
struct nvidia_options {
	bool on;
	/* HAMi's scheduler chooses the GPUs of a container; the IDs that the kubelet allocates do
	 * not tell which. agent/hami offers the GPUs then, and reads them with nvidia_view(). */
	bool chosen;
	const char *driver_root; /* NULL: the library is where the loader finds it     */
	const char *config_file; /* NVIDIA's configuration file; NULL: none            */
	const char *config_dir;  /* or a folder of such files; a label selects one     */
	unsigned lists;          /* enum nvidia_list; 0: from the file, else envvar    */
	const char *mig;         /* a MIG strategy; NULL: from the file, else none     */
	const char *ctk; /* nvidia-ctk, to write a missing CDI file; NULL or "": write none */
	const char *ignored_xids, *fatal_xids; /* as xid_policy_init() takes them, or NULL */
	bool no_labels;                        /* the Node gets none that describe its GPUs */
};

struct nvidia_deps {
	/* The offer, or an answer of nvidia_bind_trouble(), has changed: call nvidia_offer()
	 * soon. */
	void (*changed)(void *arg);
	/* The name of the PCIDeviceClaim that takes the card at @address; the caller frees.
	 * NULL: none. Call nvidia_find_gpus() when that changes. */
	char *(*claim_of)(void *arg, const char *address);
	/* As offers_ids(), offers_is_free() and offers_allocations(), for units of GPUs. */
	void (*given)(void *arg, struct json_strs *ids);
	bool (*is_free)(void *arg, const char *id, char **ret_holder);
	const struct pcidevice_allocations *(*allocations)(void *arg, const char *id);
	/* Why no container can get any GPU now; NULL: nothing prevents it. The callback may be
	 * NULL. */
	const char *(*hindrance)(void *arg);
	/* What of the HostDeviceConfig this node does not use; each call has all of it. */
	void (*report)(void *arg, const struct config_troubles *troubles);
	void *arg;
};

/* @node and what @deps names are borrowed. */
struct nvidia *nvidia_new(const struct this_node *node, const struct nvidia_options *options,
			  const struct nvidia_deps *deps);
/* Free the plugins first. Takes NULL, returns NULL. The loop must run once more. */
struct nvidia *nvidia_free(struct nvidia *nvidia);

/* Call it after a change of the inventory or of claims: finds the GPUs, and withdraws those that
 * claims take. */
void nvidia_find_gpus(struct nvidia *nvidia);

/* The same with @facts, which are not the node's inventory yet. Borrowed for the call. */
void nvidia_find_gpus_in(struct nvidia *nvidia, const struct facts *facts);

/* Call it when pods may have got or released units. */
void nvidia_pods_changed(struct nvidia *nvidia);

/* Has the card at @address a GPU that may be offered to containers? */
bool nvidia_has(const struct nvidia *nvidia, const char *address);

/* The resource of the GPU or of its first MIG device (NULL: it is not offered), and why containers
 * do not get it from us (NULL: they do). False: not known yet. Valid until the next call or
 * `changed`. */
bool nvidia_offered(struct nvidia *nvidia, const char *address, const char **ret_resource,
		    const char **ret_trouble);

/* The containers that have the GPU or a unit of it, each once, NVIDIA_ALLOCATIONS_MAX at most;
 * NULL: not known yet. Valid until the next call. */
const struct pcidevice_allocations *nvidia_allocations(struct nvidia *nvidia, const char *address);

/* Why the card at @address must not be bound to another driver now: containers have or can get the
 * GPU, or NVIDIA's driver does not release it (a claim can override that: UseUnknown). NULL: it may
 * be bound. The caller frees. */
char *nvidia_bind_trouble(const struct nvidia *nvidia, const char *address);

/* Set the HostDeviceConfig. If the options name no file, its entry for this node configures the
 * GPUs. Borrowed until the next call or the end. */
void nvidia_set_config(struct nvidia *nvidia, const struct config *config);

/* Set the labels of the Node; NULL: there is no Node. They select the entry of the
 * HostDeviceConfig; one of them can select the configuration file. */
void nvidia_set_labels(struct nvidia *nvidia, const struct json_pairs *labels);

/* Call it when the Node changes, or the list of Nodes is there. */
void nvidia_look_at_node(struct nvidia *nvidia);

/* The GPUs and how a container gets them, for callers that offer them in their own way; NULL: not
 * known yet, or (*@ret_elsewhere) offered by another plugin. */
const struct nvidia_type *nvidia_view(const struct nvidia *nvidia, bool *ret_elsewhere);

/* Make what @plugins offer what there is: a offers_type's offer(). Nothing is offered before
 * something is known of each GPU, and before the configuration is known. */
void nvidia_offer(void *arg, struct plugins *plugins);
