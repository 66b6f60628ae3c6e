#include "unit/suite.h"

#include "api/sriovnetworkdevice.h"
#include "cli/model/dra.h"
#include "cli/print/device_json.h"
#include "unit/cli/made.h"

static const struct cluster_device *device(struct cluster *cluster, const char *name)
{
	for (int type = DEVICE_PCI; type <= DEVICE_MDEV; type++) {
		const struct cluster_device *d =
			cluster_device(cluster, (enum device_type)type, name);

		if (d)
			return d;
	}
	return NULL;
}

static void nodes_and_devices_are_in_order(void **state)
{
	static const char *const names[] = {
		"vm1-000000020",        "vm1-0000001f0",
		"vm1-000003000",        "vm1-000003001",
		"vm1-000003100",        "vm1-1d6b-0002-001001",
		"vm1-0951-1666-001005", "vm1-11111111-2222-3333-4444-555555555555",
		"vm2-000003000",        "vm2-000009000",
	};
	struct cluster *cluster = *state;
	const struct cluster_view *view = cluster_view(cluster);

	assert_int_equal(view->len, ARRAY_LEN(names));
	for (size_t i = 0; i < view->len; i++)
		assert_string_equal(view->devices[i].name, names[i]);
	assert_int_equal(view->nodes_len, 2);
	assert_string_equal(view->nodes[0].name, "vm1");
	assert_int_equal(view->nodes[0].len, 8);
	assert_string_equal(view->nodes[1].name, "vm2");
	assert_int_equal(view->nodes[0].by_state[STATE_REFUSED], 4);
	assert_int_equal(view->nodes[1].by_state[STATE_MISSING], 1);
}

static struct state_case {
	const char *name;
	const char *device;
	enum device_state state;
	const char *reason;
} states[] = {
	{ "what the node needs is refused", "vm1-000000020", STATE_REFUSED, "HostNetwork" },
	{ "a shared group is claimable as a whole", "vm1-000003001", STATE_CLAIMABLE,
	  "GroupShared" },
	{ "a USB controller is not while a device on it is claimed", "vm1-0000001f0", STATE_REFUSED,
	  "USBDevicesClaimed" },
	{ "nor a card while a virtual function of it is", "vm1-000003000", STATE_REFUSED,
	  "VirtualFunctionClaimed" },
	{ "without a condition nobody has said", "vm2-000003000", STATE_UNKNOWN, "NotSaid" },
	{ "what a pod has is in use", "vm1-000003100", STATE_USED, "Ready" },
	{ "a claim that waits is pending", "vm1-0951-1666-001005", STATE_PENDING, "Held" },
	{ "an mdev that no entry lends cannot be had", "vm1-11111111-2222-3333-4444-555555555555",
	  STATE_REFUSED, "NotLent" },
	{ "a claim without a device has one missing", "vm2-000009000", STATE_MISSING, "NotSeen" },
};

static void device_has_state(void **state)
{
	const struct state_case *c = suite_row(state);
	struct cluster *cluster = *state;
	const struct cluster_device *d = device(cluster, c->device);

	assert_non_null(d);
	assert_int_equal(d->verdict.state, c->state);
	assert_string_equal(d->verdict.reason, c->reason);
}

#define AVAILABLE(name, node, address, more) \
	MADE_PCI(name, node, address,        \
		 more "'conditions':[" MADE_CONDITION("Claimable", "True", "Available", "") "]")

#define GROUP "'iommuGroup':'7','iommuGroupMembers':['0000:01:00.0','0000:01:00.1'],"

#define USB_OF_POD                                                                         \
	"{'metadata':{'name':'w-u'},'status':{'nodeName':'w','pciAddress':'0000:01:00.0'," \
	"'portPath':'1-1','allocations':[{'namespace':'default','pod':'stick','container':'c'}]}}"

/* What else there is in a cluster of a claimable function w-1, with w-3 in its group, a child w-2,
 * and a USB device on it. */
