#include "unit/suite.h"

#include <stdlib.h>
#include <string.h>

#include "cli/client/device_events.h"
#include "cli/print/advice.h"
#include "cli/print/pools.h"
#include "cli/why.h"
#include "unit/cli/made.h"

/* rights_how() */
#define HOW "Do it so: kubectl hostdev claim"

enum { NOW_MS_S = 1767326400 }; /* 2026-01-02T04:00:00Z */

static const char events_json[] =
	"{'metadata':{'resourceVersion':'1'},'items':["
	"{'metadata':{'name':'e1'},'type':'Normal','reason':'Old','message':'first',"
	"'involvedObject':{'kind':'PCIDevice'},'lastTimestamp':'2026-01-02T03:50:00Z'},"
	"{'metadata':{'name':'e2'},'type':'Warning','reason':'New','message':'then',"
	"'involvedObject':{'kind':'PCIDevice'},'eventTime':'2026-01-02T03:59:50.000000Z'}]}";

static struct why_case {
	const char *name;
	const char *device;
	const char *text;
} whys[] = {
	{ "what the node needs", "vm1-000000020",
	  "Name:        vm1-000000020\n"
	  "Device:      PCI 0000:00:02.0 on node vm1\n"
	  "Description: Virtio network device\n"
	  "State:       - refused, HostNetwork: eth0 has the default route\n"
	  "Driver:      virtio-pci\n"
	  "IOMMU group: 1\n"
	  "Claim:       none\n"
	  "\n"
	  "OF          CONDITION   STATUS   REASON        FOR   MESSAGE\n"
	  "PCIDevice   Claimable   False    HostNetwork   60m   eth0 has the default route\n"
	  "\n"
	  "What to do:\n"
	  "  Move the node's address or default route to another interface first.\n"
	  "\n"
	  "LAST SEEN   TYPE      REASON   ABOUT       MESSAGE\n"
	  "10s         Warning   New      PCIDevice   then\n"
	  "10m         Normal    Old      PCIDevice   first\n" },
	{ "one of two functions of a group", "vm1-000003001",
	  "Name:        vm1-000003001\n"
	  "Device:      PCI 0000:03:00.1 on node vm1\n"
	  "Description: 82576\n"
	  "State:       o claimable, GroupShared: 0000:03:00.0 must be claimed with it\n"
	  "Driver:      igb\n"
	  "IOMMU group: 5, with 0000:03:00.0 (igb, refused)\n"
	  "Claim:       none\n"
	  "\n"
	  "OF          CONDITION   STATUS   REASON        FOR   MESSAGE\n"
	  "PCIDevice   Claimable   True     GroupShared   60m   0000:03:00.0 must be claimed with it\n"
	  "\n"
	  "What to do:\n"
	  "  The functions of an IOMMU group are claimed together. " HOW "\n"
	  "\n"
	  "LAST SEEN   TYPE      REASON   ABOUT       MESSAGE\n"
	  "10s         Warning   New      PCIDevice   then\n"
	  "10m         Normal    Old      PCIDevice   first\n" },
	{ "a card with its own object, in a group", "vm1-000003000",
	  "Name:        vm1-000003000\n"
	  "Device:      PCI 0000:03:00.0 on node vm1\n"
	  "Description: 82576\n"
	  "State:       - refused, VirtualFunctionClaimed: a virtual function of it is claimed\n"
	  "Driver:      igb\n"
	  "IOMMU group: 5, with 0000:03:00.1 (igb, claimable)\n"
	  "Claim:       none\n"
	  "\n"
	  "OF                   CONDITION   STATUS   REASON     FOR   MESSAGE\n"
	  "SRIOVNetworkDevice   Ready       False    VFsInUse   60m   vm1-000003100 is claimed\n"
	  "\n"
	  "What to do:\n"
	  "  Release its virtual functions that are claimed or in use.\n"
	  "\n"
	  "LAST SEEN   TYPE      REASON   ABOUT       MESSAGE\n"
	  "10s         Warning   New      PCIDevice   then\n"
	  "10m         Normal    Old      PCIDevice   first\n" },
};

