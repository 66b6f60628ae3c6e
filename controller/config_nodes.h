/*
 * config_nodes: what deleted nodes have left in the status of the HostDeviceConfig.
 *
 * A node's agent writes its own item of status.nodes, and takes it away; that of a node which is
 * deleted has nobody. Before the item of a listed node goes that the cache does not have, the API
 * server is asked for the Node.
 */
#pragma once

#include <stdbool.h>

struct clock;
struct config_nodes;
struct informer;
struct kube_client;
struct metrics;

/* Borrowed, all of it outlives it. */
struct config_nodes_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;        /* may be NULL             */
	const struct informer *nodes;   /* of the kind VIEW_NODE   */
	const struct informer *configs; /* of the kind VIEW_CONFIG */
	bool (*leads)(void *arg);       /* asked before each write */
	void *arg;
};

struct config_nodes *config_nodes_new(const struct config_nodes_deps *deps);
/* Takes NULL, returns NULL. */
struct config_nodes *config_nodes_free(struct config_nodes *nodes);

/* The HostDeviceConfig has changed, or this replica leads now: run all nodes that are listed. */
void config_nodes_enqueue_all(struct config_nodes *nodes);
/* The Node @name has changed. */
void config_nodes_on_change(struct config_nodes *nodes, const char *name);
