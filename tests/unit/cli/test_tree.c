#include "unit/suite.h"

#include "cli/model/dra_request.h"
#include "cli/print/tree.h"
#include "unit/cli/made.h"

#define NOW_MS (INT64_C(1767326400) * 1000) /* 2026-01-02T04:00:00Z */

/* clang-format off */
static struct tree_case {
	const char *name;
	struct out out;
	const char *node;
	const char *text;
} trees[] = {
	{ "a table", { .format = OUT_TABLE, .utf8 = true }, NULL,
	  "DEVICE                                          STATE                               GROUP         DRIVER        CLAIM OF    POD            DESCRIPTION\n"
	  "vm1\n"
	  "├─0000:00\n"
	  "│ ├─0000:00:02.0                                - refused: HostNetwork              1             virtio-pci                               Virtio network device\n"
	  "│ └─0000:00:1f.0                                - refused: USBDevicesClaimed        2             xhci_hcd                                 USB controller\n"
	  "│   └─USB 1-2                                   ? unknown: NotSaid                                                                         Hub\n"
	  "│     └─USB 1-2.3                               ~ pending: Held                                   usb-storage   (no user)                  Stick\n"
	  "├─0000:03\n"
	  "│ ├─0000:03:00.0                                - refused: VirtualFunctionClaimed   5 (+1 more)   igb                                      82576\n"
	  "│ │ └─0000:03:10.0                              # in use                            7             vfio-pci      alice       default/vm-a   82576 VF\n"
	  "│ └─0000:03:00.1                                o claimable: GroupShared            5 (+1 more)   igb                                      82576\n"
	  "└─mdev parent mtty\n"
	  "  └─mdev 11111111-2222-3333-4444-555555555555   - refused: NotLent                                                                         Dual\n"
	  "vm2\n"
	  "├─0000:03\n"
	  "│ └─0000:03:00.0                                ? unknown: NotSaid                                                                         82576\n"
	  "└─0000:09\n"
	  "  └─0000:09:00.0                                ! missing: NotSeen                                              (no user)\n" },
	{ "of one node, where the locale has no boxes", { .format = OUT_TABLE }, "vm2",
	  "DEVICE             STATE                GROUP   DRIVER   CLAIM OF    POD   DESCRIPTION\n"
	  "vm2\n"
	  "+-0000:03\n"
	  "| `-0000:03:00.0   ? unknown: NotSaid                                      82576\n"
	  "`-0000:09\n"
	  "  `-0000:09:00.0   ! missing: NotSeen                    (no user)\n" },
	{ "in colour", { .format = OUT_TABLE, .colour = true }, "vm2",
	  "DEVICE             STATE                GROUP   DRIVER   CLAIM OF    POD   DESCRIPTION\n"
	  "vm2\n"
	  "+-0000:03\n"
	  "| `-0000:03:00.0   \033[31m? unknown: NotSaid\033[0m                                      82576\n"
	  "`-0000:09\n"
	  "  `-0000:09:00.0   \033[31m! missing: NotSeen\033[0m                    (no user)\n" },
	{ "wide, with the resource", { .format = OUT_WIDE }, "vm2",
	  "DEVICE             STATE                GROUP   DRIVER   CLAIM OF    POD   RESOURCE   DESCRIPTION\n"
	  "vm2\n"
	  "+-0000:03\n"
	  "| `-0000:03:00.0   ? unknown: NotSaid                                                 82576\n"
	  "`-0000:09\n"
	  "  `-0000:09:00.0   ! missing: NotSeen                    (no user)\n" },
	{ "fit to a terminal: without a column in which nothing stands", { .format = OUT_TABLE, .width = 80 }, "vm2",
	  "DEVICE             STATE                GROUP   DRIVER   CLAIM OF    DESCRIPTION\n"
	  "vm2\n"
	  "+-0000:03\n"
	  "| `-0000:03:00.0   ? unknown: NotSaid                                82576\n"
	  "`-0000:09\n"
	  "  `-0000:09:00.0   ! missing: NotSeen                    (no user)\n" },
	{ "and without the next one", { .format = OUT_TABLE, .width = 79 }, "vm2",
	  "DEVICE             STATE                GROUP   CLAIM OF    DESCRIPTION\n"
	  "vm2\n"
	  "+-0000:03\n"
	  "| `-0000:03:00.0   ? unknown: NotSaid                       82576\n"
	  "`-0000:09\n"
	  "  `-0000:09:00.0   ! missing: NotSeen           (no user)\n" },
	{ "and without all of them", { .format = OUT_TABLE, .width = 63 }, "vm2",
	  "DEVICE             STATE                CLAIM OF    DESCRIPTION\n"
	  "vm2\n"
	  "+-0000:03\n"
	  "| `-0000:03:00.0   ? unknown: NotSaid               82576\n"
	  "`-0000:09\n"
	  "  `-0000:09:00.0   ! missing: NotSeen   (no user)\n" },
	{ "names", { .format = OUT_NAME }, "vm2",
	  "pcidevice.devices.harvesterhci.io/vm2-000003000\n"
	  "pcideviceclaim.devices.harvesterhci.io/vm2-000009000\n" },
	{ "YAML", { .format = OUT_YAML }, "vm2",
	  "nodes:\n"
	  "- devices:\n"
	  "  - address: \"0000:03:00.0\"\n"
	  "    description: \"82576\"\n"
	  "    message: no agent has said whether it may be claimed\n"
	  "    name: vm2-000003000\n"
	  "    nodeName: vm2\n"
	  "    reason: NotSaid\n"
	  "    state: Unknown\n"
	  "    type: PCI\n"
	  "  - address: \"0000:09:00.0\"\n"
	  "    claim:\n"
	  "      name: vm2-000009000\n"
	  "    message: \"waiting for the agent of its node: is there a device of that name, and does hostdev-agent run there?\"\n"
	  "    name: vm2-000009000\n"
	  "    nodeName: vm2\n"
	  "    reason: NotSeen\n"
	  "    state: Missing\n"
	  "    type: PCI\n"
	  "  name: vm2\n" },
	{ "nothing of a node without devices", { .format = OUT_TABLE }, "vm9", "" },
};
/* clang-format on */

