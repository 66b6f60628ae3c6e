/*
 * node_fault: why the reports about a node's devices may be out of date, and its claims are not
 * carried out.
 *
 * Pure. If only the agent is down (and the node Ready), only the claims of the node show it: the
 * controller writes it there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/condition.h"

struct node;

/* Texts are borrowed from the objects, or static. Only the reason may be NULL. */
struct node_fault {
	/* of NodeReachable: "NodeGone", "NodeNotReady", "AgentNotRunning"; NULL: it is well */
	const char *reason;
	const char *why;     /* the reason of the Node's condition: "KubeletNotReady"; or "" */
	const char *message; /* or ""           */
	const char *since;   /* RFC 3339, or "" */
};

/* The fault that a Node shows. NULL: the Node does not exist, although all have been read. A
 * Node whose kubelet has not reported yet has no fault. */
struct node_fault node_judge(const struct node *node);

/* The fault that the condition NodeReachable of a claim shows; @conditions may be NULL. With
 * @node_known only faults of the agent count, because the Node itself is newer. */
struct node_fault node_told(const struct api_conditions *conditions, bool node_known);

/* "NotReady for 60m: KubeletNotReady", for the caller to free. */
char *node_fault_text(const struct node_fault *fault, int64_t now_wall_ms);

/* "vm1 is NotReady for 60m: KubeletNotReady", "no agent has been running on vm1 for 16s". The
 * caller frees. */
char *node_fault_sentence(const struct node_fault *fault, const char *node, int64_t now_wall_ms);
