/*
 * reach: the condition NodeReachable of a claim: whether a node and agent exist that can process
 * it.
 *
 * The controller writes it, and only after it has been false at least once; the node's agent writes
 * all other conditions of a claim and keeps this one.
 */
#pragma once

struct api_conditions;

#define REACH_CONDITION "NodeReachable"

enum reach {
	REACH_UNKNOWN,
	REACH_OK,
	REACH_NODE_GONE,
	REACH_NODE_NOT_READY,
	REACH_AGENT_DOWN,
	REACH_LEN,
};

/* "NodeNotReady" */
const char *reach_reason(enum reach reach);
/* What failed and what to do about it; not for UNKNOWN. */
const char *reach_message(enum reach reach);

/* The value in @conditions. An unknown reason counts as UNKNOWN. */
enum reach reach_of_conditions(const struct api_conditions *conditions);
