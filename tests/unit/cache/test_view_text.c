/* view_text: what the rules are to know of an object, however much of it there is. */

#include <string.h>

#include "base/str.h"
#include "controller/cache/view.h"
#include "unit/cache/stage.h"
#include "unit/suite.h"

enum { TEXTS = VIEW_TEXT_MEMBER };

/* clang-format off */
#define CLAIMABLE(status, reason, message) \
	"'conditions':[{'type':'Claimable','status':'" status "','reason':'" reason "','message':'" message "'}]"

/* JSON is written with ' for ". */
static struct text_case {
	const char *name;
	enum view_kind kind;
	const char *meta;
	const char *rest;
	const char *texts[TEXTS]; /* NULL: "" */
	const char *pod;
	size_t members;
} cases[] = {
	{ "a device of which nothing is known", VIEW_PCIDEVICE, "", "", { 0 }, NULL, 0 },
	{ "a device that may be claimed", VIEW_PCIDEVICE, "",
	  "'status':{'address':'0000:01:00.0','nodeName':'node1','iommuGroup':'12','iommuGroupMembers':['0000:01:00.0'],"
	  "'kernelDriverInUse':'e1000e','resourceName':'x.com/a'," CLAIMABLE("True", "Available", "may be claimed") "}",
	  { [VIEW_TEXT_ADDRESS] = "0000:01:00.0", [VIEW_TEXT_NODE] = "node1", [VIEW_TEXT_GROUP] = "12",
	    [VIEW_TEXT_RESOURCE] = "x.com/a", [VIEW_TEXT_DRIVER] = "e1000e", [VIEW_TEXT_NATIVE] = "e1000e" }, NULL, 0 },
	{ "one that may not, and a pod has it", VIEW_PCIDEVICE, "",
	  "'status':{'nodeName':'n','kernelDriverInUse':'vfio-pci','physicalFunction':'0000:01:10.0','allocations':["
	  "{'namespace':'n','pod':'p'},{'namespace':'m','pod':'q'}]," CLAIMABLE("False", "InUse", "why") "}",
	  { [VIEW_TEXT_NODE] = "n", [VIEW_TEXT_DRIVER] = "vfio-pci", [VIEW_TEXT_NATIVE] = "vfio-pci",
	    [VIEW_TEXT_PARENT] = "0000:01:10.0", [VIEW_TEXT_REASON] = "InUse", [VIEW_TEXT_MESSAGE] = "why",
	    [VIEW_TEXT_POD] = "n/p" }, "n/p", 0 },
	{ "what it goes back to was noted", VIEW_PCIDEVICE,
	  "'annotations':{'x':'y','harvesterhci.io/pcideviceDriver':'igb'}", "'status':{'kernelDriverInUse':'vfio-pci'}",
	  { [VIEW_TEXT_DRIVER] = "vfio-pci", [VIEW_TEXT_NATIVE] = "igb" }, NULL, 0 },
	{ "it is known what it goes back to, and it has no driver", VIEW_PCIDEVICE,
	  "'annotations':{'harvesterhci.io/pcideviceDriver':'igb'}", "", { [VIEW_TEXT_NATIVE] = "igb" }, NULL, 0 },
	{ "an override leaves what the inventory says", VIEW_PCIDEVICE,
	  "'annotations':{'pcidevice.harvesterhci.io/override-resource-name':'x.y/z'}", "'status':{'resourceName':'a.b/c'}",
	  { [VIEW_TEXT_RESOURCE] = "a.b/c", [VIEW_TEXT_OVERRIDE] = "x.y/z" }, NULL, 0 },
	{ "a label is not what the object says itself", VIEW_PCIDEVICE, "'labels':{'nodename':'n'}", "",
	  { [VIEW_TEXT_NODE_LABEL] = "n" }, NULL, 0 },
	{ "a group of three", VIEW_PCIDEVICE, "",
	  "'status':{'iommuGroup':'1','iommuGroupMembers':['0000:01:00.0','0000:01:00.1','0000:02:00.0']}",
	  { [VIEW_TEXT_GROUP] = "1" }, NULL, 3 },
	{ "a refusal without a reason is one", VIEW_PCIDEVICE, "",
	  "'status':{'conditions':[{'type':'Claimable','status':'False'}]}", { [VIEW_TEXT_REASON] = "Unknown" }, NULL, 0 },
	{ "a USB device", VIEW_USBDEVICE, "",
	  "'status':{'nodeName':'n','pciAddress':'0000:00:14.0','portPath':'1-2','resourceName':'kubevirt.io/a'}",
	  { [VIEW_TEXT_NODE] = "n", [VIEW_TEXT_ADDRESS] = "0000:00:14.0", [VIEW_TEXT_PORT] = "1-2",
	    [VIEW_TEXT_RESOURCE] = "kubevirt.io/a" }, NULL, 0 },
	{ "a claim of a PCI device", VIEW_PCICLAIM, "", "'spec':{'nodeName':'n','address':'0000:01:00.0','userName':'bob'}",
	  { [VIEW_TEXT_NODE] = "n", [VIEW_TEXT_USER] = "bob" }, NULL, 0 },
	{ "a claim that stays", VIEW_PCICLAIM, "'finalizers':['x.y/z']", "", { 0 }, NULL, 0 },
	{ "a claim that goes, and waits", VIEW_PCICLAIM, "'finalizers':['x.y/z','a.b/c'],'deletionTimestamp':'2026-01-01T00:00:00Z'", "",
	  { [VIEW_TEXT_FINALIZERS] = "x.y/z, a.b/c" }, NULL, 0 },
	{ "a claim of a USB device", VIEW_USBCLAIM, "", "'status':{'nodeName':'n','pciAddress':'0000:00:14.0','portPath':'1-2'}",
	  { [VIEW_TEXT_NODE] = "n", [VIEW_TEXT_ADDRESS] = "0000:00:14.0", [VIEW_TEXT_PORT] = "1-2" }, NULL, 0 },
	{ "a network card", VIEW_NIC, "", "'spec':{'nodeName':'n','address':'0000:03:00.0','numVFs':4}",
	  { [VIEW_TEXT_NODE] = "n", [VIEW_TEXT_ADDRESS] = "0000:03:00.0" }, NULL, 0 },
	{ "a vGPU", VIEW_VGPU, "'labels':{'harvesterhci.io/parentSRIOVGPUDevice':'card'}",
	  "'spec':{'nodeName':'n','address':'0000:03:00.4','parentGPUDeviceAddress':'0000:03:00.0','enabled':true}",
	  { [VIEW_TEXT_NODE] = "n", [VIEW_TEXT_ADDRESS] = "0000:03:00.4", [VIEW_TEXT_PARENT] = "0000:03:00.0",
	    [VIEW_TEXT_CARD] = "card" }, NULL, 0 },
};
/* clang-format on */

