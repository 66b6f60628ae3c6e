/* rules: which rule is asked, what is done with half the facts, and with objects that make no
 * sense. */
#include "unit/admission/cluster.h"

#define NIC "node1-000001000"

static const char *const resources[] = {
	"pcideviceclaims", "usbdeviceclaims", "sriovnetworkdevices",
	"sriovgpudevices", "vgpudevices",     "migconfigurations",
	"pcidevices",      "usbdevices",      "virtualmachines",
};

/* clang-format off */
static const char *const nonsense[] = {
	"{}", "{'metadata':null}", "{'metadata':7}", "{'metadata':{}}", "{'metadata':{'name':7}}", "{'metadata':{'name':''}}",
	"{'metadata':{'name':'a','annotations':[1]}}", "{'metadata':{'name':'a','ownerReferences':[[]]}}",
	"{'metadata':{'name':'a','labels':{'a':{}}}}", "{'metadata':{'name':'a'},'spec':7}", "{'metadata':{'name':'a'},'spec':[]}",
	"{'metadata':{'name':'a'},'spec':{'address':1,'nodeName':[],'numVFs':'x','enabled':'no','profileSpec':7,'template':[]}}",
	"{'metadata':{'name':'a'},'spec':{'numVFs':99999999999,'profileSpec':[null],'virtualFunctions':[{'index':'x'}]}}",
	"{'metadata':{'name':'a'},'status':'x'}", "{'metadata':{'name':'a'},'status':{'conditions':{},'availableTypes':[1]}}",
	"{'kind':'Pod','metadata':{'name':'a'}}", "{'apiVersion':7,'metadata':{'name':'a'}}",
	"{'metadata':{'name':'node1-000001000','annotations':{'a':'\\u0000'}},'spec':{'userName':'\\u0000','address':'\\ud83d\\ude00'}}",
};
/* clang-format on */

/* An answer comes, whatever is asked; what cannot be read is not let through, but for machines. */
static void nonsense_is_answered(void **state)
{
	struct cluster *cluster = *state;

	for (size_t i = 0; i < ARRAY_LEN(nonsense) * ARRAY_LEN(resources) * ADMISSION_DELETE; i++) {
		struct cluster_case row = {
			.resource = resources[i % ARRAY_LEN(resources)],
			.operation = 1 + (i / ARRAY_LEN(resources)) % ADMISSION_DELETE,
			.object = nonsense[i / ARRAY_LEN(resources) / ADMISSION_DELETE],
			.old = nonsense[i / ARRAY_LEN(resources) / ADMISSION_DELETE],
		};
		struct admission_answer answer;

		cluster_ask(cluster, &row, rules_mutate, &answer);
		assert_true(answer.allowed);
		admission_answer_done(&answer);
		cluster_ask(cluster, &row, rules_validate, &answer);
		if (i / ARRAY_LEN(resources) / ADMISSION_DELETE == 0 &&
		    row.operation == ADMISSION_CREATE && i % ARRAY_LEN(resources) < 2)
			assert_int_equal(answer.code, 422);
		if (strcmp(row.resource, "virtualmachines") == 0)
			assert_true(answer.allowed);
		assert_true(answer.allowed || answer.message.len > 0);
		admission_answer_done(&answer);
	}
}

/* clang-format off */
static struct cluster_case rows[] = {
	{ .name = "an object that cannot be read is refused by its field", .operation = ADMISSION_CREATE, .resource = "pcideviceclaims",
	  .object = "{'metadata':{'name':'" NIC "'},'spec':{'address':7}}", .refused = "spec.address: expected a string, got a number" },
	{ .name = "a creation without an object", .operation = ADMISSION_CREATE, .resource = "pcideviceclaims", .refused = "the request has no object" },
	{ .name = "a deletion without an object", .operation = ADMISSION_DELETE, .resource = "pcideviceclaims", .refused = "the request has no object" },
	{ .name = "a list of more than can be taken", .operation = ADMISSION_CREATE, .resource = "nodes", .object = "{}" },
	{ .name = "a connection is not ours", .operation = ADMISSION_CONNECT, .resource = "pcideviceclaims", .object = "{}" },
	{ .name = "names from outside come out clean", .operation = ADMISSION_CREATE, .resource = "pcideviceclaims",
	  .object = "{'metadata':{'name':'a\\u001b[31m\\n'}}", .refused = "PCIDeviceClaim 'a\\x1b[31m\\x0a'" },
	{ .name = "and short", .operation = ADMISSION_CREATE, .resource = "pcideviceclaims",
	  .object = "{'metadata':{'name':'" NIC "'},'spec':{'address':'0123456789012345678901234567890123456789"
	  "012345678901234567890123456789012345678901234567890123456789'}}", .refused = "'01234567890123456789012345678901234567890123456789012345678901234567890123456...'" },
};
/* clang-format on */

