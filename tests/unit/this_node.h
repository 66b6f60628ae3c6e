/* this_node: "node1" for parts under test, with fakes in place of API server and clock. */
#pragma once

#include "agent/node/this_node.h"

/* A bench sets what else its part uses, and the inventory when it scans. */
static inline struct this_node this_node_of(struct kube_client *client, struct clock *clock,
					    struct events *events)
{
	return (struct this_node){
		.client = client, .clock = clock, .events = events, .name = "node1"
	};
}
