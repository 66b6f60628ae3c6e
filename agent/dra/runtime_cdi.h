/*
 * runtime_cdi: does the node's container runtime add CDI devices to containers?
 *
 * A runtime without CDI starts a pod that has a claim without the claimed devices, and says nothing.
 * So nothing is offered by DRA on such a node. All that can be known before a container starts is
 * the runtime's version, which the kubelet writes into the Node.
 */
#pragma once

#include <stdbool.h>

#include "agent/node/this_node.h"

struct config;
struct config_troubles;

/* Why the runtime @version ("containerd://1.6.20"; NULL: not known) does not count as one with CDI,
 * and what to do, for the caller to free; NULL: it does. */
char *runtime_cdi_trouble(enum cdi_mode mode, const char *version);

/* The same of this node. False: its Node is not known. */
bool runtime_cdi_known(const struct this_node *node, char **ret_trouble);

/* Add to @troubles the entries of @config that DRA does not carry out on this node for that
 * reason. */
void runtime_cdi_report(const struct this_node *node, const struct config *config,
			struct config_troubles *troubles);