/* clang-format off */
static struct head_case {
	const char *name;
	enum device_type type;
	const char *device;
	const char *text; /* one or two lines of it */
} heads[] = {
	{ "a claim that somebody has", DEVICE_PCI, "vm1-000003100", "\nClaim:       of alice, for 60m\n" },
	{ "a claim of nobody", DEVICE_PCI, "vm1-000000aa0",
	  "\nClaim:       (no user), for 30m, deleted 60s ago\n" },
	{ "a claim without a time", DEVICE_PCI, "vm2-000009000", "\nClaim:       (no user)\n" },
	{ "where a claim says that it is", DEVICE_PCI, "vm2-000009000",
	  "\nDevice:      PCI 0000:09:00.0 on node vm2\n" },
	{ "neither address nor node", DEVICE_PCI, "vm1-000000aa0",
	  "\nDevice:      PCI, address not known, node not known\n" },
	{ "an address alone", DEVICE_PCI, "afloat", "\nDevice:      PCI 0000:07:00.0, node not known\n" },
	{ "a function of the group that may not be read", DEVICE_PCI, "vm1-00000a000",
	  "\nIOMMU group: 7, with 0000:0a:00.1 (not known)\n" },
	{ "what may be claimed, in one word", DEVICE_PCI, "vm1-000009000",
	  "\nState:       o claimable: may be claimed (IOMMU group 9)\n" },
	{ "what a pod has, in one word", DEVICE_PCI, "vm1-000003100", "\nState:       # in use: lent as intel.com/VF\n" },
	{ "a reason without a message", DEVICE_PCI, "vm1-000008000", "\nState:       o claimable, Available\n" },
	{ "a node alone", DEVICE_USB, "vm1-lost", "\nDevice:      USB, address not known, on node vm1\n" },
};
/* clang-format on */

static void read_events(struct device_events *events)
{
	auto_free char *json = made_json(events_json);

	assert_int_equal(device_events_add(events, json, strlen(json), NULL), 0);
}

static void why_reads_so(void **state)
{
	const struct why_case *c = suite_row(state);
	struct cluster *cluster = *state;
	auto_events struct device_events events = { 0 };
	struct out out = { .format = OUT_TABLE };

	read_events(&events);
	why_print(cluster, cluster_device(cluster, DEVICE_PCI, c->device), HOW, &events,
		  NOW_MS_S * INT64_C(1000), &out);
	assert_string_equal(str_cstr(&out.text), c->text);
	str_done(&out.text);
}

static void heads_read_so(void **state)
{
	const struct head_case *c = suite_row(state);
	struct cluster *cluster = *state;
	struct device_events none = { 0 };
	struct out out = { .format = OUT_TABLE };

	made_put(cluster, CLUSTER_PCICLAIM,
		 "{'metadata':{'name':'vm1-000000aa0','creationTimestamp':'2026-01-02T03:30:00Z',"
		 "'deletionTimestamp':'2026-01-02T03:59:00Z'}}");
	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("vm1-00000a000", "vm1", "0000:0a:00.0",
			  "'iommuGroup':'7','iommuGroupMembers':['0000:0a:00.0','0000:0a:00.1']"));
	made_put(
		cluster, CLUSTER_PCICLAIM,
		"{'metadata':{'name':'vm1-00000a001'},'spec':{'nodeName':'vm1','address':'0000:0a:00.1',"
		"'userName':'bob'},'status':{'conditions':[" MADE_CONDITION(
			"Ready", "False", "GroupShared", "") "]}}");
	made_put(cluster, CLUSTER_PCIDEVICE,
		 "{'metadata':{'name':'afloat'},'status':{'address':'0000:07:00.0'}}");
	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("vm1-000009000", "vm1", "0000:09:00.0",
			  "'conditions':[" MADE_CONDITION("Claimable", "True", "Available",
							  "may be claimed (IOMMU group 9)") "]"));
	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("vm1-000008000", "vm1", "0000:08:00.0",
			  "'conditions':[" MADE_CONDITION("Claimable", "True", "Available",
							  "") "]"));
	made_put(cluster, CLUSTER_USBDEVICE,
		 "{'metadata':{'name':'vm1-lost'},'status':{'nodeName':'vm1'}}");
	why_print(cluster, cluster_device(cluster, c->type, c->device), HOW, &none,
		  NOW_MS_S * INT64_C(1000), &out);
	if (!strstr(str_cstr(&out.text), c->text))
		fail_msg("no '%s' in %s", c->text, str_cstr(&out.text));
	str_done(&out.text);
}

