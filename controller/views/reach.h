/*
 * reach: the condition NodeReachable of a claim: can anybody carry it out at all?
 *
 * The controller writes it, and only once it was not True; the agent of the node writes all other
 * conditions of a claim and keeps this one.
 */
#pragma once

struct api_conditions;

#define REACH_CONDITION "NodeReachable"

enum reach {
	REACH_UNSAID,
	REACH_OK,
	REACH_NODE_GONE,
	REACH_NODE_NOT_READY,
	REACH_AGENT_DOWN,
	REACH_LEN,
};

/* "NodeNotReady" */
const char *reach_reason(enum reach reach);
/* What failed, and what to do about it; for all but UNSAID. */
const char *reach_message(enum reach reach);

/* What the conditions say of it. A reason that is none of ours counts as UNSAID. */
enum reach reach_said(const struct api_conditions *conditions);