SUITE_OBJECT(empty, cluster_new(), cluster_free);

static void tree_looks_so(void **state)
{
	const struct tree_case *c = suite_row(state);
	struct cluster *cluster = *state;
	struct out out = c->out;

	tree_print(cluster_view(cluster), NULL, c->node, NOW_MS, &out);
	assert_string_equal(str_cstr(&out.text), c->text);
	str_done(&out.text);
}

static size_t longest(const char *text)
{
	size_t most = 0;

	for (size_t len = 0; *text; text++) {
		if (((unsigned char)*text & 0xc0) != 0x80)
			len++;
		if (*text == '\n') {
			most = len - 1 > most ? len - 1 : most;
			len = 0;
		}
	}
	return most;
}

static struct cluster *wordy_cluster(void)
{
	struct cluster *cluster = made_cluster();

	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("vm2-000003000", "vm2", "0000:03:00.0",
			  "'description':'Ethernet controller: Intel Corporation 82574L Gigabit "
			  "Network Connection','allocations':[{'namespace':'default',"
			  "'pod':'virt-launcher-machine-x7k2p','container':'compute'}]"));
	return cluster;
}

/* Empty columns and the class in the description go first, then texts are cut down to NARROWEST,
 * then columns are left out: which device it is, and its state, is never cut. */