static struct conflict_case {
	const char *name;
	enum cluster_kind kind;
	const char *other;
	const char *device;
	const char *reason; /* "Available", "GroupClaimed": it is claimable */
} conflicts[] = {
	{ "nothing else", CLUSTER_POOL, "{'metadata':{'name':'x'}}", "w-1", "Available" },
	{ "a card of which virtual functions are asked for", CLUSTER_SRIOV,
	  "{'metadata':{'name':'s'},'spec':{'address':'0000:01:00.0','nodeName':'w','numVFs':2}}",
	  "w-1", "Divided" },
	{ "but not of which none are", CLUSTER_SRIOV,
	  "{'metadata':{'name':'s'},'spec':{'address':'0000:01:00.0','nodeName':'w','numVFs':0}}",
	  "w-1", "Available" },
	{ "a GPU of which they are", CLUSTER_GPU,
	  "{'metadata':{'name':'g'},'spec':{'address':'0000:01:00.0','nodeName':'w','enabled':true}}",
	  "w-1", "Divided" },
	{ "a vGPU", CLUSTER_VGPU,
	  "{'metadata':{'name':'w-2'},'spec':{'address':'0000:01:10.0','nodeName':'w','enabled':true}}",
	  "w-2", "Divided" },
	{ "the card of a vGPU", CLUSTER_VGPU,
	  "{'metadata':{'name':'w-2'},'spec':{'address':'0000:01:10.0','nodeName':'w','enabled':true}}",
	  "w-1", "Divided" },
	{ "a function of a card that is claimed", CLUSTER_PCICLAIM, "{'metadata':{'name':'w-1'}}",
	  "w-2", "PhysicalFunctionClaimed" },
	{ "a card of which a function is claimed", CLUSTER_PCICLAIM, "{'metadata':{'name':'w-2'}}",
	  "w-1", "VirtualFunctionClaimed" },
	{ "a USB device of a controller that is claimed", CLUSTER_PCICLAIM,
	  "{'metadata':{'name':'w-1'}}", "w-u", "ControllerClaimed" },
	{ "a controller of a USB device that is claimed", CLUSTER_USBCLAIM,
	  "{'metadata':{'name':'w-u'}}", "w-1", "USBDevicesClaimed" },
	{ "a function of the group of such a controller", CLUSTER_USBCLAIM,
	  "{'metadata':{'name':'w-u'}}", "w-3", "USBDevicesClaimed" },
	{ "a controller of a USB device that a pod has without a claim", CLUSTER_USBDEVICE,
	  USB_OF_POD, "w-1", "USBDevicesClaimed" },
	{ "a function of the group of such a one", CLUSTER_USBDEVICE, USB_OF_POD, "w-3",
	  "USBDevicesClaimed" },
	{ "a function whose group is claimed with another", CLUSTER_PCICLAIM,
	  "{'metadata':{'name':'w-1'},'spec':{'includeIOMMUGroup':true}}", "w-3", "GroupClaimed" },
	{ "but not if that one alone is claimed", CLUSTER_PCICLAIM, "{'metadata':{'name':'w-1'}}",
	  "w-3", "Available" },
	{ "a function of a group in which another user has one", CLUSTER_PCICLAIM,
	  "{'metadata':{'name':'w-1'},'spec':{'userName':'eve'}}", "w-3", "GroupOwned" },
	{ "also of one that eve has with its group", CLUSTER_PCICLAIM,
	  "{'metadata':{'name':'w-1'},'spec':{'userName':'eve','includeIOMMUGroup':true}}", "w-3",
	  "GroupOwned" },
	{ "but not of one that the caller has", CLUSTER_PCICLAIM,
	  "{'metadata':{'name':'w-1'},'spec':{'userName':'ann','includeIOMMUGroup':true}}", "w-3",
	  "GroupClaimed" },
	{ "nor if eve's stays on its driver", CLUSTER_PCICLAIM,
	  "{'metadata':{'name':'w-1','annotations':{'pcidevices.harvesterhci.io/skip-vfio-binding':'true'}},"
	  "'spec':{'userName':'eve'}}",
	  "w-3", "Available" },
	{ "a function of another group", CLUSTER_PCICLAIM,
	  "{'metadata':{'name':'w-3'},'spec':{'includeIOMMUGroup':true}}", "w-2", "Available" },
	{ "a USB device whose controller is claimed with its group", CLUSTER_PCICLAIM,
	  "{'metadata':{'name':'w-3'},'spec':{'includeIOMMUGroup':true}}", "w-u",
	  "ControllerClaimed" },
	{ "but not if the other function alone is claimed", CLUSTER_PCICLAIM,
	  "{'metadata':{'name':'w-3'}}", "w-u", "Available" },
};

