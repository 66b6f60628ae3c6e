#include "cli/model/node_fault.h"

#include <string.h>

#include "api/node.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/model/age.h"

struct node_fault node_judge(const struct node *node)
{
	const struct node_condition *ready;

	if (!node)
		return (struct node_fault){ "NodeGone", "", "the cluster has no such node", "" };
	ready = node_condition_ready(node);
	if (!ready || strcmp(str_or_empty(ready->status), "True") == 0)
		return (struct node_fault){ 0 };
	return (struct node_fault){ "NodeNotReady", str_or_empty(ready->reason),
				    str_or_empty(ready->message),
				    str_or_empty(ready->last_transition_time) };
}

struct node_fault node_told(const struct api_conditions *conditions, bool node_known)
{
	const struct api_condition *reach =
		conditions ? api_conditions_find(conditions, "NodeReachable") : NULL;

	if (!reach || strcmp(str_or_empty(reach->status), "False") != 0 || !reach->reason)
		return (struct node_fault){ 0 };
	if (node_known && strcmp(reach->reason, "AgentNotRunning") != 0)
		return (struct node_fault){ 0 };
	return (struct node_fault){ reach->reason, "", str_or_empty(reach->message),
				    str_or_empty(reach->last_transition_time) };
}

/* "NotReady", as kubectl has it in `get nodes`. */
static const char *word_of(const struct node_fault *fault)
{
	static const char *const words[][2] = {
		{ "NodeGone", "gone" },
		{ "NodeNotReady", "NotReady" },
		{ "AgentNotRunning", "no agent" },
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(fault->reason, words[i][0]) == 0)
			return words[i][1];
	}
	return fault->reason;
}

char *node_fault_text(const struct node_fault *fault, int64_t now_wall_ms)
{
	char age[AGE_MAX];

	age_text(fault->since, now_wall_ms, age);
	return xasprintf("%s%s%s%s%s", word_of(fault), age[0] ? " for " : "", age,
			 fault->why[0] ? ": " : "", fault->why);
}

char *node_fault_sentence(const struct node_fault *fault, const char *node, int64_t now_wall_ms)
{
	auto_free char *state = NULL;
	char age[AGE_MAX];

	if (strcmp(fault->reason, "AgentNotRunning") == 0) {
		age_text(fault->since, now_wall_ms, age);
		return age[0] ? xasprintf("no agent has been running on %s for %s", node, age)
			      : xasprintf("no agent is running on %s", node);
	}
	state = node_fault_text(fault, now_wall_ms);
	return xasprintf("%s is %s", node, state);
}
