#include "api/node.h"
#include "unit/suite.h"

#include "api/pcideviceclaim.h"
#include "cli/model/node_fault.h"
#include "unit/cli/made.h"

#define NODE(conditions) "{'metadata':{'name':'vm1'},'status':{'conditions':[" conditions "]}}"
#define CLAIM(conditions) \
	"{'metadata':{'name':'vm1-000003000'},'status':{'conditions':[" conditions "]}}"

/* clang-format off */
static struct node_case {
	const char *name;
	const char *json;   /* NULL: there is no such Node */
	const char *reason; /* NULL: it is well */
	const char *text;
} nodes[] = {
	{ "a node that is Ready is well", NODE(MADE_CONDITION("Ready", "True", "KubeletReady", "")), NULL, NULL },
	{ "one that is not is not", NODE(MADE_CONDITION("Ready", "False", "KubeletNotReady", "no runtime")),
	  "NodeNotReady", "NotReady for 60m: KubeletNotReady" },
	{ "nor is one that nobody hears of any more", NODE(MADE_CONDITION("Ready", "Unknown", "NodeStatusUnknown", "")),
	  "NodeNotReady", "NotReady for 60m: NodeStatusUnknown" },
	{ "one of which no kubelet has said anything yet is well", NODE(MADE_CONDITION("DiskPressure", "False", "x", "")),
	  NULL, NULL },
	{ "one that is not there is gone", NULL, "NodeGone", "gone" },
};

static struct told_case {
	const char *name;
	const char *json;
	bool node_known;
	const char *reason;
	const char *text;
} claims[] = {
	{ "a claim says that the agent does not run", CLAIM(MADE_CONDITION("NodeReachable", "False", "AgentNotRunning", "")),
	  true, "AgentNotRunning", "no agent for 60m" },
	{ "of the node, the Node itself says more", CLAIM(MADE_CONDITION("NodeReachable", "False", "NodeNotReady", "")),
	  true, NULL, NULL },
	{ "unless nobody may read it", CLAIM(MADE_CONDITION("NodeReachable", "False", "NodeNotReady", "")),
	  false, "NodeNotReady", "NotReady for 60m" },
	{ "a claim whose node can be reached says nothing", CLAIM(MADE_CONDITION("NodeReachable", "True", "Reachable", "")),
	  false, NULL, NULL },
	{ "nor does one without that condition", CLAIM(MADE_CONDITION("Ready", "False", "AgentNotRunning", "")),
	  false, NULL, NULL },
};
/* clang-format on */

static void *object(const struct api_kind *kind, const char *text)
{
	auto_free char *json = text ? made_json(text) : NULL;
	auto_json json_t *value = NULL;
	void *made = NULL;

	if (!json)
		return NULL;
	assert_int_equal(json_map_load(json, strlen(json), &value, NULL), 0);
	assert_int_equal(api_object_decode(kind, value, &made, NULL), 0);
	return made;
}

static void check(const struct node_fault *fault, const char *reason, const char *text)
{
	auto_free char *said =
		fault->reason ? node_fault_text(fault, INT64_C(1767326400) * 1000) : NULL;

	assert_int_equal(!fault->reason, !reason);
	if (!reason)
		return;
	assert_string_equal(fault->reason, reason);
	assert_string_equal(said, text);
}

static void node_is_judged(void **state)
{
	const struct node_case *c = *state;
	struct node *node = object(&node_kind, c->json);
	struct node_fault fault = node_judge(node);

	check(&fault, c->reason, c->text);
	api_object_free(&node_kind, node);
}

static void claim_tells(void **state)
{
	const struct told_case *c = *state;
	struct pcideviceclaim *claim = object(&pcideviceclaim_kind, c->json);
	struct node_fault fault = node_told(&claim->status.conditions, c->node_known);

	check(&fault, c->reason, c->text);
	api_object_free(&pcideviceclaim_kind, claim);
}

static struct sentence_case {
	const char *name;
	struct node_fault fault;
	const char *text;
} sentences[] = {
	{ "a node",
	  { "NodeNotReady", "ByHand", "", "2026-01-02T03:00:00Z" },
	  "vm1 is NotReady for 60m: ByHand" },
	{ "a node that is gone", { "NodeGone", "", "", "" }, "vm1 is gone" },
	{ "an agent",
	  { "AgentNotRunning", "", "no pod", "2026-01-02T03:00:00Z" },
	  "no agent has been running on vm1 for 60m" },
	{ "an agent, since it is not known when",
	  { "AgentNotRunning", "", "", "" },
	  "no agent is running on vm1" },
};

static void fault_reads_as_a_sentence(void **state)
{
	const struct sentence_case *c = *state;
	auto_free char *text = node_fault_sentence(&c->fault, "vm1", INT64_C(1767326400) * 1000);

	assert_string_equal(text, c->text);
}

static void no_claim_tells_nothing(void **state)
{
	assert_null(node_told(NULL, false).reason);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, nodes, node_is_judged);
	suite_rows(&suite, claims, claim_tells);
	suite_rows(&suite, sentences, fault_reads_as_a_sentence);
	suite_add(&suite, "without a claim nothing is told", no_claim_tells_nothing, NULL);
	return suite_run(&suite, "node_fault");
}