static struct dra_case {
	const char *name;
	const char *claim; /* NULL: none that may be read */
	const char *allocations;
	const char *text; /* a part of it; "": no line about a ResourceClaim */
} dra_cases[] = {
	{ "offered by DRA", NULL, "[]",
	  "\nOffered:     by DRA as pci-0000-09-00-0 in the pool vm1 (ResourceSlice s)\n" },
	{ "claimed by nobody in DRA", NULL, "[]", "" },
	{ "allocated, before its pod starts",
	  MADE_RESOURCE_CLAIM("t", "nic", MADE_RESULT("hostdev.io", "vm1", "pci-0000-09-00-0"),
			      ",'reservedFor':[{'resource':'pods','name':'a'},"
			      "{'resource':'pods','name':'b'}]"),
	  "[]", "\nDRA claim:   t/nic, not prepared yet; for pod t/a, pod t/b\n" },
	{ "allocated, of no pod",
	  MADE_RESOURCE_CLAIM("t", "nic", MADE_RESULT("hostdev.io", "vm1", "pci-0000-09-00-0"), ""),
	  "[]", "\nDRA claim:   t/nic, not prepared yet; no pod uses it\n" },
	{ "prepared",
	  MADE_RESOURCE_CLAIM("t", "nic", MADE_RESULT("hostdev.io", "vm1", "pci-0000-09-00-0"),
			      ",'reservedFor':[{'resource':'pods','name':'a'}]"),
	  "[{'namespace':'t','pod':'a','container':'c','resourceClaim':'nic'}]",
	  "\nDRA claim:   t/nic, prepared; for pod t/a\nPod:         t/a\n" },
	{ "by a claim that may not be read", NULL,
	  "[{'namespace':'t','pod':'a','container':'c','resourceClaim':'nic'}]",
	  "\nDRA claim:   t/nic, prepared\nPod:         t/a\n" },
};

static void dra_reads_so(void **state)
{
	const struct dra_case *c = suite_row(state);
	struct cluster *cluster = *state;
	struct device_events none = { 0 };
	struct out out = { .format = OUT_TABLE };
	auto_free char *device =
		xasprintf(MADE_PCI("vm1-000009000", "vm1", "0000:09:00.0", "'allocations':%s"),
			  c->allocations);

	made_put(cluster, CLUSTER_PCIDEVICE, device);
	made_put(cluster, CLUSTER_SLICE,
		 "{'metadata':{'name':'s'},'spec':{'driver':'hostdev.io','nodeName':'vm1',"
		 "'pool':{'name':'vm1'},'devices':[{'name':'pci-0000-09-00-0'}]}}");
	if (c->claim)
		made_put(cluster, CLUSTER_RESOURCECLAIM, c->claim);
	why_print(cluster, cluster_device(cluster, DEVICE_PCI, "vm1-000009000"), HOW, &none,
		  NOW_MS_S * INT64_C(1000), &out);
	if (c->text[0] && !strstr(str_cstr(&out.text), c->text))
		fail_msg("no '%s' in %s", c->text, str_cstr(&out.text));
	if (!c->text[0])
		assert_null(strstr(str_cstr(&out.text), "DRA claim:"));
	str_done(&out.text);
}

static void what_is_older_than_the_spec_says_so(void **state)
{
	struct cluster *cluster = *state;
	struct device_events none = { 0 };
	const char *const generations[] = { "3", "4" };

	for (size_t i = 0; i < ARRAY_LEN(generations); i++) {
		struct out out = { .format = OUT_TABLE };
		auto_free char *object = xasprintf(
			"{'metadata':{'name':'vm1-eth3','generation':4},'spec':{'address':'0000:03:00.0',"
			"'nodeName':'vm1','numVFs':4},'status':{'conditions':[{'type':'Ready','status':"
			"'True','reason':'AsFound','message':'as it was','observedGeneration':%s}]}}",
			generations[i]);

		made_put(cluster, CLUSTER_SRIOV, object);
		why_print(cluster, cluster_device(cluster, DEVICE_PCI, "vm1-000003000"), HOW, &none,
			  NOW_MS_S * INT64_C(1000), &out);
		assert_non_null(
			strstr(str_cstr(&out.text),
			       i == 0 ? "not processed yet) as it was\n" : "   as it was\n"));
		str_done(&out.text);
	}
}

/* On a terminal of 80 columns. */
static void lines_fit_the_terminal(void **state)
{
	static const char text[] =
		"Name:        vm1-000003000\n"
		"Device:      PCI 0000:03:00.0 on node vm1\n"
		"Description: 82576\n"
		"State:       - refused, VirtualFunctionClaimed: a virtual function of it is\n"
		"             claimed\n"
		"Driver:      igb\n"
		"IOMMU group: 5, with 0000:03:00.1 (igb, claimable)\n"
		"Claim:       none\n"
		"\n"
		"OF                   CONDITION   STATUS   REASON     FOR   MESSAGE\n"
		"SRIOVNetworkDevice   Ready       False    VFsInUse   60m\n"
		"    vm1-000003100 is claimed\n"
		"\n"
		"What to do:\n"
		"  Release its virtual functions that are claimed or in use.\n";
	struct cluster *cluster = *state;
	struct device_events none = { 0 };
	struct out out = { .format = OUT_TABLE, .width = 80 };

	why_print(cluster, cluster_device(cluster, DEVICE_PCI, "vm1-000003000"), HOW, &none,
		  NOW_MS_S * INT64_C(1000), &out);
	assert_string_equal(str_cstr(&out.text), text);
	str_done(&out.text);
}

