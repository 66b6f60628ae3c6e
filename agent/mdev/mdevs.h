/*
 * mdevs: the mediated devices of one node: creates and removes them as the HostDeviceConfig asks,
 * and offers them to the kubelet.
 *
 * Runs one hostdev-helper at a time for each parent, and a few in total. A parent whose helper
 * fails is retried with a growing delay; other parents are not delayed. While the helper of a
 * parent is stuck, no other is started for it. Writes only events to the API; publish writes the
 * condition of each parent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct api_condition_value;
struct config;
struct config_troubles;
struct json_pairs;
struct offers;
struct mdevs;
struct mediateddevice;
struct this_node;

enum {
	MDEVS_TASKS_MAX = 4, /* helpers at a time, without those that are stuck */
	MDEVS_RETRY_MS = 1000,
	MDEVS_RETRY_MAX_MS = 60000,
};

struct mdevs_deps {
	struct offers *offers;
	/* A helper may have created or removed instances: scan again. */
	void (*on_moved)(void *arg);
	/* Conditions of parents, or resources of instances, may have changed. */
	void (*on_changed)(void *arg);
	/* All that this node cannot carry out of the HostDeviceConfig's entries of mediated
	 * devices, once these are known. May be NULL. */
	void (*report)(void *arg, const struct config_troubles *troubles);
	/* As mdev_view has it. May be NULL. */
	const char *(*otherwise)(void *arg, const char *uuid);
	void *arg;
};

/* Adds itself to @deps' offers. @node and what @deps names are borrowed; the offers are freed
 * first. */
struct mdevs *mdevs_new(const struct this_node *node, const struct mdevs_deps *deps);
/* Takes NULL, returns NULL. The loop must run once more. */
struct mdevs *mdevs_free(struct mdevs *mdevs);

/* Decide now, so that the conditions of the inventory's parents are known before they are
 * published. */
void mdevs_plan(struct mdevs *mdevs);

/* The current HostDeviceConfig; borrowed until the next call or the end. Offers and the resources
 * of instances may change: call offers_update_soon() and publish_enqueue_all() afterwards. */
void mdevs_set_config(struct mdevs *mdevs, const struct config *config);

/* The labels of the Node, copied. */
void mdevs_set_labels(struct mdevs *mdevs, const struct json_pairs *labels);

/* Whether a pod has a mediated device may have changed: decide again soon, if there are any. */
void mdevs_enqueue_all(struct mdevs *mdevs);

/* The resource that offers @device; NULL: none. Valid until the config changes. */
const char *mdevs_resource(const struct mdevs *mdevs, const struct mediateddevice *device);

/* The condition Configured of @parent; NULL: not known yet. Valid until the loop goes on. */
const struct api_condition_value *mdevs_condition(const struct mdevs *mdevs, const char *parent);