static void a_terminal_is_filled_and_no_more(void **state)
{
	enum { NARROWEST = 91, CLASSLESS = 141 };
	struct cluster *cluster = wordy_cluster();
	struct out whole = { .format = OUT_TABLE, .utf8 = true };
	struct out wide = { .format = OUT_WIDE, .utf8 = true, .width = 80 };

	tree_print(cluster_view(cluster), NULL, "vm2", NOW_MS, &whole);
	tree_print(cluster_view(cluster), NULL, "vm2", NOW_MS, &wide);
	assert_true(longest(str_cstr(&wide.text)) > longest(str_cstr(&whole.text)));
	assert_null(strstr(str_cstr(&wide.text), "…"));
	for (size_t width = 60; width < 260; width++) {
		struct out out = { .format = OUT_TABLE, .utf8 = true, .width = width };
		size_t shown;

		tree_print(cluster_view(cluster), NULL, "vm2", NOW_MS, &out);
		shown = longest(str_cstr(&out.text));
		if (width >= longest(str_cstr(&whole.text)))
			assert_string_equal(str_cstr(&out.text), str_cstr(&whole.text));
		else if (width >= NARROWEST && width <= CLASSLESS)
			assert_int_equal(shown, width);
		else
			assert_true(shown <= width);
		if (width >= NARROWEST)
			assert_non_null(strstr(str_cstr(&out.text), "Intel Corporation 825"));
		assert_non_null(strstr(str_cstr(&out.text), "0000:03:00.0"));
		str_done(&out.text);
	}
	str_done(&whole.text);
	str_done(&wide.text);
	cluster_free(cluster);
}

/* vm1 is not ready, and there is no vm2 any more. */
static struct cluster *sick_cluster(void)
{
	struct cluster *cluster = made_cluster();

	made_put(cluster, CLUSTER_NODE,
		 "{'metadata':{'name':'vm1'},'status':{'conditions':[" MADE_CONDITION(
			 "Ready", "False", "KubeletNotReady", "runtime is down") "]}}");
	cluster_know_nodes(cluster);
	return cluster;
}

static void nodes_that_are_not_well_say_so(void **state)
{
	struct cluster *cluster = sick_cluster();
	struct out out = { .format = OUT_TABLE };

	tree_print(cluster_view(cluster), NULL, NULL, NOW_MS, &out);
	assert_non_null(strstr(
		out.text.buf,
		"\nvm1                                             ? NotReady for 60m: KubeletNotReady "));
	assert_non_null(strstr(out.text.buf, "   runtime is down\n"));
	assert_non_null(strstr(out.text.buf, "? unknown: NodeNotReady"));
	assert_non_null(
		strstr(out.text.buf, "\nvm2                                             ? gone "));
	assert_non_null(strstr(out.text.buf, "   the cluster has no such node\n"));
	assert_null(strstr(out.text.buf, "free"));
	str_clear(&out.text);
	out.format = OUT_YAML;
	tree_print(cluster_view(cluster), NULL, "vm1", NOW_MS, &out);
	assert_non_null(strstr(out.text.buf, "\n  fault:\n    message: runtime is down\n"
					     "    nodeReason: KubeletNotReady\n"
					     "    reason: NodeNotReady\n"));
	assert_non_null(strstr(out.text.buf, "    nodeFault:\n"));
	str_done(&out.text);
	cluster_free(cluster);
}

/* Of vm1's card: a vGPU that a pod has, on its virtual function, and MIG instances that are not
 * there yet. */
static struct cluster *divided_cluster(void)
{
	struct cluster *cluster = made_cluster();

	made_put(
		cluster, CLUSTER_VGPU,
		"{'metadata':{'name':'vm1-000003100'},'spec':{'address':'0000:03:10.0','nodeName':'vm1',"
		"'enabled':true,'vGPUTypeName':'NVIDIA A2-4C'},'status':{'conditions':[" MADE_CONDITION(
			"Ready", "True", "Configured", "") "]}}");
	made_put(
		cluster, CLUSTER_MIG,
		"{'metadata':{'name':'vm1-000003000'},'spec':{'gpuAddress':'0000:03:00.0','nodeName':'vm1',"
		"'enabled':true},'status':{'profileStatus':[{'name':'MIG 1g.5gb','id':19,'available':6,"
		"'total':7,'vGPUID':['1']}],'conditions':[" MADE_CONDITION(
			"Ready", "False", "ModePending", "") "]}}");
	return cluster;
}