/* Before all else, and with what to do about it; what is stuck stays so. */
static void a_node_that_is_not_well_comes_first(void **state)
{
	static const char first[] =
		"Node:        vm1 is NotReady for 60m: KubeletNotReady: runtime is down; what follows "
		"is what was known before\n"
		"Name:        vm1-000003100\n";
	struct cluster *cluster = *state;
	struct device_events events = { 0 };
	struct out out = { .format = OUT_TABLE };

	made_put(cluster, CLUSTER_NODE,
		 "{'metadata':{'name':'vm1'},'status':{'conditions':[" MADE_CONDITION(
			 "Ready", "False", "KubeletNotReady", "runtime is down.") "]}}");
	made_put(cluster, CLUSTER_PCICLAIM,
		 "{'metadata':{'name':'vm1-000003100'},'status':{'conditions':[" MADE_CONDITION(
			 "Ready", "False", "Stuck", "pid 7") "]}}");
	cluster_know_nodes(cluster);
	why_print(cluster, cluster_device(cluster, DEVICE_PCI, "vm1-000003100"), HOW, &events,
		  NOW_MS_S * INT64_C(1000), &out);
	assert_int_equal(strncmp(out.text.buf, first, strlen(first)), 0);
	assert_non_null(strstr(out.text.buf, "State:       X stuck, Stuck: pid 7\n"));
	str_clear(&out.text);
	why_print(cluster, cluster_device(cluster, DEVICE_PCI, "vm1-000000020"), HOW, &events,
		  NOW_MS_S * INT64_C(1000), &out);
	assert_non_null(strstr(out.text.buf, "State:       ? unknown, NodeNotReady\n"));
	str_clear(&out.text);
	why_print(cluster, cluster_device(cluster, DEVICE_PCI, "vm1-000003100"), HOW, &events,
		  NOW_MS_S * INT64_C(1000), &out);
	assert_non_null(strstr(out.text.buf,
			       "What to do:\n"
			       "  See why the node is not ready: kubectl describe node vm1\n"
			       "  The kernel has not finished a step"));
	str_done(&out.text);
}

/* The condition alone would read as if nothing were left to wait for. */
static void a_finalizer_that_keeps_a_claim_is_named(void **state)
{
	struct cluster *cluster = *state;
	struct device_events none = { 0 };
	struct out out = { .format = OUT_TABLE };

	made_put(cluster, CLUSTER_PCICLAIM,
		 "{'metadata':{'name':'vm1-000003000','deletionTimestamp':'2026-01-02T03:00:00Z',"
		 "'finalizers':['a.com/keep']},'status':{'conditions':[" MADE_CONDITION(
			 "Ready", "False", "Released", "the device was released") "]}}");
	why_print(cluster, cluster_device(cluster, DEVICE_PCI, "vm1-000003000"), HOW, &none,
		  NOW_MS_S * INT64_C(1000), &out);
	assert_non_null(strstr(out.text.buf,
			       "State:       < releasing, Released: the device is released; the "
			       "finalizer 'a.com/keep' keeps the claim\n"));
	assert_non_null(strstr(out.text.buf,
			       "What to do:\n  An administrator can remove the finalizer: kubectl "
			       "patch pcideviceclaim vm1-000003000 --type=merge -p "
			       "'{\"metadata\":{\"finalizers\":null}}'\n"));
	str_done(&out.text);
}

/* What a claim has overridden is no advice any more, but it is one while the claim waits for it. */
static void what_is_offered_needs_no_advice(void **state)
{
	static const struct {
		const char *claim;
		bool advised;
	} rows[] = {
		{ "{'metadata':{'name':'vm1-000000020'},'status':{'conditions':[" MADE_CONDITION(
			  "Ready", "True", "Ready", "") "]}}",
		  false },
		{ "{'metadata':{'name':'vm1-000000020'},'status':{'conditions':[" MADE_CONDITION(
			  "Ready", "False", "HostNetwork", "") "]}}",
		  true },
		{ "{'metadata':{'name':'vm1-000000020'},'status':{'conditions':[" MADE_CONDITION(
			  "Accepted", "True", "Accepted",
			  "") "," MADE_CONDITION("Ready", "False", "NotOffered", "") "]}}",
		  false },
	};
	struct cluster *cluster = *state;
	struct device_events none = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct out out = { .format = OUT_TABLE };

		made_put(cluster, CLUSTER_PCICLAIM, rows[i].claim);
		why_print(cluster, cluster_device(cluster, DEVICE_PCI, "vm1-000000020"), HOW, &none,
			  NOW_MS_S * INT64_C(1000), &out);
		assert_non_null(strstr(out.text.buf, "Claimable   False    HostNetwork"));
		assert_int_equal(strstr(out.text.buf, advice_for("HostNetwork")) != NULL,
				 rows[i].advised);
		str_done(&out.text);
	}
}