/* Whoever may read claims alone does not see whether a pod has the device. */
static void a_device_that_cannot_be_read_is_unknown(void **state)
{
	struct cluster *cluster = cluster_new();

	made_put(cluster, CLUSTER_PCICLAIM,
		 "{'metadata':{'name':'w-9'},'spec':{'nodeName':'w','address':'0000:09:00.0'},"
		 "'status':{'conditions':[" MADE_CONDITION("Ready", "True", "Ready", "") "]}}");
	assert_int_equal(device(cluster, "w-9")->verdict.state, STATE_UNKNOWN);
	assert_string_equal(device(cluster, "w-9")->verdict.reason, "NotRead");
	cluster_free(cluster);
}

static void what_would_be_refused_is_not_claimable(void **state)
{
	const struct conflict_case *c = *state;
	struct cluster *cluster = cluster_new();
	const struct cluster_device *d;

	made_put(cluster, CLUSTER_PCIDEVICE, AVAILABLE("w-1", "w", "0000:01:00.0", GROUP));
	made_put(cluster, CLUSTER_PCIDEVICE, AVAILABLE("w-3", "w", "0000:01:00.1", GROUP));
	made_put(cluster, CLUSTER_PCIDEVICE,
		 AVAILABLE("w-2", "w", "0000:01:10.0", "'physicalFunction':'0000:01:00.0',"));
	made_put(
		cluster, CLUSTER_USBDEVICE,
		"{'metadata':{'name':'w-u'},'status':{'nodeName':'w','pciAddress':'0000:01:00.0','portPath':'1-1',"
		"'conditions':[" MADE_CONDITION("Claimable", "True", "Available", "") "]}}");
	made_put(cluster, c->kind, c->other);
	cluster_set_caller(cluster, "ann");
	d = device(cluster, c->device);
	assert_string_equal(d->verdict.reason, c->reason);
	assert_int_equal(d->verdict.state, strcmp(c->reason, "Available") == 0 ||
							   strcmp(c->reason, "GroupClaimed") == 0
						   ? STATE_CLAIMABLE
						   : STATE_REFUSED);
	cluster_free(cluster);
}

static struct claim_case {
	const char *name;
	const char *claim; /* of vm1-0000001f0 */
	enum device_state state;
	const char *reason;
} claims[] = {
	{ "a claim that nobody has seen is pending", "{'metadata':{'name':'vm1-0000001f0'}}",
	  STATE_PENDING, "NotSeen" },
	{ "a claim that is Ready is ready",
	  "{'metadata':{'name':'vm1-0000001f0'},'status':{'conditions':[" MADE_CONDITION(
		  "Ready", "True", "Ready", "") "]}}",
	  STATE_AVAILABLE, "Ready" },
	{ "a claim of a device that is not healthy is pending",
	  "{'metadata':{'name':'vm1-0000001f0'},'status':{'conditions':[" MADE_CONDITION(
		  "Ready", "False", "Unhealthy", "") "]}}",
	  STATE_PENDING, "Unhealthy" },
	{ "a claim of what is gone has its device missing, though the object stays",
	  "{'metadata':{'name':'vm1-0000001f0'},'status':{'conditions':[" MADE_CONDITION(
		  "Ready", "False", "DeviceGone", "") "]}}",
	  STATE_MISSING, "DeviceGone" },
	{ "a claim that is being deleted is releasing, though its agent has not processed that",
	  "{'metadata':{'name':'vm1-0000001f0','deletionTimestamp':'2026-01-02T03:00:00Z'},"
	  "'status':{'conditions':[" MADE_CONDITION("Ready", "True", "Ready", "") "]}}",
	  STATE_RELEASING, "Releasing" },
	{ "and then what it waits for",
	  "{'metadata':{'name':'vm1-0000001f0','deletionTimestamp':'2026-01-02T03:00:00Z'},"
	  "'status':{'conditions':[" MADE_CONDITION("Ready", "False", "Held", "") "]}}",
	  STATE_RELEASING, "Held" },
	{ "so it is without conditions",
	  "{'metadata':{'name':'vm1-0000001f0','deletionTimestamp':'2026-01-02T03:00:00Z'}}",
	  STATE_RELEASING, "Releasing" },
	{ "a node that is not well makes it unknown",
	  "{'metadata':{'name':'vm1-0000001f0'},'status':{'conditions':[" MADE_CONDITION(
		  "Ready", "True", "Ready", "") "," MADE_CONDITION("NodeReachable", "False",
								   "NodeGone", "") "]}}",
	  STATE_UNKNOWN, "NodeGone" },
	{ "what is stuck is stuck while its node is not well",
	  "{'metadata':{'name':'vm1-0000001f0'},'status':{'conditions':[" MADE_CONDITION(
		  "Ready", "False", "Stuck", "") "," MADE_CONDITION("NodeReachable", "False",
								    "NodeNotReady", "") "]}}",
	  STATE_STUCK, "Stuck" },
	{ "and while its claim is being deleted",
	  "{'metadata':{'name':'vm1-0000001f0','deletionTimestamp':'2026-01-02T03:00:00Z'},"
	  "'status':{'conditions':[" MADE_CONDITION("Ready", "False", "Stuck", "") "]}}",
	  STATE_STUCK, "Stuck" },
	{ "and while Ready says something else",
	  "{'metadata':{'name':'vm1-0000001f0'},'status':{'conditions':[" MADE_CONDITION(
		  "Ready", "False", "InUse", "") "," MADE_CONDITION("DriverBound", "False", "Stuck",
								    "") "]}}",
	  STATE_STUCK, "Stuck" },
	{ "a claim in Harvester's words, without conditions, is not taken for ready",
	  "{'metadata':{'name':'vm1-0000001f0'},'status':{'passthroughEnabled':true}}",
	  STATE_PENDING, "NotSeen" },
};

