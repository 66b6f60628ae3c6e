/*
 * mdevs: everything of one node that has to do with mediated devices: the type manager, which makes and
 * removes them as the HostDeviceConfig wants it, and what of them is lent.
 *
 * Owns mdev_jobs and mdev_type, and ties them to lend. Writes nothing to the API but events: how each
 * parent fares is told by publish.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/mdev/mdev_jobs.h"

struct api_condition_value;
struct config;
struct config_troubles;
struct events;
struct informer;
struct inventory;
struct json_pairs;
struct lend;
struct mdevs;
struct mediateddevice;

/* Borrowed, all of it outlives the mdevs, but for @lend, which is freed first. */
struct mdevs_deps {
	struct mdev_jobs_deps jobs; /* without @ended and @arg */
	struct events *events;
	const struct informer *parents; /* MediatedDeviceParents of this node */
	const char *node_name;
	struct lend *lend;
	/* Instances were made or removed: look again. */
	void (*moved)(void *arg);
	/* How parents fare, or as what instances are lent, may not be what it was. */
	void (*changed)(void *arg);
	/* All that this node cannot carry out of the HostDeviceConfig's entries of mediated devices, once these are
	 * known. May be NULL. */
	void (*report)(void *arg, const struct config_troubles *troubles);
	/* As mdev_view has it. May be NULL. */
	const char *(*otherwise)(void *arg, const char *uuid);
	void *arg;
};

/* Adds itself to lend. */
struct mdevs *mdevs_new(const struct mdevs_deps *deps);
/* Takes NULL, returns NULL. The loop must run once more. */
struct mdevs *mdevs_free(struct mdevs *mdevs);

/* What the node has now; borrowed until the next call or the end. Call this before lend_set() and
 * publish_set() get it. */
void mdevs_set(struct mdevs *mdevs, const struct inventory *inventory);

/* What the HostDeviceConfig says now; borrowed until the next call or the end. */
void mdevs_set_config(struct mdevs *mdevs, const struct config *config);

/* The labels of the Node, copied. */
void mdevs_set_labels(struct mdevs *mdevs, const struct json_pairs *labels);

/* Who has which device is not what it was. */
void mdevs_lent_changed(struct mdevs *mdevs);

/* As what @device is lent; NULL: it is not. Valid until the config changes. */
const char *mdevs_resource(const struct mdevs *mdevs, const struct mediateddevice *device);

/* How @parent fares; NULL: not known yet. Valid until the loop goes on. */
const struct api_condition_value *mdevs_condition(const struct mdevs *mdevs, const char *parent);
