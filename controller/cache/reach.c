#include "controller/cache/reach.h"

#include <stddef.h>
#include <string.h>

#include "api/condition.h"

/* clang-format off */
static const struct {
	const char *reason;
	const char *message;
} words[REACH_LEN] = {
	[REACH_UNKNOWN]         = { "", "" },
	[REACH_OK]             = { "Reachable", "the node is Ready and its agent runs" },
	[REACH_NODE_GONE]      = { "NodeGone",
		"the cluster has no such Node; if it does not come back, its devices and the "
		"claims that its agent has carried out are deleted in a few minutes; delete other "
		"claims yourself" },
	[REACH_NODE_NOT_READY] = { "NodeNotReady",
		"the node is not Ready, so the other conditions may be out of date; look at the "
		"node's conditions" },
	[REACH_AGENT_DOWN]     = { "AgentNotRunning",
		"no pod of hostdev-agent runs on the node, so the claim is neither carried out "
		"nor released; look at the pods of its DaemonSet" },
};
/* clang-format on */

const char *reach_reason(enum reach reach)
{
	return words[reach].reason;
}

const char *reach_message(enum reach reach)
{
	return words[reach].message;
}

enum reach reach_of_conditions(const struct api_conditions *conditions)
{
	const struct api_condition *condition = api_conditions_find(conditions, REACH_CONDITION);

	for (int i = REACH_OK; condition && condition->reason && i < REACH_LEN; i++) {
		if (strcmp(condition->reason, words[i].reason) == 0)
			return (enum reach)i;
	}
	return REACH_UNKNOWN;
}