/* What is as it should be is not red, and of a device in use nothing says that it may be
 * claimed. */
static struct condition_case {
	const char *name;
	const char *conditions;
	bool claimed;
	const char *text; /* NULL: no table */
} conditions[] = {
	{ "what the node needs is dim, as its state is",
	  MADE_CONDITION("Claimable", "False", "HostNetwork", "m"), false,
	  "PCIDevice   Claimable   \033[2mFalse\033[0m    HostNetwork   60m   m\n" },
	{ "a device that is gone is red", MADE_CONDITION("Claimable", "False", "DeviceGone", "m"),
	  false, "PCIDevice   Claimable   \033[31mFalse\033[0m    DeviceGone   60m   m\n" },
	{ "one of two equal devices is dim",
	  MADE_CONDITION("Distinguishable", "False", "IdentityByModelOnly", "m"), false,
	  "Distinguishable   \033[2mFalse\033[0m    IdentityByModelOnly   60m   m\n" },
	{ "what may be claimed is said of a device without a claim",
	  MADE_CONDITION("Claimable", "True", "Available", "may be claimed"), false,
	  "PCIDevice   Claimable   \033[32mTrue\033[0m     Available   60m   may be claimed\n" },
	{ "but not of a claimed one",
	  MADE_CONDITION("Claimable", "True", "Available", "may be claimed"), true, NULL },
	{ "nor that it is claimed, which the line Claim says",
	  MADE_CONDITION("Claimed", "True", "Claimed", "see the claim"), true, NULL },
	{ "unless its claim is not known",
	  MADE_CONDITION("Claimed", "True", "Claimed", "see the claim"), false,
	  "PCIDevice   Claimed     \033[32mTrue\033[0m     Claimed   60m   see the claim\n" },
	{ "what a claim has overridden is",
	  MADE_CONDITION("Claimable", "False", "HostNetwork", "m"), true,
	  "HostNetwork   60m   m\n" },
};

static void conditions_read_so(void **state)
{
	const struct condition_case *c = suite_row(state);
	struct cluster *cluster = *state;
	struct device_events none = { 0 };
	struct out out = { .format = OUT_TABLE, .colour = true };
	auto_free char *device =
		xasprintf("{'metadata':{'name':'d'},'status':{'conditions':[%s]}}", c->conditions);

	made_put(cluster, CLUSTER_PCIDEVICE, device);
	if (c->claimed)
		made_put(cluster, CLUSTER_PCICLAIM, "{'metadata':{'name':'d'}}");
	why_print(cluster, cluster_device(cluster, DEVICE_PCI, "d"), HOW, &none,
		  NOW_MS_S * INT64_C(1000), &out);
	if (c->text && !strstr(str_cstr(&out.text), c->text))
		fail_msg("no '%s' in %s", c->text, str_cstr(&out.text));
	if (!c->text)
		assert_null(strstr(str_cstr(&out.text), "CONDITION"));
	str_done(&out.text);
}

static void programs_get_it_all(void **state)
{
	struct cluster *cluster = *state;
	auto_events struct device_events events = { 0 };
	struct out out = { .format = OUT_JSON };
	auto_json json_t *json = NULL;

	read_events(&events);
	why_print(cluster, cluster_device(cluster, DEVICE_PCI, "vm1-000003000"), HOW, &events, 0,
		  &out);
	assert_int_equal(json_map_load(out.text.buf, out.text.len, &json, NULL), 0);
	assert_int_equal(json_array_size(json_object_get(json, "conditions")), 2);
	assert_int_equal(json_array_size(json_object_get(json, "events")), 2);
	assert_int_equal(json_array_size(json_object_get(json, "whatToDo")), 1);
	str_done(&out.text);
}

static void events_have_a_limit(void **state)
{
	auto_events struct device_events events = { 0 };

	for (int i = 0; i < 20; i++)
		read_events(&events);
	assert_int_equal(events.len, DEVICE_EVENTS_SHOWN);
	assert_string_equal(events.items[0]->reason, "New");
}