static void parts_stand_below_what_they_are_of(void **state)
{
	struct cluster *cluster = divided_cluster();
	struct out out = { .format = OUT_TABLE };
	const char *at;

	tree_print(cluster_view(cluster), NULL, "vm1", NOW_MS, &out);
	at = strstr(out.text.buf, "| | +-0000:03:10.0 ");
	assert_non_null(at);
	at = strstr(at, "\n| | | `-vGPU ");
	assert_non_null(at);
	assert_memory_equal(strchr(at, '#'), "# in use ", strlen("# in use "));
	at = strstr(at, " NVIDIA A2-4C\n| | `-MIG ");
	assert_non_null(at);
	at = strstr(at, "~ pending: ModePending ");
	assert_non_null(at);
	assert_non_null(strstr(at, " 1 of 7 MIG 1g.5gb\n| `-0000:03:00.1 "));
	str_clear(&out.text);
	out.format = OUT_YAML;
	tree_print(cluster_view(cluster), NULL, "vm1", NOW_MS, &out);
	assert_non_null(strstr(out.text.buf, "    parts:\n"
					     "    - description: 1 of 7 MIG 1g.5gb\n"
					     "      reason: ModePending\n"));
	str_done(&out.text);
	cluster_free(cluster);
}

/* A UUID is longer than any address. It is cut before columns are left out, and so are the names of
 * users and pods before the description is. */
static void a_tree_with_mediated_devices_fits(void **state)
{
	enum { DESCRIBED = 99 };
	struct cluster *cluster = *state;

	for (size_t width = 80; width < 170; width++) {
		struct out out = { .format = OUT_TABLE, .utf8 = true, .width = width };

		tree_print(cluster_view(cluster), NULL, "vm1", NOW_MS, &out);
		assert_true(longest(str_cstr(&out.text)) <= width);
		assert_non_null(strstr(str_cstr(&out.text), "mdev 11111111-2"));
		assert_true(width < 165 || strstr(str_cstr(&out.text), "-555555555555"));
		assert_int_equal(strstr(str_cstr(&out.text), "DESCRIPTION") != NULL,
				 width >= DESCRIBED);
		assert_true(width < DESCRIBED || strstr(str_cstr(&out.text), "   Virtio network"));
		assert_int_equal(strstr(str_cstr(&out.text), "DRIVER") != NULL, width >= 127);
		str_done(&out.text);
	}
}

static void json_has_children(void **state)
{
	struct cluster *cluster = *state;
	struct out out = { .format = OUT_JSON };
	auto_json json_t *all = NULL;
	const json_t *devices;
	const json_t *card;
	const json_t *vf;

	tree_print(cluster_view(cluster), NULL, "vm1", NOW_MS, &out);
	assert_int_equal(json_map_load(out.text.buf, out.text.len, &all, NULL), 0);
	devices = json_object_get(json_array_get(json_object_get(all, "nodes"), 0), "devices");
	assert_int_equal(json_array_size(devices), 5);
	card = json_array_get(devices, 2);
	assert_string_equal(json_string_value(json_object_get(card, "name")), "vm1-000003000");
	vf = json_array_get(json_object_get(card, "children"), 0);
	assert_string_equal(json_string_value(json_object_get(vf, "state")), "InUse");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(vf, "claim"), "userName")),
		"alice");
	str_done(&out.text);
}