static char *quoted(const char *text)
{
	char *copy = xstrdup(text);

	for (char *s = copy; *s; s++)
		*s = *s == '\'' ? '"' : *s;
	return copy;
}

static void put(struct stage *stage, enum view_kind kind, const char *meta, const char *rest)
{
	auto_free char *quoted_meta = quoted(meta);
	auto_free char *quoted_rest = quoted(rest);

	stage_put_meta(stage, kind, "x", quoted_meta, quoted_rest);
}

static void kept_as_the_table_says(void **state)
{
	const struct text_case *row = suite_row(state);
	struct stage *stage = *state;
	const struct view *view;

	put(stage, row->kind, row->meta, row->rest);
	view = store_object(stage->stores[row->kind], "x");
	for (int i = VIEW_TEXT_NODE; i < TEXTS; i++)
		assert_string_equal(view_text(view, (enum view_text)i),
				    row->texts[i] ? row->texts[i] : "");
	assert_string_equal(view->pod ? view->pod : "(none)", row->pod ? row->pod : "(none)");
	assert_int_equal(view_members(view), row->members);
	assert_string_equal(view_member(view, 1), row->members ? "0000:01:00.1" : "");
	assert_string_equal(view_member(view, row->members), "");
	assert_int_equal(view_has_member(view, "0000:02:00.0"), row->members > 0);
	assert_false(view_has_member(view, "0000:09:00.0"));
}

/* The schema bounds what is there, and so do we; but names that are written elsewhere again are
 * whole. */
static void large_ones_are_cut(void **state)
{
	auto_str struct str text = STR_INIT;
	struct stage *stage = *state;
	const struct view *view;

	str_add(&text, "'status':{'address':'");
	for (int i = 0; i < 100000; i++)
		str_add_char(&text, 'x');
	str_add(&text, "','resourceName':'");
	for (int i = 0; i < 100000; i++)
		str_add_char(&text, 'y');
	str_add(&text, "','iommuGroupMembers':['0");
	for (int i = 0; i < 5000; i++)
		str_addf(&text, "','0000000000000000000000000000%d", i);
	str_add(&text, "']}");
	put(stage, VIEW_PCIDEVICE, "", text.buf);
	view = store_object(stage->stores[VIEW_PCIDEVICE], "x");
	assert_int_equal(strlen(view_text(view, VIEW_TEXT_ADDRESS)), 1024);
	assert_int_equal(strlen(view->resource), 100000);
	assert_int_equal(view_members(view), 1024);
	assert_int_equal(strlen(view_member(view, 1023)), 16);
}

static void what_a_node_offers(void **state)
{
	struct stage *stage = *state;
	const struct view_node *node;
	size_t at = 0;

	put(stage, VIEW_NODE, "", "");
	node = store_object(stage->stores[VIEW_NODE], "x");
	assert_null(view_node_resource(node, &at));
	put(stage, VIEW_NODE, "'deletionTimestamp':'2026-01-02T03:04:05Z'",
	    "'status':{'allocatable':{'cpu':'4','x.com/a':'2'}}");
	node = store_object(stage->stores[VIEW_NODE], "x");
	assert_true(node->deleting);
	assert_string_equal(view_node_resource(node, &at), "cpu");
	assert_string_equal(view_node_resource(node, &at), "x.com/a");
	assert_null(view_node_resource(node, &at));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &stage_fixture);
	suite_rows(&suite, cases, kept_as_the_table_says);
	suite_add(&suite, "large ones are cut", large_ones_are_cut, NULL);
	suite_add(&suite, "what a node offers", what_a_node_offers, NULL);
	return suite_run(&suite, "view_text");
}
