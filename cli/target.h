/*
 * target: the devices that a command's words name, in a cluster with the objects about them.
 *
 * Reads no more than needed: if all devices are on one node, only that node's. A caller who may get
 * single objects but not list them can use names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/client/lists.h"

struct cluster;
struct cluster_device;
struct command_run;

struct targets {
	struct cluster *cluster;
	struct cluster_device **devices; /* in the order of the words, each once */
	size_t len;
	struct lists_missing missing; /* kinds that the caller may not list */
	unsigned denied; /* of these, an object that was named may not be read either */
};

/* 0, or the exit status; then the cause has been printed. Reads @kinds in addition to
 * CLUSTER_DEVICES; ResourceClaims only if ResourceSlices show that DRA offers devices. In either
 * case targets_done() releases. */
int targets_find(struct command_run *run, unsigned kinds, struct targets *ret_targets);

/* The same for devices with a claim or a pod; with --namespace, only those that a pod of that
 * namespace has. --selector limits them. */
int targets_had(struct command_run *run, struct targets *ret_targets);

/* Print one line about those of @kinds, and events, that the caller may not read, and about the
 * devices or their claims if these may not be read either. What else may not be listed does not
 * matter to devices that were found by name. */
void targets_tell(const struct targets *targets, unsigned kinds);

/* Is @device among them? */
bool targets_have(const struct targets *targets, const struct cluster_device *device);

/* The other functions in the IOMMU group of @device, one of @targets, that must be claimed with it
 * and are neither claimed nor among @targets: the names of their objects, joined by blanks. "":
 * which ones is not known; NULL: none. The caller frees. Pure. */
char *targets_group_rest(const struct targets *targets, const struct cluster_device *device);

void targets_done(struct targets *targets);
#define auto_targets __attribute__((cleanup(targets_done)))