/* As lspci -t has them: where the bridge is, not where their bus would be. */
static void functions_stand_behind_their_bridges(void **state)
{
	static const char *const devices[] = {
		"{'metadata':{'name':'a'},'status':{'address':'0000:00:1f.0','nodeName':'n'}}",
		"{'metadata':{'name':'b'},'status':{'address':'0000:01:00.0','nodeName':'n',"
		"'bridges':['0000:00:1c.0']}}",
		"{'metadata':{'name':'c'},'status':{'address':'0000:00:02.0','nodeName':'n'}}",
		"{'metadata':{'name':'h'},'status':{'address':'0000:03:02.0','nodeName':'n',"
		"'classId':'0604','description':'A bridge','bridges':['0000:00:01.0','0000:02:00.0']}}",
		"{'metadata':{'name':'d'},'status':{'address':'0000:04:00.0','nodeName':'n',"
		"'bridges':['0000:00:01.0','0000:02:00.0','0000:03:01.0']}}",
		"{'metadata':{'name':'e'},'status':{'address':'0000:05:00.0','nodeName':'n',"
		"'bridges':['0000:00:01.0','0000:02:00.0','0000:03:02.0']}}",
		"{'metadata':{'name':'f'},'status':{'address':'0000:05:00.1','nodeName':'n',"
		"'bridges':['0000:00:01.0','0000:02:00.0','0000:03:02.0']}}",
		"{'metadata':{'name':'g'},'status':{'address':'0000:41:00.0','nodeName':'n',"
		"'bridges':['0000:40:00.0']}}",
	};
	/* 0000:03:02.0 is a device, because it is listed. */
	static const char *const drawn[] = {
		"n",
		"├─0000:00",
		"│ ├─0000:00:01.0",
		"│ │ └─0000:02:00.0",
		"│ │   ├─0000:03:01.0",
		"│ │   │ └─0000:04:00.0",
		"│ │   └─0000:03:02.0",
		"│ │     ├─0000:05:00.0",
		"│ │     └─0000:05:00.1",
		"│ ├─0000:00:02.0",
		"│ ├─0000:00:1c.0",
		"│ │ └─0000:01:00.0",
		"│ └─0000:00:1f.0",
		"└─0000:40",
		"  └─0000:40:00.0",
		"    └─0000:41:00.0",
	};
	struct cluster *cluster = *state;
	struct out out = { .format = OUT_TABLE, .utf8 = true };
	const char *line;

	for (size_t i = 0; i < ARRAY_LEN(devices); i++)
		made_put(cluster, CLUSTER_PCIDEVICE, devices[i]);
	tree_print(cluster_view(cluster), NULL, NULL, NOW_MS, &out);
	line = str_cstr(&out.text);
	for (size_t i = 0; i < ARRAY_LEN(drawn); i++) {
		line = strchr(line, '\n') + 1;
		if (strncmp(line, drawn[i], strlen(drawn[i])) != 0 ||
		    !strchr(" \n", line[strlen(drawn[i])]))
			fail_msg("'%s' is not at the beginning of %s", drawn[i], line);
	}
	assert_string_equal(strchr(line, '\n'), "\n");
	str_done(&out.text);
}

/* Nor are they counted among the functions of a group. */
static void a_bridge_of_a_group_is_not_counted(void **state)
{
	struct cluster *cluster = *state;
	struct out out = { .format = OUT_TABLE };

	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("n-1", "n", "0000:07:01.0",
			  "'iommuGroup':'14','bridges':['0000:00:1c.0'],'iommuGroupMembers':"
			  "['0000:00:1c.0','0000:07:01.0','0000:07:02.0']"));
	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("n-2", "n", "0000:08:00.0",
			  "'iommuGroup':'15','bridges':['0000:00:1d.0'],'iommuGroupMembers':"
			  "['0000:00:1d.0','0000:08:00.0']"));
	tree_print(cluster_view(cluster), NULL, NULL, NOW_MS, &out);
	assert_non_null(strstr(out.text.buf, " 14 (+1 more)"));
	assert_null(strstr(out.text.buf, " 15 (+"));
	str_done(&out.text);
}