/* clang-format off */
static struct pools_case {
	const char *name;
	enum out_format format;
	bool nodes;
	bool devices;
	const char *text;
} pools[] = {
	{ "counts", OUT_TABLE, false, true,
	  "RESOURCE   DEVICES   CLAIMABLE   CLAIMED   ALLOCATED   AVAILABLE\n"
	  "a.com/x    1         0           1         1           0\n"
	  "b.com/y    5         1           4         1           2\n" },
	{ "more of them", OUT_WIDE, false, true,
	  "RESOURCE   DEVICES   CLAIMABLE   CLAIMED   HEALTHY   ALLOCATED   AVAILABLE   NODES\n"
	  "a.com/x    1         0           1         0         1           0           1\n"
	  "b.com/y    5         1           4         3         1           2           2\n" },
	{ "counts of nodes", OUT_TABLE, true, true,
	  "RESOURCE   NODE   DEVICES   CLAIMABLE   CLAIMED   ALLOCATED   AVAILABLE   NODE IS\n"
	  "b.com/y    n1     3         1           2         1           1\n"
	  "b.com/y    n2     2         0           2         0           1\n" },
	{ "counts for who may not read devices", OUT_TABLE, false, false,
	  "RESOURCE   DEVICES   CLAIMABLE   CLAIMED   ALLOCATED   AVAILABLE\n"
	  "a.com/x    1         -           1         1           0\n"
	  "b.com/y    5         -           4         1           2\n" },
	{ "names", OUT_NAME, false, false, "devicepool.hostdev.io/z\ndevicepool.hostdev.io/y\n" },
};
/* clang-format on */

static struct cluster *pools_cluster(void)
{
	struct cluster *cluster = cluster_new();

	made_put(cluster, CLUSTER_POOL,
		 "{'metadata':{'name':'y'},'spec':{'resourceName':'b.com/y'},'status':{'devices':5,"
		 "'claimed':4,'healthy':3,'allocated':1,'nodes':2,'perNode':["
		 "{'nodeName':'n1','devices':3,'claimed':2,'healthy':2,'allocated':1},"
		 "{'nodeName':'n2','devices':2,'claimed':2,'healthy':1,'allocated':0}]}}");
	made_put(cluster, CLUSTER_POOL,
		 "{'metadata':{'name':'z'},'spec':{'resourceName':'a.com/x'},'status':{'devices':1,"
		 "'claimed':1,'healthy':0,'allocated':1,'nodes':1}}");
	/* May be claimed, and is refused. */
	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("n1-1", "n1", "0000:00:01.0",
			  "'resourceName':'b.com/y','conditions':[" MADE_CONDITION(
				  "Claimable", "True", "Available", "") "]"));
	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("n2-1", "n2", "0000:00:01.0",
			  "'resourceName':'b.com/y','conditions':[" MADE_CONDITION(
				  "Claimable", "False", "HostSwap", "") "]"));
	return cluster;
}

SUITE_OBJECT(pools_cluster, pools_cluster(), cluster_free);

static void nodes_that_are_not_well_are_named(void **state)
{
	struct cluster *cluster = *state;
	auto_str struct str faults = STR_INIT;

	pools_faults(cluster, NOW_MS_S * INT64_C(1000), &faults);
	assert_int_equal(faults.len, 0);
	made_put(cluster, CLUSTER_NODE,
		 "{'metadata':{'name':'n1'},'status':{'conditions':[" MADE_CONDITION(
			 "Ready", "Unknown", "NodeStatusUnknown", "") "]}}");
	cluster_know_nodes(cluster);
	pools_faults(cluster, NOW_MS_S * INT64_C(1000), &faults);
	assert_string_equal(str_cstr(&faults),
			    "n1 (NotReady for 60m: NodeStatusUnknown), n2 (gone)");
	str_clear(&faults);
	made_put(cluster, CLUSTER_PCIDEVICE, MADE_PCI("n3-1", "n3", "0000:00:01.0", "'role':''"));
	made_put(cluster, CLUSTER_PCIDEVICE, MADE_PCI("n4-1", "n4", "0000:00:01.0", "'role':''"));
	made_put(cluster, CLUSTER_PCIDEVICE, MADE_PCI("n5-1", "n5", "0000:00:01.0", "'role':''"));
	pools_faults(cluster, NOW_MS_S * INT64_C(1000), &faults);
	assert_string_equal(str_cstr(&faults),
			    "n1 (NotReady for 60m: NodeStatusUnknown), n2 (gone), "
			    "n3 (gone) and 2 more");
}

