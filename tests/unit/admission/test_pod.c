/* pod: pods that name a node which does not have what they ask for. */
#include "unit/admission/cluster.h"

/* clang-format off */
#define POD(name, node, containers) \
	"{'metadata':{'name':'" name "','namespace':'default','uid':'p1'},'spec':{" node "'containers':[" containers "]}}"
#define ON(node)       "'nodeName':'" node "',"
#define LIMITS(list)   "{'name':'main','resources':{'limits':{" list "}}}"
#define OFFERS(list)   OBJECT("Node", "node1", ",'status':{'allocatable':{" list "}}")
#define SILENT "spec.nodeName skips the scheduler, and node node1 does not offer x.com/e1000e: it runs without the device"

static struct cluster_case creations[] = {
	{ .name = "a pod that the scheduler places", .object = POD("p", "", LIMITS("'x.com/e1000e':'1'")) },
	{ .name = "one that names a node without the device", .object = POD("p", ON("node1"), LIMITS("'x.com/e1000e':'1'")),
	  .warned = "Pod 'default/p': " SILENT },
	{ .name = "by its second container", .object = POD("p", ON("node1"), "{'name':'a'}," LIMITS("'cpu':'1','x.com/e1000e':'1'")),
	  .warned = SILENT },
	{ .name = "by an init container", .object = POD("p", ON("node1") "'initContainers':[" LIMITS("'x.com/e1000e':'1'") "],", "{}"),
	  .warned = SILENT },
	{ .name = "of another kind", .object = POD("p", ON("node1"), LIMITS("'kubevirt.io/" STICK "':'1'")),
	  .warned = "does not offer kubevirt.io/" STICK },
	{ .name = "that another node offers by others", .object = POD("p", ON("node2"), LIMITS("'other.com/thing':'1'")),
	  .warned = "node node2 does not offer other.com/thing" },
	{ .name = "a node that offers it", .more = OFFERS("'x.com/e1000e':'1'"), .object = POD("p", ON("node1"), LIMITS("'x.com/e1000e':'1'")) },
	{ .name = "a node that has none left lets the pod fail", .more = OFFERS("'x.com/e1000e':'0'"),
	  .object = POD("p", ON("node1"), LIMITS("'x.com/e1000e':'1'")) },
	{ .name = "a resource that nobody knows", .object = POD("p", ON("node1"), LIMITS("'gone.com/x':'1'")) },
	{ .name = "a node that is not there", .object = POD("p", ON("node9"), LIMITS("'x.com/e1000e':'1'")) },
	{ .name = "no devices", .object = POD("p", ON("node2"), LIMITS("'cpu':'1','memory':'1Gi'")) },
	{ .name = "what is no pod passes, unchecked", .object = POD("p", ON("node1"), "7"), .warned = "not checked" },
};
/* clang-format on */

static const struct cluster_case silent = {
	.operation = ADMISSION_CREATE,
	.resource = "pods",
	.object = POD("p", ON("node1"), LIMITS("'x.com/e1000e':'1'")),
	.warned = SILENT,
};

static void ask(const struct cluster_case *row, bool refuse, struct admission_answer *ret_answer)
{
	struct cluster cluster;

	cluster_open(&cluster);
	cluster.known.refuse_pinned = refuse;
	cluster_ask(&cluster, row, rules_validate, ret_answer);
	cluster_check(ret_answer, row);
	cluster_close(&cluster);
}

static void what_is_warned_of_is_an_event(void **state)
{
	struct admission_answer answer;

	ask(&silent, false, &answer);
	assert_string_equal(answer.event, "DeviceNotOffered");
	admission_answer_done(&answer);
}

static void a_policy_refuses_it(void **state)
{
	struct cluster_case row = silent;
	struct admission_answer answer;

	row.warned = NULL;
	row.refused = "node node1 does not offer x.com/e1000e, and spec.nodeName skips the "
		      "scheduler: the pod would run without the device; use nodeSelector";
	ask(&row, true, &answer);
	assert_null(answer.event);
	admission_answer_done(&answer);
}

int main(void)
{
	struct suite suite = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(creations); i++) {
		creations[i].operation = ADMISSION_CREATE;
		creations[i].resource = "pods";
	}
	suite_add(&suite, "what is warned of is an event", what_is_warned_of_is_an_event, NULL);
	suite_add(&suite, "a policy refuses it", a_policy_refuses_it, NULL);
	suite_fixture(&suite, &cluster_fixture);
	suite_rows(&suite, creations, cluster_answers_as_the_table_says);
	return suite_run(&suite, "pod");
}