static void mediated_devices_stand_below_their_parents(void **state)
{
	struct cluster *cluster = *state;
	struct out out = { .format = OUT_TABLE };

	made_put(
		cluster, CLUSTER_MDEV,
		"{'metadata':{'name':'n-a'},'status':{'nodeName':'n','uuid':'a','parent':'mtty'}}");
	made_put(
		cluster, CLUSTER_MDEV,
		"{'metadata':{'name':'n-b'},'status':{'nodeName':'n','uuid':'b','parent':'mdpy'}}");
	made_put(
		cluster, CLUSTER_MDEV,
		"{'metadata':{'name':'n-c'},'status':{'nodeName':'n','uuid':'c','parent':'mtty'}}");
	tree_print(cluster_view(cluster), NULL, NULL, NOW_MS, &out);
	assert_non_null(strstr(out.text.buf, "\n+-mdev parent mdpy\n| `-mdev b "));
	assert_non_null(strstr(out.text.buf, "\n`-mdev parent mtty\n  +-mdev a "));
	assert_non_null(strstr(out.text.buf, "\n  `-mdev c "));
	str_done(&out.text);
}

static void texts_of_others_move_no_cursor(void **state)
{
	struct cluster *cluster = *state;
	struct out out = { .format = OUT_TABLE };

	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("n-1", "n", "0000:01:00.0",
			  "'description':'a\\u001b[31mb\\nc','kernelDriverInUse':'\\u009bx'"));
	tree_print(cluster_view(cluster), NULL, NULL, NOW_MS, &out);
	assert_null(strchr(out.text.buf, '\033'));
	assert_null(strstr(out.text.buf, "\xc2\x9b"));
	assert_non_null(strstr(out.text.buf, "a\\x1b[31mb\\x0ac"));
	str_done(&out.text);
}

#define NIC MADE_RESULT("hostdev.io", "vm1", "pci-0000-03-00-1")
#define SAYS(driver, pool, status)                                                          \
	",'devices':[{'driver':'" driver "','pool':'" pool "','device':'pci-0000-03-00-1'," \
	"'conditions':[" MADE_CONDITION("Ready", status, "NotPrepared", "b/x has it") "]}]"
#define FOR_POD ",'reservedFor':[{'resource':'pods','name':'p'},{'resource':'jobs','name':'j'}]"

/* clang-format off */
static struct claim_case {
	const char *name;
	const char *claim;
	const char *line; /* a part of the tree; NULL: no line about a ResourceClaim */
} claim_cases[] = {
	{ "an allocated claim is below its device", MADE_RESOURCE_CLAIM("a", "nic", NIC, FOR_POD),
	  "|   `-ResourceClaim a/nic                       ~ pending: Allocated " },
	{ "one that is refused says why",
	  MADE_RESOURCE_CLAIM("a", "nic", NIC, FOR_POD SAYS("hostdev.io", "vm1/2", "False")),
	  "|   `-ResourceClaim a/nic                       ~ pending: NotPrepared " },
	{ "the message is at the end of the line",
	  MADE_RESOURCE_CLAIM("a", "nic", NIC, FOR_POD SAYS("hostdev.io", "vm1", "False")),
	  " a/p            b/x has it\n" },
	{ "what is not refused is no refusal",
	  MADE_RESOURCE_CLAIM("a", "nic", NIC, SAYS("hostdev.io", "vm1", "True")), "pending: Allocated " },
	{ "another driver refuses nothing of ours",
	  MADE_RESOURCE_CLAIM("a", "nic", NIC, SAYS("gpu.x", "vm1", "False")), "pending: Allocated " },
	{ "another node neither",
	  MADE_RESOURCE_CLAIM("a", "nic", NIC, SAYS("hostdev.io", "vm2", "False")), "pending: Allocated " },
	{ "another driver's device has no line",
	  MADE_RESOURCE_CLAIM("a", "nic", MADE_RESULT("gpu.x", "vm1", "pci-0000-03-00-1"), ""), NULL },
};
/* clang-format on */

