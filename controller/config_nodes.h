/*
 * config_nodes: what deleted nodes have left in the status of the HostDeviceConfig.
 *
 * A node's agent writes its own item of status.nodes, and takes it away; that of a node which is
 * deleted has nobody. A listed node that the views do not have is asked for once more before its item
 * goes; whether it is in them is looked up when the object changes, and when a node is deleted.
 */
#pragma once

#include <stdbool.h>

struct clock;
struct config_nodes;
struct kube_client;
struct metrics;
struct store;

/* Borrowed. */
struct config_nodes_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;     /* may be NULL                                 */
	const struct store *nodes;   /* those that there are, as far as it was read */
	const struct store *configs; /* the HostDeviceConfig, likewise                 */
	bool (*leads)(void *arg);    /* asked before each write */
	void *arg;
};

/* Begins with what the stores have. */
struct config_nodes *config_nodes_new(const struct config_nodes_deps *deps);
/* The HostDeviceConfig has changed. */
void config_nodes_look(struct config_nodes *nodes);
/* The Node @name is deleted. */
void config_nodes_gone(struct config_nodes *nodes, const char *name);
/* Takes NULL, returns NULL. */
struct config_nodes *config_nodes_free(struct config_nodes *nodes);
