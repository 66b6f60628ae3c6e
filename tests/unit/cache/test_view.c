#include "controller/cache/view.h"

#include <string.h>

#include "api/condition.h"
#include "unit/cache/stage.h"
#include "unit/suite.h"

#define OVERRIDE(name) \
	"\"annotations\":{\"pcidevice.harvesterhci.io/override-resource-name\":\"" name "\"}"
#define READY(status) \
	"{\"type\":\"Ready\",\"status\":\"" status "\",\"reason\":\"r\",\"message\":\"\"}"

static struct view_case {
	const char *name;
	enum view_kind kind;
	const char *meta;
	const char *rest;
	struct view want;
} cache[] = {
	{ "a device says node and resource",
	  VIEW_PCIDEVICE,
	  "",
	  "\"status\":{\"nodeName\":\"n\",\"resourceName\":\"a.b/c\"}",
	  { .node = "n", .resource = "a.b/c" } },
	{ "a device that has no status yet is its label's",
	  VIEW_PCIDEVICE,
	  "\"labels\":{\"nodename\":\"n\"}",
	  "",
	  { .node = "n" } },
	{ "the override of a device is its resource",
	  VIEW_PCIDEVICE,
	  OVERRIDE("x.y/z"),
	  "\"status\":{\"nodeName\":\"n\",\"resourceName\":\"a.b/c\"}",
	  { .node = "n", .resource = "x.y/z", .fixed = true } },
	{ "an override that no kubelet takes is none",
	  VIEW_PCIDEVICE,
	  OVERRIDE("nonsense"),
	  "\"status\":{\"nodeName\":\"n\",\"resourceName\":\"a.b/c\"}",
	  { .node = "n", .resource = "a.b/c" } },
	{ "a device that a container has",
	  VIEW_PCIDEVICE,
	  "",
	  "\"status\":{\"nodeName\":\"n\",\"allocations\":[{\"namespace\":\"d\",\"pod\":\"p\","
	  "\"container\":\"c\"}]}",
	  { .node = "n", .pod = "d/p", .allocated = true } },
	{ "one whose first container has no name yet",
	  VIEW_MEDIATEDDEVICE,
	  "",
	  "\"status\":{\"nodeName\":\"n\",\"typeName\":\"T4-1B\",\"allocations\":[{\"pod\":\"p\"},"
	  "{\"namespace\":\"d\",\"pod\":\"q\",\"container\":\"c\"}]}",
	  { .node = "n", .model = "T4-1B", .pod = "d/q", .allocated = true } },
	{ "a PCI device says its ids, by its own names for them",
	  VIEW_PCIDEVICE,
	  "",
	  "\"status\":{\"vendorId\":\"8086\",\"deviceId\":\"10d3\",\"vendorID\":\"1\",\"productID\":\"2\"}",
	  { .node = "", .model = "8086:10d3" } },
	{ "a USB device by its own",
	  VIEW_USBDEVICE,
	  "",
	  "\"status\":{\"vendorId\":\"8086\",\"deviceId\":\"10d3\",\"vendorID\":\"0951\",\"productID\":"
	  "\"1666\",\"resourceName\":\"k.io/s\"}",
	  { .node = "", .resource = "k.io/s", .model = "0951:1666" } },
	{ "half of them are none",
	  VIEW_PCIDEVICE,
	  "",
	  "\"status\":{\"vendorId\":\"8086\",\"deviceId\":\"\"}",
	  { .node = "" } },
	{ "a claim that is ready and ours",
	  VIEW_PCICLAIM,
	  "\"finalizers\":[\"wrangler.cattle.io/PCIDeviceClaimOnRemove\"]",
	  "\"spec\":{\"nodeName\":\"n\",\"disableResourcePooling\":true},\"status\":{\"conditions\":"
	  "[" READY("True") "]}",
	  { .node = "n", .alone = true, .ready = true, .has_finalizer = true } },
	{ "a claim of a whole group, and one that leaves the device on its driver",
	  VIEW_PCICLAIM,
	  "\"annotations\":{\"pcidevices.harvesterhci.io/skip-vfio-binding\":\"true\"}",
	  "\"spec\":{\"nodeName\":\"n\",\"includeIOMMUGroup\":true}",
	  { .node = "n", .group = true, .skipped = true } },
	{ "a claim that says that its node is not Ready",
	  VIEW_USBCLAIM,
	  "\"finalizers\":[\"somebody/else\"]",
	  "\"status\":{\"nodeName\":\"n\",\"conditions\":[{\"type\":\"NodeReachable\",\"status\":"
	  "\"False\",\"reason\":\"NodeNotReady\",\"message\":\"\"}]}",
	  { .node = "n", .reach = REACH_NODE_NOT_READY } },
	{ "a claim that is being deleted",
	  VIEW_PCICLAIM,
	  "\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"",
	  "",
	  { .node = "", .deleting = true } },
	{ "whatever has only a spec belongs to the node that it names",
	  VIEW_NIC,
	  "",
	  "\"spec\":{\"nodeName\":\"n\"},\"status\":{\"status\":\"x\"}",
	  { .node = "n" } },
	{ "a network card, and how many functions it is to have",
	  VIEW_NIC,
	  "",
	  "\"spec\":{\"nodeName\":\"n\",\"numVFs\":4}",
	  { .node = "n", .vfs = 4 } },
	{ "fewer than none are none", VIEW_NIC, "", "\"spec\":{\"numVFs\":-1}", { .node = "" } },
	{ "more than there can be are as many as there can be",
	  VIEW_NIC,
	  "",
	  "\"spec\":{\"numVFs\":65536}",
	  { .node = "", .vfs = 65535 } },
	{ "a card that is divided",
	  VIEW_GPU,
	  "",
	  "\"spec\":{\"nodeName\":\"n\",\"enabled\":true}",
	  { .node = "n", .enabled = true } },
	{ "a port that can make functions",
	  VIEW_PCIDEVICE,
	  "",
	  "\"status\":{\"nodeName\":\"n\",\"classId\":\"0604\",\"totalVFs\":7}",
	  { .node = "n", .bridge = true, .vfs = 7 } },
};

