/*
 * node_agent: the running agent of one node.
 *
 * Creates the parts, passes on what changes to them (wiring.h) and what they ask each other
 * (lookup.h). Owns what they share (node/this_node.h), the informers of devices, claims and the
 * Node, and all parts.
 */
#pragma once

#include "agent/drm/drm.h"
#include "agent/gpu/gpu_task.h"
#include "agent/hami/hami.h"
#include "agent/monitor/monitor.h"
#include "agent/node/this_node.h"
#include "agent/nvidia/nvidia.h"
#include "agent/resource/offers.h"

struct kube_client;
struct metrics;
struct node_agent;
struct str;
struct uv_loop_s;

struct node_agent_options {
	const char *node_name;
	struct this_node_options node;
	struct monitor_options monitor;
	struct offers_options offers;
	struct gpu_options gpu;
	struct nvidia_options nvidia;
	struct hami_options hami;
	struct drm_options drm;
	struct json_strs driverless; /* classes that a release leaves without driver; borrowed */
};

/* What has been seen already: the agent's from now on. All NULL: nothing. */
struct node_agent_seen {
	struct monitor *monitor;
	struct inventory *inventory; /* what it found last; NULL: not known yet */
};

/* Starts at once. All arguments are borrowed and outlive the agent, but for @options and @seen
 * (copied, the texts of @options borrowed). */
struct node_agent *node_agent_new(struct uv_loop_s *loop, struct kube_client *client,
				  const struct node_agent_options *options,
				  const struct node_agent_seen *seen, struct metrics *metrics);

/* Tell the kubelet that there are no devices any more. @stopped is called once, within about a
 * second; then the agent is to be freed. */
void node_agent_stop(struct node_agent *agent, void (*stopped)(void *arg), void *arg);

/* Takes NULL, returns NULL; handles close on the loop's next turn. */
struct node_agent *node_agent_free(struct node_agent *agent);

/* Ready: the devices have been read and every list of the API server has been seen. When it is not,
 * the reason is appended to @reason (may be NULL). */
bool node_agent_ready(struct node_agent *agent, struct str *reason);