static void claim_gives_state(void **state)
{
	const struct claim_case *c = suite_row(state);
	struct cluster *cluster = *state;
	const struct cluster_device *d;

	made_put(cluster, CLUSTER_PCICLAIM, c->claim);
	d = device(cluster, "vm1-0000001f0");
	assert_int_equal(d->verdict.state, c->state);
	assert_string_equal(d->verdict.reason, c->reason);
}

/* A device is not called claimable because its claim cannot be seen. */
static void a_claim_that_may_not_be_read_may_be_there(void **state)
{
	struct cluster *cluster = *state;
	const struct cluster_device *d;

	cluster_hide_claims(cluster, CLUSTER_SET(CLUSTER_USBCLAIM), 0);
	assert_int_equal(device(cluster, "vm1-000003001")->verdict.state, STATE_CLAIMABLE);
	cluster_hide_claims(cluster, CLUSTER_SET(CLUSTER_PCICLAIM), 0);
	d = device(cluster, "vm1-000003001");
	assert_int_equal(d->verdict.state, STATE_UNKNOWN);
	assert_string_equal(d->verdict.reason, "NotRead");
	assert_true(d->claim_hidden);
	made_put(cluster, CLUSTER_PCICLAIM,
		 "{'metadata':{'name':'vm1-000003001'},'status':{'conditions':[" MADE_CONDITION(
			 "Ready", "True", "Ready", "") "]}}");
	assert_int_equal(device(cluster, "vm1-000003001")->verdict.state, STATE_AVAILABLE);
}

/* Nor a USB controller because the claims of what is behind it cannot be listed, and nor is a
 * function of its group. */
static void usb_claims_that_may_not_be_listed_may_be_there(void **state)
{
	static const char *const names[] = { "w-000001000", "w-000001001" };
	struct cluster *cluster = *state;

	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("w-000001000", "w", "0000:01:00.0",
			  "'classId':'0c03','iommuGroupMembers':['0000:01:00.0','0000:01:00.1'],"
			  "'conditions':[" MADE_CONDITION("Claimable", "True", "GroupShared",
							  "") "]"));
	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("w-000001001", "w", "0000:01:00.1",
			  "'classId':'0200','iommuGroupMembers':['0000:01:00.0','0000:01:00.1'],"
			  "'conditions':[" MADE_CONDITION("Claimable", "True", "GroupShared",
							  "") "]"));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(device(cluster, names[i])->verdict.state, STATE_CLAIMABLE);
	cluster_hide_claims(cluster, 0, CLUSTER_SET(CLUSTER_USBCLAIM));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct cluster_device *d = device(cluster, names[i]);

		assert_int_equal(d->verdict.state, STATE_UNKNOWN);
		assert_string_equal(d->verdict.reason, "NotRead");
		assert_string_equal(
			d->verdict.message,
			"whether USB devices behind it, or its IOMMU group, are claimed is not known: you may "
			"not read USBDeviceClaims");
	}
	assert_int_equal(device(cluster, "vm1-000003001")->verdict.state, STATE_CLAIMABLE);
}

