/* pod: pods that name a node which does not have what they ask for. */
#include "unit/admission/cluster.h"

/* clang-format off */
#define POD(name, node, containers) \
	"{'metadata':{'name':'" name "','namespace':'default','uid':'p1'},'spec':{" node "'containers':[" containers "]}}"
#define ON(node)       "'nodeName':'" node "',"
#define LIMITS(list)   "{'name':'main','resources':{'limits':{" list "}}}"
#define ANNOTATED(kind, name, resource, rest) \
	"{'kind':'" kind "','metadata':{'name':'" name "','uid':'u9','annotations':{'pcidevice.harvesterhci.io/override-resource-name':'" \
	resource "'}}" rest "}"
#define CONFIG(spec)   OBJECT("HostDeviceConfig", "default", ",'spec':{" spec "}")
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
	{ .name = "a name that the device's own annotation wants", .more = ANNOTATED("PCIDevice", "node2-000001000", "own.com/nic", ",'status':{}"),
	  .object = POD("p", ON("node1"), LIMITS("'own.com/nic':'1'")), .warned = "does not offer own.com/nic" },
	{ .name = "one that a claim wants", .more = ANNOTATED("PCIDeviceClaim", "node2-000001000", "claim.com/nic", ""),
	  .object = POD("p", ON("node1"), LIMITS("'claim.com/nic':'1'")), .warned = "does not offer claim.com/nic" },
	{ .name = "the name that a device gets by disableResourcePooling, before its claim",
	  .object = POD("p", ON("node1"), LIMITS("'x.com/node1-000001000':'1'")), .warned = "does not offer x.com/node1-000001000" },
	{ .name = "that of another vendor is nobody's, and missing too", .object = POD("p", ON("node1"), LIMITS("'y.com/node1-000001000':'1'")),
	  .warned = "does not offer y.com/node1-000001000" },
	{ .name = "one of a mediated device", .more = OBJECT("MediatedDevice", "node2-m", ",'status':{'resourceName':'m.com/vgpu'}"),
	  .object = POD("p", ON("node1"), LIMITS("'m.com/vgpu':'1'")), .warned = "does not offer m.com/vgpu" },
	{ .name = "a USB device that is not plugged in", .object = POD("p", ON("node1"), LIMITS("'kubevirt.io/node1-1234-5678-001009':'1'")),
	  .warned = "does not offer kubevirt.io/node1-1234" },
	{ .name = "an entry of the HostDeviceConfig for PCI devices", .more = CONFIG("'pciHostDevices':[{'resourceName':'c.com/a'}]"),
	  .object = POD("p", ON("node1"), LIMITS("'c.com/a':'1'")), .warned = "does not offer c.com/a" },
	{ .name = "for USB devices", .more = CONFIG("'usb':[{'resourceName':'c.com/a'},{'resourceName':'c.com/b'}]"),
	  .object = POD("p", ON("node1"), LIMITS("'c.com/b':'1'")), .warned = "does not offer c.com/b" },
	{ .name = "for mediated devices", .more = CONFIG("'mediatedDevices':[{'resourceName':'c.com/a'}]"),
	  .object = POD("p", ON("node1"), LIMITS("'c.com/a':'1'")), .warned = "does not offer c.com/a" },
	{ .name = "for device nodes", .more = CONFIG("'genericDevices':[{'resourceName':'c.com/a','path':'/dev/kvm'}]"),
	  .object = POD("p", ON("node1"), LIMITS("'c.com/a':'1'")), .warned = "does not offer c.com/a" },
	{ .name = "for sockets", .more = CONFIG("'socketDevices':[{'resourceName':'c.com/a','socketPath':'/run/a'}]"),
	  .object = POD("p", ON("node1"), LIMITS("'c.com/a':'1'")), .warned = "does not offer c.com/a" },
	{ .name = "for iommufd, by its usual name", .more = CONFIG("'iommufd':{'enabled':true}"),
	  .object = POD("p", ON("node1"), LIMITS("'devices.kubevirt.io/iommufd':'1'")), .warned = "does not offer devices.kubevirt.io/iommufd" },
	{ .name = "an entry that is gone", .more = CONFIG("'usb':[{'resourceName':'c.com/a'}]") CONFIG(""),
	  .object = POD("p", ON("node1"), LIMITS("'c.com/a':'1'")), .warned = "does not offer c.com/a" },
	{ .name = "none of it is asked for", .object = POD("p", ON("node1"), LIMITS("'x.com/e1000e':'0'")) },
	{ .name = "none, in other words", .object = POD("p", ON("node1"), LIMITS("'x.com/e1000e':'0k'")) },
	{ .name = "many of it", .object = POD("p", ON("node1"), LIMITS("'x.com/e1000e':'1k'")), .warned = SILENT },
	{ .name = "a resource that nobody knows may be misspelt", .object = POD("p", ON("node1"), LIMITS("'gone.com/x':'1'")),
	  .warned = "node node1 does not offer gone.com/x" },
	{ .name = "beside one of ours, which is named", .object = POD("p", ON("node1"), LIMITS("'gone.com/x':'1','x.com/e1000e':'1'")),
	  .warned = SILENT },
	{ .name = "what is no extended resource",
	  .object = POD("p", ON("node1"), LIMITS("'hugepages-2Mi':'1','scheduling.kubernetes.io/x':'1','requests.cpu/x':'1'")) },
	{ .name = "a node that is not there", .object = POD("p", ON("node9"), LIMITS("'x.com/e1000e':'1'")),
	  .warned = "Pod 'default/p': spec.nodeName skips the scheduler, and there is no node 'node9': nothing runs the pod" },
	{ .name = "that and no device", .object = POD("p", ON("node9"), LIMITS("'cpu':'1'")) },
	{ .name = "an empty name of a node", .object = POD("p", ON(""), LIMITS("'x.com/e1000e':'1'")) },
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
	if (row->more)
		cluster_put_all(&cluster, row->more);
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

