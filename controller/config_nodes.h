/*
 * config_nodes: what deleted nodes have left in the status of the HostDeviceConfig.
 *
 * A node's agent writes its own item of status.nodes, and takes it away; that of a node which is
 * deleted has nobody. Whether a listed node is there is asked when the object changes, and every
 * minute while any is listed: these are few, whereas nodes can be thousands.
 */
#pragma once

#include <stdbool.h>

struct clock;
struct config_nodes;
struct kube_client;
struct metrics;

/* Borrowed. */
struct config_nodes_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;  /* may be NULL */
	bool (*leads)(void *arg); /* asked before each write */
	void *arg;
};

/* Begins at once. */
struct config_nodes *config_nodes_new(const struct config_nodes_deps *deps);
/* Takes NULL, returns NULL. */
struct config_nodes *config_nodes_free(struct config_nodes *nodes);