/* n1 is not ready: neither what pods have there nor what they could have helps anybody else. */
static void nodes_that_are_not_well_have_nothing_to_give(void **state)
{
	struct cluster *cluster = *state;
	struct out out = { .format = OUT_TABLE };

	made_put(cluster, CLUSTER_NODE,
		 "{'metadata':{'name':'n1'},'status':{'conditions':[" MADE_CONDITION(
			 "Ready", "Unknown", "NodeStatusUnknown", "") "]}}");
	made_put(cluster, CLUSTER_NODE, "{'metadata':{'name':'n2'}}");
	cluster_know_nodes(cluster);
	pools_print(
		cluster,
		&(struct pools_look){ .devices = true, .now_wall_ms = NOW_MS_S * INT64_C(1000) },
		&out);
	pools_print(cluster,
		    &(struct pools_look){ .devices = true,
					  .nodes = true,
					  .now_wall_ms = NOW_MS_S * INT64_C(1000) },
		    &out);
	assert_string_equal(
		str_cstr(&out.text),
		"RESOURCE   DEVICES   CLAIMABLE   CLAIMED   ALLOCATED   AVAILABLE\n"
		"a.com/x    1         0           1         1           0\n"
		"b.com/y    5         0           4         1           1\n"
		"RESOURCE   NODE   DEVICES   CLAIMABLE   CLAIMED   ALLOCATED   AVAILABLE   NODE IS\n"
		"b.com/y    n1     3         0           2         1           0           "
		"NotReady for 60m: NodeStatusUnknown\n"
		"b.com/y    n2     2         0           2         0           1\n");
	str_done(&out.text);
}

static void pools_look_so(void **state)
{
	const struct pools_case *c = suite_row(state);
	struct cluster *cluster = *state;
	struct out out = { .format = c->format };

	pools_print(cluster,
		    &(struct pools_look){ .nodes = c->nodes,
					  .devices = c->devices,
					  .now_wall_ms = NOW_MS_S * INT64_C(1000) },
		    &out);
	assert_string_equal(str_cstr(&out.text), c->text);
	str_done(&out.text);
}

#define STICK(name, more)                                                                    \
	"{'metadata':{'name':'" name "'},'status':{'nodeName':'n1','portPath':'1-" name "'," \
	"'resourceName':'c.com/stick','conditions':[" more "]}}"

/* No pool counts USB devices that are not claimed; and some resources can be had by nobody. */
static void put_more(struct cluster *cluster)
{
	made_put(cluster, CLUSTER_USBDEVICE,
		 STICK("1", MADE_CONDITION("Claimable", "True", "Available", "")));
	made_put(cluster, CLUSTER_USBDEVICE,
		 STICK("2", MADE_CONDITION("Offered", "True", "Offered", "")));
	made_put(cluster, CLUSTER_USBDEVICE,
		 "{'metadata':{'name':'3'},'status':{'nodeName':'n1','portPath':'1-3',"
		 "'resourceName':'c.com/stick','conditions':[" MADE_CONDITION(
			 "Offered", "True", "Offered",
			 "") "],"
			     "'allocations':[{'namespace':'default','pod':'p','container':'c'}]}}");
	made_put(
		cluster, CLUSTER_POOL,
		"{'metadata':{'name':'isa'},'spec':{'resourceName':'d.com/isa'},'status':{'devices':1,"
		"'nodes':1,'perNode':[{'nodeName':'n1','devices':1}]}}");
}

static void usb_devices_are_counted_and_idle_rows_are_not_shown(void **state)
{
	struct cluster *cluster = *state;
	struct pools_look look = { .devices = true };
	struct out out = { .format = OUT_WIDE };

	put_more(cluster);
	assert_int_equal(pools_print(cluster, &look, &out), 1);
	assert_non_null(strstr(
		str_cstr(&out.text),
		"c.com/stick   3         1           0         2         1           1           1\n"));
	assert_null(strstr(str_cstr(&out.text), "d.com/isa"));
	str_clear(&out.text);
	look.all = true;
	assert_int_equal(pools_print(cluster, &look, &out), 0);
	assert_non_null(strstr(
		str_cstr(&out.text),
		"d.com/isa     1         0           0         0         0           0           1\n"));
	str_clear(&out.text);
	look.nodes = true;
	(void)pools_print(cluster, &look, &out);
	assert_non_null(strstr(str_cstr(&out.text),
			       "c.com/stick   n1     3         1           0         2"));
	/* A selector chooses among the pools. */
	str_clear(&out.text);
	look.selected = true;
	(void)pools_print(cluster, &look, &out);
	assert_null(strstr(str_cstr(&out.text), "c.com/stick"));
	/* Who may not read devices cannot know that nothing can be claimed. */
	str_clear(&out.text);
	assert_int_equal(pools_print(cluster, &(struct pools_look){ 0 }, &out), 0);
	assert_non_null(strstr(str_cstr(&out.text), "d.com/isa"));
	str_done(&out.text);
}