static void usb_devices_behind_a_controller_are_named(void **state)
{
	struct cluster *cluster = *state;
	auto_free char *one = NULL;
	auto_free char *many = NULL;
	auto_free char *none = NULL;

	one = device_usb_below(device(cluster, "vm1-0000001f0"));
	assert_string_equal(one, "1-2.3 (Stick)");
	none = device_usb_below(device(cluster, "vm1-000003000")); /* a virtual function is below */
	assert_string_equal(none, "");
	for (int port = 1; port <= 9; port++) {
		auto_free char *text =
			xasprintf("{'metadata':{'name':'vm1-%d'},'status':{'nodeName':'vm1',"
				  "'pciAddress':'0000:00:1f.0','portPath':'2-%d'}}",
				  port, port);

		made_put(cluster, CLUSTER_USBDEVICE, text);
	}
	many = device_usb_below(device(cluster, "vm1-0000001f0"));
	assert_string_equal(many, "1-2.3 (Stick), 2-1, 2-2, 2-3, 2-4, 2-5, 2-6, 2-7, and 2 more");
}

/* It may be claimed all the same. */
static void what_a_config_offers_is_available(void **state)
{
	struct cluster *cluster = *state;

	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("w-1", "w", "0000:01:00.0",
			  "'conditions':[" MADE_CONDITION("Claimable", "True", "Available",
							  "") "," MADE_CONDITION("Offered", "True",
										 "Offered",
										 "as it is") "]"));
	assert_int_equal(device(cluster, "w-1")->verdict.state, STATE_AVAILABLE);
	assert_string_equal(device(cluster, "w-1")->verdict.message, "as it is");
	made_put(cluster, CLUSTER_USBDEVICE,
		 "{'metadata':{'name':'w-stick'},'status':{'nodeName':'w','portPath':'1-2',"
		 "'conditions':[" MADE_CONDITION(
			 "Claimable", "True", "Available",
			 "") "," MADE_CONDITION("Offered", "True", "Offered", "as it is") "]}}");
	assert_int_equal(device(cluster, "w-stick")->verdict.state, STATE_AVAILABLE);
}

/* Whoever reads the device may not read ResourceClaims. */
static void what_is_lent_on_demand_is_in_use(void **state)
{
	struct cluster *cluster = *state;

	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("w-1", "w", "0000:01:00.0",
			  "'conditions':[" MADE_CONDITION("Claimable", "True", "Available",
							  "") "," MADE_CONDITION("Offered", "True",
										 "BoundOnDemand",
										 "RC has it") "]"));
	assert_int_equal(device(cluster, "w-1")->verdict.state, STATE_USED);
	assert_string_equal(device(cluster, "w-1")->verdict.reason, "BoundOnDemand");
	assert_string_equal(device(cluster, "w-1")->verdict.message, "RC has it");
}

#define NODE(name, conditions) \
	"{'metadata':{'name':'" name "'},'status':{'conditions':[" conditions "]}}"
#define NOT_READY MADE_CONDITION("Ready", "Unknown", "NodeStatusUnknown", "no word of it")

