/*
 * config_nodes: removes the items of deleted nodes from the status of the HostDeviceConfig.
 *
 * A node's agent writes and removes its own item of status.nodes; after the node is deleted, no
 * agent removes it. If a listed node is not in the cache, the API server is asked for the Node
 * before its item is removed.
 */
#pragma once

#include <stdbool.h>

struct clock;
struct config_nodes;
struct informer;
struct kube_client;
struct metrics;

/* All borrowed; must outlive the object. */
struct config_nodes_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;        /* may be NULL */
	const struct informer *nodes;   /* of kind VIEW_NODE */
	const struct informer *configs; /* of kind VIEW_CONFIG */
	bool (*leads)(void *arg);       /* checked before each write */
	void *arg;
};

struct config_nodes *config_nodes_new(const struct config_nodes_deps *deps);
/* Takes NULL, returns NULL. */
struct config_nodes *config_nodes_free(struct config_nodes *nodes);

/* Enqueue all listed nodes: the HostDeviceConfig has changed, or this replica leads now. */
void config_nodes_enqueue_all(struct config_nodes *nodes);
/* The Node @name has changed. */
void config_nodes_on_change(struct config_nodes *nodes, const char *name);