static void claim_is_below_its_device(void **state)
{
	const struct claim_case *c = suite_row(state);
	struct cluster *cluster = *state;
	struct out out = { .format = OUT_TABLE };

	made_put(cluster, CLUSTER_RESOURCECLAIM, c->claim);
	tree_print(cluster_view(cluster), NULL, "vm1", NOW_MS, &out);
	if (c->line && !strstr(out.text.buf, c->line))
		fail_msg("no '%s' in\n%s", c->line, out.text.buf);
	if (!c->line)
		assert_null(strstr(out.text.buf, "ResourceClaim"));
	str_done(&out.text);
}

/* The pod is in the line of the device then. */
static void prepared_claim_has_no_line(void **state)
{
	struct cluster *cluster = *state;
	struct out out = { .format = OUT_YAML };

	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("vm1-000003001", "vm1", "0000:03:00.1",
			  "'allocations':[{'namespace':'a','pod':'p','container':'c',"
			  "'resourceClaim':'nic'}]"));
	made_put(cluster, CLUSTER_RESOURCECLAIM,
		 MADE_RESOURCE_CLAIM("a", "nic", NIC, SAYS("hostdev.io", "vm1", "False")));
	tree_print(cluster_view(cluster), NULL, "vm1", NOW_MS, &out);
	assert_non_null(strstr(out.text.buf, "prepared: true"));
	assert_null(strstr(out.text.buf, "b/x has it"));
	str_clear(&out.text);
	out.format = OUT_TABLE;
	tree_print(cluster_view(cluster), NULL, "vm1", NOW_MS, &out);
	assert_null(strstr(out.text.buf, "ResourceClaim"));
	made_put(cluster, CLUSTER_RESOURCECLAIM,
		 MADE_RESOURCE_CLAIM("b", "nic", NIC, SAYS("hostdev.io", "vm1", "False")));
	str_clear(&out.text);
	out.format = OUT_YAML;
	cluster_remove(cluster, CLUSTER_RESOURCECLAIM, "a/nic");
	tree_print(cluster_view(cluster), NULL, "vm1", NOW_MS, &out);
	assert_non_null(strstr(out.text.buf, "message: b/x has it\n"));
	assert_non_null(strstr(out.text.buf, "reason: NotPrepared\n"));
	str_done(&out.text);
}

#define WAITING(name, request, more)                                                               \
	"{'metadata':{'name':'" name "','namespace':'a'" more "},'spec':{'devices':{'requests':[{" \
	"'name':'r','exactly':{" request "}}]}}}"
#define CLASS(name, expression)                                                                  \
	"{'metadata':{'name':'" name "'},'spec':{'selectors':[{'cel':{'expression':'" expression \
	"'}}]}}"
#define OWNED ",'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p','uid':'u'}]"
#define GONE  ",'deletionTimestamp':'2026-01-02T03:00:00Z'"

/* clang-format off */
static struct waiting_case {
	const char *name;
	const char *claim;
	unsigned unread;
	const char *text; /* the whole list; NULL: it is not listed */
} waiting_cases[] = {
	{ "devices of our class are counted",
	  WAITING("c", "'deviceClassName':'pci.hostdev.io','count':3", OWNED), 0,
	  "\nRESOURCECLAIM   STATE       POD   WAITS FOR\n"
	  "a/c             ~ pending   a/p   asks for 3 devices of the DeviceClass pci.hostdev.io: "
	  "DRA offers 2, and 0 of these are free\n" },
	{ "a class may have any name", WAITING("c", "'deviceClassName':'nics'", ""), 0,
	  "\nRESOURCECLAIM   STATE       POD   WAITS FOR\n"
	  "a/c             ~ pending         asks for 1 device of the DeviceClass nics: "
	  "DRA offers 2, and 0 of these are free\n" },
	{ "a class that is not there",
	  WAITING("c", "'deviceClassName':'x.hostdev.io'", ""), 0,
	  "\nRESOURCECLAIM   STATE       POD   WAITS FOR\n"
	  "a/c             ~ pending         asks for 1 device of the DeviceClass x.hostdev.io: "
	  "there is no such DeviceClass\n" },
	{ "a class that may not be read",
	  WAITING("c", "'deviceClassName':'x.hostdev.io'", ""), CLUSTER_SET(CLUSTER_DEVICECLASS),
	  "\nRESOURCECLAIM   STATE       POD   WAITS FOR\n"
	  "a/c             ~ pending         asks for 1 device of the DeviceClass x.hostdev.io: "
	  "DRA offers 2, and 0 of these are free\n" },
	{ "a claim of another driver", WAITING("c", "'deviceClassName':'gpu'", ""), 0, NULL },
	{ "a claim that is deleted", WAITING("c", "'deviceClassName':'pci.hostdev.io'", GONE), 0, NULL },
	{ "a claim that is allocated", MADE_RESOURCE_CLAIM("a", "c", NIC, ""), 0, NULL },
};
/* clang-format on */

