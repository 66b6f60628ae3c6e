/*
 * nvidia: NVIDIA's GPUs for containers, as NVIDIA's device plugin offers them: follows the GPUs that the
 * kernel says NVIDIA's driver has, runs hostdev-nvml to read, watch and probe them, and offers them to the
 * kubelet.
 *
 * A run that misses its deadline or dies is followed by another one, of questions and of watches each at
 * most once in NVIDIA_REPLACE_MS, and at once after the first. While NVIDIA's device plugin runs on
 * the node, nothing is offered.
 */
#pragma once

#include <stdbool.h>

struct json_pairs;
struct nvidia;
struct plugins;
struct this_node;

enum {
	NVIDIA_COLD_MS = 20000, /* one GPU's first answer: the driver initializes it */
	NVIDIA_WARM_MS = 5000,  /* any later one                                     */
	NVIDIA_REPLACE_MS = 60000,
	NVIDIA_LOOK_MS = 5000,    /* at configuration and CDI files, and for another plugin */
	NVIDIA_SETTLE_MS = 500,   /* until a new configuration file is read again */
	NVIDIA_MIG_MS = 60000,    /* at MIG devices, whose events do not reach everybody */
	NVIDIA_ABSENT_MS = 30000, /* while no GPU has ever answered */
};

/* The texts are borrowed. */
struct nvidia_options {
	bool on;
	const char *driver_root; /* NULL: the library is where the loader finds it     */
	const char *config_file; /* NVIDIA's configuration file; NULL: none            */
	const char *config_dir;  /* or the folder of which a label names one           */
	unsigned lists;          /* enum nvidia_list; 0: as the file says, or by envvar */
	const char *mig;         /* a MIG strategy; NULL: as the file says, or none     */
	const char *ignored_xids, *fatal_xids; /* as xid_policy_init() takes them, or NULL */
};

/* @changed: what is offered changed, have nvidia_offer() called soon. @node and @arg are borrowed. */
struct nvidia *nvidia_new(const struct this_node *node, const struct nvidia_options *options,
			  void (*changed)(void *arg), void *arg);
/* After the plugins. Takes NULL, returns NULL. The loop must run once more. */
struct nvidia *nvidia_free(struct nvidia *nvidia);

/* The node has a new inventory: find its GPUs. */
void nvidia_find_gpus(struct nvidia *nvidia);

/* The labels of the Node; NULL: there is no Node. One of them can name the configuration file. */
void nvidia_set_labels(struct nvidia *nvidia, const struct json_pairs *labels);

/* Make what @plugins offer what there is: a lend_type's offer(). Nothing is offered before something is
 * known of each GPU, and before a good configuration file was read if there is one. */
void nvidia_offer(void *arg, struct plugins *plugins);
