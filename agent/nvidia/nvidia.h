/*
 * nvidia: NVIDIA's GPUs for containers, as NVIDIA's device plugin offers them: follows the GPUs
 * that the kernel says NVIDIA's driver has, runs hostdev-nvml to read, watch and probe them, and
 * offers them to the kubelet.
 *
 * A run that misses its deadline or dies is followed by another one, of questions and of watches
 * each at most once in NVIDIA_REPLACE_MS, and at once after the first. While another device plugin
 * offers the GPUs of the node, nothing is offered. The Node gets labels that describe its GPUs. A GPU whose card a PCIDeviceClaim takes is withdrawn: its
 * units are unhealthy, and hostdev-nvml lets it go. When no container has it any more, its
 * persistence mode is turned off and its drain state on, and the card is bound. When the claim is
 * gone, the GPU is as it was before containers get it again.
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
	NVIDIA_COLD_MS = 20000, /* one GPU's first answer: the driver initializes it */
	NVIDIA_WARM_MS = 5000,  /* any later one                                     */
	NVIDIA_REPLACE_MS = 60000,
	NVIDIA_LOOK_MS = 5000,       /* at configuration and CDI files, and for another plugin */
	NVIDIA_SETTLE_MS = 500,      /* until a new configuration file is read again */
	NVIDIA_MIG_MS = 60000,       /* at MIG devices, whose events do not reach everybody */
	NVIDIA_ABSENT_MS = 30000,    /* while no GPU has ever answered */
	NVIDIA_ALLOCATIONS_MAX = 64, /* of a PCIDevice: crds/ */
	NVIDIA_MACHINE_MAX = 255,    /* bytes of a machine's name */
};

/* The texts are borrowed. */
struct nvidia_options {
	bool on;
	/* HAMi's scheduler chooses the GPUs of a container, and the IDs that the kubelet allocates do
	 * not tell which. What offers them then asks nvidia_view(). */
	bool chosen;
	const char *driver_root; /* NULL: the library is where the loader finds it     */
	const char *config_file; /* NVIDIA's configuration file; NULL: none            */
	const char *config_dir;  /* or the folder of which a label names one           */
	unsigned lists;          /* enum nvidia_list; 0: as the file says, or by envvar */
	const char *mig;         /* a MIG strategy; NULL: as the file says, or none     */
	const char *ctk; /* nvidia-ctk, to write a missing CDI file; NULL or "": nobody does */
	const char *ignored_xids, *fatal_xids; /* as xid_policy_init() takes them, or NULL */
	bool no_labels;                        /* the Node gets none that describe its GPUs */
};

struct nvidia_deps {
	/* What is offered, or an answer of nvidia_bind_trouble(), changed: have nvidia_offer()
	 * called soon. */
	void (*changed)(void *arg);
	/* The name of the PCIDeviceClaim that takes the card at @address; the caller frees.
	 * NULL: none does. When that changes, nvidia_find_gpus() is to follow. */
	char *(*claim_of)(void *arg, const char *address);
	/* As offers_ids(), offers_is_free() and offers_allocations(): of the units of GPUs that
	 * pods have. */
	void (*given)(void *arg, struct json_strs *ids);
	bool (*is_free)(void *arg, const char *id, char **ret_holder);
	const struct pcidevice_allocations *(*allocations)(void *arg, const char *id);
	/* Why no container can get any GPU now; NULL: it can. May be NULL itself. */
	const char *(*hindrance)(void *arg);
	/* What of the HostDeviceConfig this node does not use: all of it, again and again. */
	void (*report)(void *arg, const struct config_troubles *troubles);
	void *arg;
};

/* @node and what @deps names are borrowed. */
struct nvidia *nvidia_new(const struct this_node *node, const struct nvidia_options *options,
			  const struct nvidia_deps *deps);
/* After the plugins. Takes NULL, returns NULL. The loop must run once more. */
struct nvidia *nvidia_free(struct nvidia *nvidia);

/* The node has a new inventory, or other claims: find its GPUs, and withdraw those that claims
 * take. */
void nvidia_find_gpus(struct nvidia *nvidia);

/* The same from @facts, which are not the node's inventory yet. Borrowed for the call. */
void nvidia_find_gpus_in(struct nvidia *nvidia, const struct facts *facts);

/* Which pods have which units may have changed. */
void nvidia_pods_changed(struct nvidia *nvidia);

/* Has the card at @address a GPU that may be offered to containers? */
bool nvidia_has(const struct nvidia *nvidia, const char *address);

/* The resource that the GPU, or its first MIG device, is offered as (NULL: it is not), and why
 * containers do not get it from us (NULL: they do). False: not known yet. Valid until the next call and
 * `changed`. */
bool nvidia_offered(struct nvidia *nvidia, const char *address, const char **ret_resource,
		    const char **ret_trouble);

/* The containers that have the GPU, or a unit of it: each once, at most NVIDIA_ALLOCATIONS_MAX;
 * NULL: not known yet. Valid until the next call. */
const struct pcidevice_allocations *nvidia_allocations(struct nvidia *nvidia, const char *address);

/* Why must the card at @address not be bound to another driver now: containers have the GPU, or
 * can get it, or NVIDIA's driver does not let it go (which a claim can override, with the reason
 * UseUnknown). NULL: for no such reason. The caller frees. */
char *nvidia_bind_trouble(const struct nvidia *nvidia, const char *address);

/* The HostDeviceConfig, whose entry for this node configures the GPUs if the options name no file.
 * Borrowed until the next call or the end. */
void nvidia_set_config(struct nvidia *nvidia, const struct config *config);

/* The labels of the Node; NULL: there is no Node. They select an entry of the HostDeviceConfig, and
 * one of them can name the configuration file. */
void nvidia_set_labels(struct nvidia *nvidia, const struct json_pairs *labels);

/* The Node changed, or the list of it is there. */
void nvidia_look_at_node(struct nvidia *nvidia);

/* For what offers the GPUs in another way than nvidia_offer(): the GPUs, and how a container gets
 * them; NULL: not known yet, or (*@ret_elsewhere) another plugin offers them. */
const struct nvidia_type *nvidia_view(const struct nvidia *nvidia, bool *ret_elsewhere);

/* Make what @plugins offer what there is: a offers_type's offer(). Nothing is offered before
 * something is known of each GPU, and before the configuration is known. */
void nvidia_offer(void *arg, struct plugins *plugins);