/* vm1 is not ready, vm2 is: what vm1's agent has said last counts no more, but what is stuck. */
static void nodes_that_are_not_well_make_devices_unknown(void **state)
{
	struct cluster *cluster = *state;
	const struct cluster_device *d;

	made_put(cluster, CLUSTER_NODE, NODE("vm1", NOT_READY));
	made_put(cluster, CLUSTER_NODE, NODE("vm2", MADE_CONDITION("Ready", "True", "R", "")));
	assert_int_equal(device(cluster, "vm1-000003001")->verdict.state, STATE_CLAIMABLE);
	cluster_know_nodes(cluster);
	d = device(cluster, "vm1-0000001f0");
	assert_int_equal(d->verdict.state, STATE_UNKNOWN);
	assert_string_equal(d->verdict.reason, "NodeNotReady");
	assert_string_equal(d->verdict.message, "no word of it");
	assert_string_equal(d->verdict.since, "2026-01-02T03:00:00Z");
	assert_int_equal(device(cluster, "vm1-000003100")->verdict.state, STATE_UNKNOWN);
	assert_int_equal(cluster_view(cluster)->nodes[0].by_state[STATE_UNKNOWN], 8);
	assert_int_equal(device(cluster, "vm2-000009000")->verdict.state, STATE_MISSING);
	cluster_remove(cluster, CLUSTER_NODE, "vm2");
	assert_string_equal(device(cluster, "vm2-000009000")->verdict.reason, "NodeGone");
	made_put(cluster, CLUSTER_PCICLAIM,
		 "{'metadata':{'name':'vm1-000003100'},'status':{'conditions':[" MADE_CONDITION(
			 "Ready", "False", "Stuck", "") "]}}");
	assert_int_equal(device(cluster, "vm1-000003100")->verdict.state, STATE_STUCK);
	assert_string_equal(device(cluster, "vm1-000003100")->fault->reason, "NodeNotReady");
}

/* The process is gone, the node is Ready: one claim knows, and so all devices of the node do. */
static void a_silent_agent_makes_devices_unknown(void **state)
{
	struct cluster *cluster = *state;

	made_put(cluster, CLUSTER_PCICLAIM,
		 "{'metadata':{'name':'vm1-000003100'},'status':{'conditions':[" MADE_CONDITION(
			 "NodeReachable", "False", "AgentNotRunning", "no pod") "]}}");
	assert_string_equal(device(cluster, "vm1-0000001f0")->verdict.reason, "AgentNotRunning");
	assert_null(device(cluster, "vm2-000003000")->fault);
	made_put(cluster, CLUSTER_NODE, NODE("vm1", MADE_CONDITION("Ready", "True", "R", "")));
	made_put(cluster, CLUSTER_NODE, NODE("vm2", ""));
	cluster_know_nodes(cluster);
	assert_string_equal(device(cluster, "vm1-0000001f0")->verdict.reason, "AgentNotRunning");
	assert_null(device(cluster, "vm2-000003000")->fault);
}

static void devices_hang_on_what_they_are_behind(void **state)
{
	struct cluster *cluster = *state;
	const struct cluster_device *controller = device(cluster, "vm1-0000001f0");
	const struct cluster_device *hub = device(cluster, "vm1-1d6b-0002-001001");
	const struct cluster_device *card = device(cluster, "vm1-000003000");

	assert_ptr_equal(device(cluster, "vm1-0951-1666-001005")->parent, hub);
	assert_ptr_equal(hub->parent, controller);
	assert_ptr_equal(controller->first_child, hub);
	assert_ptr_equal(card->first_child, device(cluster, "vm1-000003100"));
	assert_string_equal(card->sriov->meta.name, "vm1-eth3");
	assert_null(card->parent);
	assert_null(device(cluster, "vm1-11111111-2222-3333-4444-555555555555")->parent);
}

static void rings_and_long_chains_are_cut(void **state)
{
	struct cluster *cluster = cluster_new();
	const struct cluster_view *view;

	for (int i = 0; i < 64; i++) {
		auto_free char *json = xasprintf(
			"{'metadata':{'name':'n-%d'},'status':{'nodeName':'n','address':'0000:00:%02x.0',"
			"'physicalFunction':'0000:00:%02x.0'}}",
			i, (unsigned)i, (unsigned)(i + 1) % 64);

		made_put(cluster, CLUSTER_PCIDEVICE, json);
	}
	view = cluster_view(cluster);
	for (size_t i = 0; i < view->len; i++) {
		const struct cluster_device *d = &view->devices[i];
		unsigned depth = 0;

		for (; d; d = d->parent)
			assert_true(depth++ < 64);
	}
	cluster_free(cluster);
}

