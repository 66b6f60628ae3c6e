/*
 * runtime_cdi: does the node's container runtime add CDI devices to containers?
 *
 * A runtime without CDI silently starts containers without their claimed devices. So nothing is
 * offered by DRA on such a node. Before a container starts, the only evidence is the runtime's
 * version, which the kubelet writes into the Node.
 */
#pragma once

#include <stdbool.h>

#include "agent/node/this_node.h"

struct config;
struct config_troubles;

/* Why the runtime @version ("containerd://1.6.20"; NULL: not known) does not count as one with CDI,
 * and what to do about it, for the caller to free; NULL: it has CDI. */
char *runtime_cdi_trouble(enum cdi_mode mode, const char *version);

/* The same for this node: *@ret_trouble. False: its Node is not known. */
bool runtime_cdi_known(const struct this_node *node, char **ret_trouble);

/* Add the entries of @config that DRA cannot offer on this node for that reason to @troubles. */
void runtime_cdi_report(const struct this_node *node, const struct config *config,
			struct config_troubles *troubles);
