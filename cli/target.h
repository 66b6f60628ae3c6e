/*
 * target: the devices that a command's words mean, with what there is about them in a cluster.
 *
 * Reads no more than that needs: where all devices are of one node, that node's. Who may read single
 * objects but no lists gets along with names.
 */
#pragma once

#include <stddef.h>

#include "cli/ask/lists.h"

struct cluster;
struct cluster_device;
struct command_run;

struct targets {
	struct cluster *cluster;
	struct cluster_device **devices; /* in the order of the words, each once */
	size_t len;
	struct lists_missing missing; /* lists that the caller may not read */
};

/* 0, or the status to end with, after it was said why. @kinds are read beside CLUSTER_DEVICES. In either
 * case targets_done() releases. */
int targets_find(struct command_run *run, unsigned kinds, struct targets *ret_targets);

/* The same for devices that somebody has: with a claim or a pod; with --namespace, with a pod of that. Of
 * those with the labels of --selector. */
int targets_had(struct command_run *run, struct targets *ret_targets);

void targets_done(struct targets *targets);
#define auto_targets __attribute__((cleanup(targets_done)))