static void waiting_claim_is_listed(void **state)
{
	const struct waiting_case *c = suite_row(state);
	struct cluster *cluster = *state;
	struct dra_waitings waitings;
	struct out out = { .format = OUT_TABLE };

	made_put(cluster, CLUSTER_SLICE, MADE_SLICE);
	made_put(cluster, CLUSTER_DEVICECLASS, CLASS("pci.hostdev.io", "true"));
	made_put(cluster, CLUSTER_DEVICECLASS, CLASS("nics", "device.driver == \\'hostdev.io\\'"));
	made_put(cluster, CLUSTER_DEVICECLASS, CLASS("gpu", "device.driver == \\'gpu.x\\'"));
	made_put(cluster, CLUSTER_RESOURCECLAIM, c->claim);
	dra_waitings_find(cluster, NULL, c->unread, &waitings);
	assert_int_equal(waitings.len, c->text != NULL);
	tree_print(cluster_view(cluster), &waitings, "vm1", NOW_MS, &out);
	if (c->text && !strstr(out.text.buf, c->text))
		fail_msg("no '%s' in\n%s", c->text, out.text.buf);
	assert_int_equal(strstr(out.text.buf, "WAITS FOR") != NULL, c->text != NULL);
	str_clear(&out.text);
	out.format = OUT_YAML;
	tree_print(cluster_view(cluster), &waitings, "vm1", NOW_MS, &out);
	assert_int_equal(strstr(out.text.buf, "waitingResourceClaims:\n") != NULL, c->text != NULL);
	dra_waitings_done(&waitings);
	dra_waitings_find(cluster, "other", c->unread, &waitings);
	assert_int_equal(waitings.len, 0);
	dra_waitings_done(&waitings);
	str_done(&out.text);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a terminal is filled, and no more", a_terminal_is_filled_and_no_more,
		  NULL);
	suite_add(&suite, "nodes that are not well say so", nodes_that_are_not_well_say_so, NULL);
	suite_add(&suite, "parts stand below what they are of", parts_stand_below_what_they_are_of,
		  NULL);
	suite_fixture(&suite, &cluster_fixture);
	suite_rows(&suite, trees, tree_looks_so);
	suite_rows(&suite, claim_cases, claim_is_below_its_device);
	suite_rows(&suite, waiting_cases, waiting_claim_is_listed);
	suite_add(&suite, "a prepared ResourceClaim has no line", prepared_claim_has_no_line, NULL);
	suite_add(&suite, "a tree with mediated devices fits", a_tree_with_mediated_devices_fits,
		  NULL);
	suite_add(&suite, "JSON has children below their parents", json_has_children, NULL);
	suite_fixture(&suite, &empty_fixture);
	suite_add(&suite, "functions stand behind their bridges",
		  functions_stand_behind_their_bridges, NULL);
	suite_add(&suite, "a bridge of a group is not counted", a_bridge_of_a_group_is_not_counted,
		  NULL);
	suite_add(&suite, "mediated devices stand below their parents",
		  mediated_devices_stand_below_their_parents, NULL);
	suite_add(&suite, "texts of others move no cursor", texts_of_others_move_no_cursor, NULL);
	return suite_run(&suite, "tree");
}
