/*
 * node_fault: what is wrong with a node, so that what is known of its devices may be out of date, and
 * nobody there carries out a claim.
 *
 * Pure. Of a silent agent (its process gone, its node Ready) the claims of the node alone tell: the
 * controller writes it there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/condition.h"

struct node;

/* Texts are borrowed from the objects, or static; none is NULL but the reason. */
struct node_fault {
	const char *
		reason; /* of NodeReachable: "NodeGone", "NodeNotReady", "AgentNotRunning"; NULL: well */
	const char *why;     /* the reason of the Node's condition: "KubeletNotReady"; or "" */
	const char *message; /* or ""           */
	const char *since;   /* RFC 3339, or "" */
};

/* By its Node; NULL: there is none, although all were read. One of which no kubelet has said anything yet
 * has no fault. */
struct node_fault node_judge(const struct node *node);

/* By the condition NodeReachable of a claim; @conditions may be NULL. With @node_known, as to the agent alone:
 * what the Node says itself is newer. */
struct node_fault node_told(const struct api_conditions *conditions, bool node_known);

/* "NotReady for 60m: KubeletNotReady", for the caller to free. */
char *node_fault_text(const struct node_fault *fault, int64_t now_wall_ms);