static void what_is_put_again_counts_and_what_is_removed_does_not(void **state)
{
	struct cluster *cluster = *state;

	assert_int_equal(device(cluster, "vm2-000003000")->verdict.state, STATE_UNKNOWN);
	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("vm2-000003000", "vm2", "0000:03:00.0",
			  "'conditions':[" MADE_CONDITION("Claimable", "True", "Available",
							  "") "]"));
	assert_int_equal(device(cluster, "vm2-000003000")->verdict.state, STATE_CLAIMABLE);
	cluster_remove(cluster, CLUSTER_PCIDEVICE, "vm2-000003000");
	cluster_remove(cluster, CLUSTER_PCIDEVICE, "never-there");
	assert_null(device(cluster, "vm2-000003000"));
	cluster_remove(cluster, CLUSTER_PCIDEVICE, "vm1-000003100");
	assert_int_equal(device(cluster, "vm1-000003100")->is_there, false);
	assert_int_equal(device(cluster, "vm1-000003100")->verdict.state, STATE_UNKNOWN);
}

static void an_empty_cluster_has_an_empty_view(void **state)
{
	struct cluster *cluster = cluster_new();

	assert_int_equal(cluster_view(cluster)->len, 0);
	assert_int_equal(cluster_view(cluster)->nodes_len, 0);
	cluster_free(cluster);
	assert_null(cluster_free(NULL));
}

static const struct resourceclaim *claim_of(struct cluster *cluster, const char *name)
{
	return device(cluster, name)->resource_claim;
}

static void dra_offers_and_claims_devices(void **state)
{
	struct cluster *cluster = *state;

	made_put(cluster, CLUSTER_SLICE, MADE_SLICE);
	made_put(cluster, CLUSTER_SLICE, MADE_OTHER_SLICE);
	assert_string_equal(device(cluster, "vm1-000003100")->slice->spec.pool.name, "vm1");
	assert_non_null(device(cluster, "vm1-000003001")->slice);
	assert_null(device(cluster, "vm1-000003000")->slice);
	assert_null(device(cluster, "vm2-000003000")->slice);
	assert_null(claim_of(cluster, "vm1-000003001"));
	assert_int_equal(device(cluster, "vm1-000003001")->verdict.state, STATE_CLAIMABLE);
	made_put(cluster, CLUSTER_RESOURCECLAIM,
		 MADE_RESOURCE_CLAIM("a", "nic",
				     MADE_RESULT("hostdev.io", "vm1", "pci-0000-03-00-1"), ""));
	/* The same name in another namespace, of another driver. */
	made_put(cluster, CLUSTER_RESOURCECLAIM,
		 MADE_RESOURCE_CLAIM("b", "nic", MADE_RESULT("gpu.x", "vm1", "pci-0000-03-00-0"),
				     ""));
	assert_int_equal(cluster_count(cluster, CLUSTER_RESOURCECLAIM), 2);
	assert_string_equal(claim_of(cluster, "vm1-000003001")->meta.namespace_, "a");
	assert_int_equal(device(cluster, "vm1-000003001")->verdict.state, STATE_USED);
	assert_null(claim_of(cluster, "vm1-000003000"));
}

/* The caller may not list slices, or the slice is away while the kubelet starts. */
static void pool_without_a_slice_has_the_node_in_its_name(void **state)
{
	struct cluster *cluster = *state;

	made_put(cluster, CLUSTER_RESOURCECLAIM,
		 MADE_RESOURCE_CLAIM("a", "nic",
				     MADE_RESULT("hostdev.io", "vm1/pci-2", "pci-0000-03-00-1"),
				     ""));
	made_put(cluster, CLUSTER_RESOURCECLAIM,
		 MADE_RESOURCE_CLAIM("a", "stick",
				     MADE_RESULT("hostdev.io", "vm1/usb", "usb-1-2-3"), ""));
	made_put(cluster, CLUSTER_RESOURCECLAIM,
		 MADE_RESOURCE_CLAIM("a", "none", MADE_RESULT("hostdev.io", "vm3", "usb-1-2-3"),
				     ""));
	assert_string_equal(claim_of(cluster, "vm1-000003001")->meta.name, "nic");
	assert_string_equal(claim_of(cluster, "vm1-0951-1666-001005")->meta.name, "stick");
	assert_null(device(cluster, "vm1-000003001")->slice);
}