static void assert_text_equal(const char *a, const char *b)
{
	assert_string_equal(a ? a : "(none)", b ? b : "(none)");
}

static void view_is_what_the_object_says(void **state)
{
	const struct view_case *c = suite_row(state);
	struct stage *stage = *state;
	const struct view *view;

	stage_put_meta(stage, c->kind, "x", c->meta, c->rest);
	view = store_object(stage->stores[c->kind], "x");
	assert_text_equal(view->node, c->want.node);
	assert_text_equal(view->resource, c->want.resource);
	assert_text_equal(view->model, c->want.model);
	assert_text_equal(view->pod, c->want.pod);
	assert_int_equal(view->fixed, c->want.fixed);
	assert_int_equal(view->allocated, c->want.allocated);
	assert_int_equal(view->alone, c->want.alone);
	assert_int_equal(view->ready, c->want.ready);
	assert_int_equal(view->has_finalizer, c->want.has_finalizer);
	assert_int_equal(view->deleting, c->want.deleting);
	assert_int_equal(view->group, c->want.group);
	assert_int_equal(view->skipped, c->want.skipped);
	assert_int_equal(view->enabled, c->want.enabled);
	assert_int_equal(view->bridge, c->want.bridge);
	assert_int_equal(view->vfs, c->want.vfs);
	assert_int_equal(view->reach, c->want.reach);
}

static struct lent_case {
	const char *name;
	struct view device;
	const struct view *claim;
	const char *lent;
} lents[] = {
	{ "unclaimed: the inventory's name", { .resource = "a.b/c" }, NULL, "a.b/c" },
	{ "claimed: the same", { .resource = "a.b/c" }, &(struct view){ .ready = true }, "a.b/c" },
	{ "the claim's annotation",
	  { .resource = "a.b/c" },
	  &(struct view){ .resource = "x.y/z" },
	  "x.y/z" },
	{ "the device's own goes before it",
	  { .resource = "a.b/c", .fixed = true },
	  &(struct view){ .resource = "x.y/z", .alone = true },
	  "a.b/c" },
	{ "without pooling a name of its own",
	  { .resource = "a.b/c" },
	  &(struct view){ .alone = true },
	  "a.b/n-1" },
	{ "no status yet: none", { .resource = NULL }, &(struct view){ .alone = true }, NULL },
};

static void lent_matches(void **state)
{
	const struct lent_case *c = *state;
	auto_free char *lent = view_resource("n-1", &c->device, c->claim);

	assert_text_equal(lent, c->lent);
}

static void nodes_and_agents(void **state)
{
	static const char *const ready =
		"\"status\":{\"conditions\":[{\"type\":\"DiskPressure\",\"status\":\"False\"}," READY(
			"True") "]},\"spec\":{\"nodeName\":\"n\"}";
	struct stage *stage = *state;
	const struct view_node *node;
	const struct view_agent *agent;

	stage_put(stage, VIEW_NODE, "n", ready);
	stage_put(stage, VIEW_AGENT, "a", ready);
	node = store_object(stage->stores[VIEW_NODE], "n");
	agent = store_object(stage->stores[VIEW_AGENT], "a");
	assert_true(node->ready && agent->running);
	assert_string_equal(agent->node, "n");

	stage_put(stage, VIEW_NODE, "n", "\"status\":{\"conditions\":[" READY("Unknown") "]}");
	stage_put_meta(stage, VIEW_AGENT, "a", "\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"",
		       ready);
	node = store_object(stage->stores[VIEW_NODE], "n");
	agent = store_object(stage->stores[VIEW_AGENT], "a");
	assert_false(node->ready || agent->running);
}

static void every_reason_is_read_as_it_is_written(void **state)
{
	for (int i = REACH_OK; i < REACH_LEN; i++) {
		struct api_conditions list = { 0 };

		api_conditions_set(&list,
				   &(struct api_condition_value){
					   .type = REACH_CONDITION,
					   .reason = reach_reason((enum reach)i),
					   .message = reach_message((enum reach)i),
				   },
				   0);
		assert_int_equal(reach_of_conditions(&list), i);
		api_conditions_remove(&list, REACH_CONDITION);
		assert_int_equal(reach_of_conditions(&list), REACH_UNKNOWN);
		free(list.items);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, lents, lent_matches);
	suite_add(&suite, "every reason is read as it is written",
		  every_reason_is_read_as_it_is_written, NULL);
	suite_fixture(&suite, &stage_fixture);
	suite_rows(&suite, cache, view_is_what_the_object_says);
	suite_add(&suite, "nodes and agents", nodes_and_agents, NULL);
	return suite_run(&suite, "view");
}