/* Each store that a rule looks at must have had its list. */
static void half_the_facts_are_told(void **state)
{
	static struct cluster_case claim = { .operation = ADMISSION_CREATE,
					     .resource = "pcideviceclaims",
					     .object = OBJECT("PCIDeviceClaim", NIC, "") };
	static struct cluster_case vm = { .operation = ADMISSION_CREATE,
					  .resource = "virtualmachines",
					  .object = "{'metadata':{'name':'web'}}" };
	struct admission_answer answer;
	struct cluster *cluster = *state;

	cluster->known.synced[VIEW_USBCLAIM] = false;
	cluster_ask(cluster, &claim, rules_validate, &answer);
	assert_int_equal(answer.code, 503);
	assert_non_null(strstr(str_cstr(&answer.message),
			       "has not read all usbdeviceclaims yet: try again"));
	admission_answer_done(&answer);
	cluster_ask(cluster, &vm, rules_validate, &answer);
	assert_true(answer.allowed);
	assert_true(cluster_warned(&answer,
				   "not checked: the controller has not read all usbdeviceclaims"));
	admission_answer_done(&answer);

	cluster->known.synced[VIEW_USBCLAIM] = true;
	cluster->known.synced[VIEW_VM] = false; /* a creation does not look at machines */
	cluster_ask(cluster, &claim, rules_validate, &answer);
	assert_true(answer.allowed);
	admission_answer_done(&answer);
}

static void subresources_pass(void **state)
{
	struct admission_request request = { .uid = "1",
					     .group = "devices.harvesterhci.io",
					     .version = "v1beta1",
					     .resource = "pcideviceclaims",
					     .subresource = "status",
					     .name = "x",
					     .ns = "",
					     .user = "alice",
					     .operation = ADMISSION_UPDATE };
	struct admission_answer answer;
	struct cluster *cluster = *state;

	admission_answer_init(&answer);
	rules_validate(&cluster->known, &request, &answer);
	assert_true(answer.allowed);
	request.subresource = "";
	rules_validate(&cluster->known, &request, &answer);
	assert_false(answer.allowed);
	admission_answer_done(&answer);
}

/* kubectl delete --all */
static void deletions_of_collections_name_each(void **state)
{
	auto_json json_t *old = cluster_json(
		OBJECT("SRIOVGPUDevice", "card1", ",'spec':{'nodeName':'node1','enabled':true}"));
	struct admission_request request = { .uid = "1",
					     .group = "devices.harvesterhci.io",
					     .version = "v1beta1",
					     .resource = "sriovgpudevices",
					     .subresource = "",
					     .name = "",
					     .ns = "",
					     .user = "alice",
					     .operation = ADMISSION_DELETE,
					     .old_object = old };
	struct admission_answer answer;
	struct cluster *cluster = *state;

	admission_answer_init(&answer);
	rules_validate(&cluster->known, &request, &answer);
	assert_non_null(strstr(str_cstr(&answer.message), "SRIOVGPUDevice 'card1': it is enabled"));
	admission_answer_done(&answer);
}

/* A resource is there as long as anybody has it. */
static void resources_are_counted(void **state)
{
	struct cluster *cluster = *state;
	struct resources *list;

	list = cluster->resources;
	assert_true(resources_has(list, "x.com/e1000e"));
	assert_true(resources_has(list, "other.com/thing"));
	assert_true(resources_has(list, "kubevirt.io/" STICK));
	assert_false(resources_has(list, "x.com/other"));
	assert_false(resources_has(list, NULL));
	cluster_put(cluster, PCI(NIC, "node1", "0000:01:00.0", "1", "", "other", AVAILABLE));
	assert_true(resources_has(list, "x.com/e1000e")); /* of node2 */
	assert_true(resources_has(list, "x.com/other"));
	cluster_put(cluster,
		    PCI("node2-000001000", "node2", "0000:01:00.0", "1", "", "other", AVAILABLE));
	assert_false(resources_has(list, "x.com/e1000e"));
	cluster->changing = VIEW_NODE;
	store_remove(cluster->stores[VIEW_NODE], "node1", NULL, cluster_heard, cluster);
	assert_false(resources_has(list, "other.com/thing"));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &cluster_fixture);
	suite_rows(&suite, rows, cluster_answers_as_the_table_says);
	suite_add(&suite, "nonsense is answered", nonsense_is_answered, NULL);
	suite_add(&suite, "half the facts are told", half_the_facts_are_told, NULL);
	suite_add(&suite, "subresources pass", subresources_pass, NULL);
	suite_add(&suite, "deletions of collections name each object",
		  deletions_of_collections_name_each, NULL);
	suite_add(&suite, "resources are counted", resources_are_counted, NULL);
	return suite_run(&suite, "rules");
}
