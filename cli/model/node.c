#include "cli/model/node.h"

#include <string.h>

#include "api/json_map.h"
#include "base/mem.h"
#include "cli/model/age.h"

static const struct json_row info_map[] = {
	JSON_STR(struct node_info, kernel, "kernelVersion", JSON_OPTIONAL),
	JSON_STR(struct node_info, kubelet, "kubeletVersion", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row spec_map[] = {
	JSON_BOOL(struct node_spec, unschedulable, "unschedulable", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row status_map[] = {
	API_CONDITIONS(struct node_status),
	JSON_STRUCT(struct node_status, info, "nodeInfo", JSON_OPTIONAL, struct node_info,
		    info_map),
	JSON_END,
};

static const struct json_row map[] = {
	API_META(struct node),
	JSON_STRUCT(struct node, spec, "spec", JSON_OPTIONAL, struct node_spec, spec_map),
	JSON_STRUCT(struct node, status, "status", JSON_OPTIONAL, struct node_status, status_map),
	JSON_END,
};

const struct api_kind node_kind = {
	.group = "",
	.version = "v1",
	.kind = "Node",
	.plural = "nodes",
	.size = sizeof(struct node),
	.map = map,
};

static const char *text(const char *value)
{
	return value ? value : "";
}

struct node_fault node_judge(const struct node *node)
{
	const struct api_condition *ready;

	if (!node)
		return (struct node_fault){ "NodeGone", "", "the cluster has no such node", "" };
	ready = api_conditions_find(&node->status.conditions, "Ready");
	if (!ready || strcmp(text(ready->status), "True") == 0)
		return (struct node_fault){ 0 };
	return (struct node_fault){ "NodeNotReady", text(ready->reason), text(ready->message),
				    text(ready->last_transition_time) };
}

struct node_fault node_told(const struct api_conditions *conditions, bool node_known)
{
	const struct api_condition *reach =
		conditions ? api_conditions_find(conditions, "NodeReachable") : NULL;

	if (!reach || strcmp(text(reach->status), "False") != 0 || !reach->reason)
		return (struct node_fault){ 0 };
	if (node_known && strcmp(reach->reason, "AgentNotRunning") != 0)
		return (struct node_fault){ 0 };
	return (struct node_fault){ reach->reason, "", text(reach->message),
				    text(reach->last_transition_time) };
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