static void it_refuses_what_the_config_names(void **state)
{
	struct cluster_case row = silent;
	struct admission_answer answer;

	row.more = CONFIG("'genericDevices':[{'resourceName':'c.com/a','path':'/dev/kvm'}]");
	row.object = POD("p", ON("node1"), LIMITS("'c.com/a':'1'"));
	row.warned = NULL;
	row.refused = "node node1 does not offer c.com/a";
	ask(&row, true, &answer);
	admission_answer_done(&answer);
}

/* It may be another plugin's, which will offer it later. */
static void a_policy_does_not_refuse_what_nobody_knows(void **state)
{
	struct cluster_case row = silent;
	struct admission_answer answer;

	row.object = POD("p", ON("node1"), LIMITS("'gone.com/x':'1'"));
	row.warned = "does not offer gone.com/x";
	ask(&row, true, &answer);
	admission_answer_done(&answer);
}

/* Whose static pod runs all the same. */
static void a_mirror_pod_is_warned_of_at_most(void **state)
{
	struct cluster_case row = silent;
	struct admission_answer answer;

	row.object = "{'metadata':{'name':'p','namespace':'default','uid':'p1','annotations':"
		     "{'kubernetes.io/config.mirror':'5f3e'}},'spec':{" ON(
			     "node1") "'containers':[" LIMITS("'x.com/e1000e':'1'") "]}}";
	ask(&row, true, &answer);
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
	suite_add(&suite, "it refuses what the config names", it_refuses_what_the_config_names,
		  NULL);
	suite_add(&suite, "a policy does not refuse what nobody knows",
		  a_policy_does_not_refuse_what_nobody_knows, NULL);
	suite_add(&suite, "a mirror pod is warned of at most", a_mirror_pod_is_warned_of_at_most,
		  NULL);
	suite_fixture(&suite, &cluster_fixture);
	suite_rows(&suite, creations, cluster_answers_as_the_table_says);
	return suite_run(&suite, "pod");
}