/* A long name of a node is cut in the pool's. */
static void slice_says_where_a_pool_is(void **state)
{
	struct cluster *cluster = *state;

	made_put(cluster, CLUSTER_SLICE,
		 "{'metadata':{'name':'s'},'spec':{'driver':'hostdev.io','nodeName':'vm1',"
		 "'pool':{'name':'cut-1234'},'devices':[{'name':'pci-0000-03-00-1'}]}}");
	made_put(cluster, CLUSTER_RESOURCECLAIM,
		 MADE_RESOURCE_CLAIM("a", "nic",
				     MADE_RESULT("hostdev.io", "cut-1234", "pci-0000-03-00-1"),
				     ""));
	assert_string_equal(claim_of(cluster, "vm1-000003001")->meta.name, "nic");
}

static void device_is_prepared_once_a_container_has_it(void **state)
{
	struct cluster *cluster = *state;
	const struct cluster_device *d;

	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("n-1", "n", "0000:01:00.0",
			  "'allocations':[{'namespace':'a','pod':'p','container':'c',"
			  "'resourceClaim':'nic'}]"));
	made_put(cluster, CLUSTER_RESOURCECLAIM,
		 MADE_RESOURCE_CLAIM("a", "nic", MADE_RESULT("hostdev.io", "n", "pci-0000-01-00-0"),
				     ""));
	d = device(cluster, "n-1");
	assert_true(dra_is_prepared(d, d->resource_claim));
	made_put(cluster, CLUSTER_RESOURCECLAIM,
		 MADE_RESOURCE_CLAIM("b", "nic", MADE_RESULT("hostdev.io", "n", "pci-0000-01-00-0"),
				     ""));
	assert_false(dra_is_prepared(device(cluster, "n-1"),
				     cluster_get(cluster, CLUSTER_RESOURCECLAIM, "b/nic")));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "rings and long chains are cut", rings_and_long_chains_are_cut, NULL);
	suite_add(&suite, "an empty cluster has an empty view", an_empty_cluster_has_an_empty_view,
		  NULL);
	suite_rows(&suite, conflicts, what_would_be_refused_is_not_claimable);
	suite_add(&suite, "a device that cannot be read is unknown",
		  a_device_that_cannot_be_read_is_unknown, NULL);
	suite_fixture(&suite, &cluster_fixture);
	suite_rows(&suite, states, device_has_state);
	suite_rows(&suite, claims, claim_gives_state);
	suite_add(&suite, "a claim that may not be read may be there",
		  a_claim_that_may_not_be_read_may_be_there, NULL);
	suite_add(&suite, "USB claims that may not be listed may be there",
		  usb_claims_that_may_not_be_listed_may_be_there, NULL);
	suite_add(&suite, "USB devices behind a controller are named",
		  usb_devices_behind_a_controller_are_named, NULL);
	suite_add(&suite, "what a HostDeviceConfig offers is available",
		  what_a_config_offers_is_available, NULL);
	suite_add(&suite, "what is lent on demand is in use", what_is_lent_on_demand_is_in_use,
		  NULL);
	suite_add(&suite, "nodes and devices are in order", nodes_and_devices_are_in_order, NULL);
	suite_add(&suite, "nodes that are not well make devices unknown",
		  nodes_that_are_not_well_make_devices_unknown, NULL);
	suite_add(&suite, "a silent agent makes devices unknown",
		  a_silent_agent_makes_devices_unknown, NULL);
	suite_add(&suite, "devices hang on what they are behind",
		  devices_hang_on_what_they_are_behind, NULL);
	suite_add(&suite, "what is put again counts, what is removed does not",
		  what_is_put_again_counts_and_what_is_removed_does_not, NULL);
	suite_add(&suite, "DRA offers and claims devices", dra_offers_and_claims_devices, NULL);
	suite_add(&suite, "a pool without a slice has the node in its name",
		  pool_without_a_slice_has_the_node_in_its_name, NULL);
	suite_add(&suite, "a slice says where a pool is", slice_says_where_a_pool_is, NULL);
	suite_add(&suite, "a device is prepared once a container has it",
		  device_is_prepared_once_a_container_has_it, NULL);
	return suite_run(&suite, "cluster");
}