static void pools_fit_a_terminal(void **state)
{
	struct cluster *cluster = *state;
	struct out out = { .format = OUT_TABLE, .utf8 = true, .width = 80 };
	auto_free char *text = NULL;
	char *at;

	made_put(
		cluster, CLUSTER_POOL,
		"{'metadata':{'name':'long'},'spec':{'resourceName':"
		"'redhat.com/QEMU_PCIE_EXPANDER_BRIDGE_WITH_A_VERY_LONG_NAME_OF_ITS_OWN'},'status':{'devices':1,"
		"'claimed':1,'nodes':1,'perNode':[{'nodeName':'node-with-a-name','devices':1,'claimed':1}]}}");
	made_put(cluster, CLUSTER_NODE, "{'metadata':{'name':'n1'}}");
	cluster_know_nodes(cluster);
	(void)pools_print(cluster, &(struct pools_look){ .nodes = true, .devices = true }, &out);
	text = xstrdup(str_cstr(&out.text));
	at = text;
	for (char *line; (line = strsep(&at, "\n"));)
		assert_true(out_width(line) <= 80);
	str_done(&out.text);
}

static void groups_are_left_out_of_advice(void **state)
{
	static const char *const rows[][2] = {
		{ "group 1 also holds x: claim them too, or set spec.includeIOMMUGroup",
		  "group 1 also holds x: claim them too" },
		{ "shares it with x: claim them all, or set includeIOMMUGroup in the claim",
		  "shares it with x: claim them all" },
		{ "user 'a' may not: leave spec.includeIOMMUGroup out and claim",
		  "user 'a' may not" },
		{ "another message", "another message" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_free char *text = advice_without_group(rows[i][0]);

		assert_string_equal(text, rows[i][1]);
	}
}

static void unknown_reasons_have_no_advice(void **state)
{
	char *advice;

	assert_null(advice_for("Ready"));
	assert_null(advice_for(""));
	assert_non_null(advice_for("Held"));
	assert_string_equal(advice_for("HostBridge"), "Claim a device behind it: it is a bridge.");
	assert_null(advice_about("Ready", "vm1", "vm1-a", HOW));
	advice = advice_about("NodeNotReady", "vm1", "vm1-a", HOW);
	assert_string_equal(advice, "See why the node is not ready: kubectl describe node vm1");
	free(advice);
	advice = advice_about("NodeNotReady", "", "", "");
	assert_string_equal(advice, advice_for("NodeNotReady"));
	free(advice);
	advice = advice_about("GroupClaimed", "vm1", "vm1-a", HOW);
	assert_string_equal(advice,
			    "One pod at a time can use the functions of its IOMMU group. " HOW);
	free(advice);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "events have a limit, and the latest stay", events_have_a_limit, NULL);
	suite_add(&suite, "groups are left out of advice", groups_are_left_out_of_advice, NULL);
	suite_add(&suite, "reasons that ask for nothing have no advice",
		  unknown_reasons_have_no_advice, NULL);
	suite_fixture(&suite, &cluster_fixture);
	suite_rows(&suite, whys, why_reads_so);
	suite_rows(&suite, heads, heads_read_so);
	suite_rows(&suite, dra_cases, dra_reads_so);
	suite_rows(&suite, conditions, conditions_read_so);
	suite_add(&suite, "what is older than the spec says so",
		  what_is_older_than_the_spec_says_so, NULL);
	suite_add(&suite, "lines fit the terminal", lines_fit_the_terminal, NULL);
	suite_add(&suite, "a node that is not well comes first",
		  a_node_that_is_not_well_comes_first, NULL);
	suite_add(&suite, "a finalizer that keeps a claim is named",
		  a_finalizer_that_keeps_a_claim_is_named, NULL);
	suite_add(&suite, "what is offered needs no advice", what_is_offered_needs_no_advice, NULL);
	suite_add(&suite, "programs get it all", programs_get_it_all, NULL);
	suite_fixture(&suite, &pools_cluster_fixture);
	suite_rows(&suite, pools, pools_look_so);
	suite_add(&suite, "USB devices are counted, and idle rows are not shown",
		  usb_devices_are_counted_and_idle_rows_are_not_shown, NULL);
	suite_add(&suite, "they fit a terminal", pools_fit_a_terminal, NULL);
	suite_add(&suite, "top: nodes that are not well are named",
		  nodes_that_are_not_well_are_named, NULL);
	suite_add(&suite, "nodes that are not well have nothing to give",
		  nodes_that_are_not_well_have_nothing_to_give, NULL);
	return suite_run(&suite, "why");
}
