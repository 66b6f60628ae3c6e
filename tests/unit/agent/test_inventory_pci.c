/* inventory_pci: each line of a scan as the PCIDevice that the API server gets, whole. */
#include "agent/inventory/inventory_pci.h"

#include "api/condition.h"
#include "api/json_map.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "base/mem.h"
#include "base/str.h"
#include "unit/agent/world.h"
#include "unit/schema.h"

#define UNREAD_CLASS "the agent cannot see whether the host uses it: its class cannot be read"
#define FIRST        "{\"kind\":\"pci\",\"address\":\"0000:01:00.0\""
#define CLAIMABLE(status, reason, message)                                                       \
	"\"conditions\":[{\"type\":\"Claimable\",\"status\":\"" status "\",\"reason\":\"" reason \
	"\",\"message\":\"" message "\",\"lastTransitionTime\":\"1970-01-12T13:46:40Z\"}]"

static struct pci_case {
	const char *name;
	const char *lines[5]; /* the first is the function looked at */
	const char *annotations;
	const char *status;
} cases[] = {
	{ "a virtual function with all that can be said of it",
	  { "{\"kind\":\"pci\",\"address\":\"0000:01:10.0\",\"vendor\":\"8086\",\"device\":\"10ed\","
	    "\"class\":\"020000\",\"subsystemVendor\":\"15d9\",\"subsystemDevice\":\"0611\","
	    "\"revision\":\"01\",\"driver\":\"ixgbevf\",\"iommuGroup\":\"31\",\"numaNode\":0,"
	    "\"role\":\"VirtualFunction\",\"physicalFunction\":\"0000:01:00.0\","
	    "\"serial\":\"00-11-22-33-44-55-66-77\",\"resetMethods\":[\"flr\",\"bus\"],"
	    "\"parents\":[\"0000:00:1c.0\",\"rubbish\",\"0000:02:00.0\"],\"bootVGA\":false}",
	    "{\"kind\":\"name\",\"id\":\"pci:8086:10ed\",\"vendor\":\"Intel Corporation\","
	    "\"product\":\"82599 Ethernet Controller Virtual Function\"}",
	    "{\"kind\":\"name\",\"id\":\"pciclass:0200\",\"class\":\"Network controller\","
	    "\"subclass\":\"Ethernet controller\"}" },
	  "{\"harvesterhci.io/pcideviceDriver\":\"ixgbevf\"}",
	  "{\"address\":\"0000:01:10.0\",\"vendorId\":\"8086\",\"deviceId\":\"10ed\","
	  "\"classId\":\"0200\",\"iommuGroup\":\"31\",\"nodeName\":\"node1\","
	  "\"resourceName\":\"intel.com/82599_ETHERNET_CONTROLLER_VIRTUAL_FUNCTION\","
	  "\"description\":\"Ethernet controller: Intel Corporation 82599 Ethernet Controller "
	  "Virtual Function\",\"shortDescription\":\"Ethernet controller: Intel Corporation 82599 "
	  "Ethernet Controller Virt...\",\"kernelDriverInUse\":\"ixgbevf\",\"numaNode\":0,"
	  "\"subsystemVendorId\":\"15d9\",\"subsystemDeviceId\":\"0611\",\"revision\":\"01\","
	  "\"bridges\":[\"0000:00:1c.0\",\"0000:02:00.0\"],"
	  "\"iommuGroupMembers\":[\"0000:01:10.0\"],\"role\":\"VirtualFunction\","
	  "\"physicalFunction\":\"0000:01:00.0\",\"serialNumber\":\"00-11-22-33-44-55-66-77\","
	  "\"resetMethods\":[\"flr\",\"bus\"]," CLAIMABLE("True", "Available",
							  "may be claimed (IOMMU group 31)") "}" },
	{ "a function of which only the address could be read",
	  { FIRST "}" },
	  NULL,
	  "{\"address\":\"0000:01:00.0\",\"vendorId\":\"\",\"deviceId\":\"\",\"classId\":\"\","
	  "\"iommuGroup\":\"\",\"nodeName\":\"node1\",\"resourceName\":\"unknown.com/0000\","
	  "\"description\":\"Class 0000: Vendor 0000 Device 0000\","
	  "\"shortDescription\":\"Class 0000: Vendor 0000 Device 0000\"," CLAIMABLE(
		  "False", "UseUnknown", UNREAD_CLASS) "}" },
	{ "vfio-pci is told as the driver, but not as what to go back to",
	  { FIRST ",\"vendor\":\"8086\",\"device\":\"10d3\",\"class\":\"020000\","
		  "\"driver\":\"vfio-pci\",\"iommuGroup\":\"1\"}" },
	  NULL,
	  "{\"address\":\"0000:01:00.0\",\"vendorId\":\"8086\",\"deviceId\":\"10d3\","
	  "\"classId\":\"0200\",\"iommuGroup\":\"1\",\"nodeName\":\"node1\","
	  "\"resourceName\":\"unknown.com/10d3\","
	  "\"description\":\"Class 0200: Vendor 8086 Device 10d3\","
	  "\"shortDescription\":\"Class 0200: Vendor 8086 Device 10d3\","
	  "\"kernelDriverInUse\":\"vfio-pci\",\"iommuGroupMembers\":[\"0000:01:00.0\"]," CLAIMABLE(
		  "True", "Available",
		  "may be claimed (IOMMU group 1): bound to vfio-pci already; "
		  "hostdev leaves it alone until it is claimed") "}" },
	{ "the group's other functions are listed in order, those of other groups are not",
	  { FIRST ",\"iommuGroup\":\"1\"}",
	    "{\"kind\":\"pci\",\"address\":\"0000:03:00.0\",\"iommuGroup\":\"1\"}",
	    "{\"kind\":\"pci\",\"address\":\"0000:02:00.0\",\"iommuGroup\":\"2\"}",
	    "{\"kind\":\"pci\",\"address\":\"0000:00:01.0\",\"iommuGroup\":\"1\"}" },
	  NULL,
	  "{\"address\":\"0000:01:00.0\",\"vendorId\":\"\",\"deviceId\":\"\",\"classId\":\"\","
	  "\"iommuGroup\":\"1\",\"nodeName\":\"node1\",\"resourceName\":\"unknown.com/0000\","
	  "\"description\":\"Class 0000: Vendor 0000 Device 0000\","
	  "\"shortDescription\":\"Class 0000: Vendor 0000 Device 0000\","
	  "\"iommuGroupMembers\":[\"0000:00:01.0\",\"0000:01:00.0\",\"0000:03:00.0\"]," CLAIMABLE(
		  "False", "UseUnknown", UNREAD_CLASS) "}" },
	{ "what the schema does not take is dropped or cut, the rest is told",
	  { FIRST ",\"vendor\":\"8086\",\"device\":\"10D3\",\"class\":\"02\","
		  "\"subsystemVendor\":\"15d9a\",\"subsystemDevice\":\"x\",\"revision\":\"1\","
		  "\"iommuGroup\":\"1 \",\"numaNode\":-7,\"role\":\"Queen\","
		  "\"physicalFunction\":\"1:0.0\",\"totalVFs\":65536,\"numVFs\":-1,"
		  "\"serial\":\"a\\u0007\",\"resetMethods\":[\"\",\"flr\",\"b us\"]}" },
	  NULL,
	  "{\"address\":\"0000:01:00.0\",\"vendorId\":\"8086\",\"deviceId\":\"\",\"classId\":\"\","
	  "\"iommuGroup\":\"\",\"nodeName\":\"node1\",\"resourceName\":\"unknown.com/0000\","
	  "\"description\":\"Class 0000: Vendor 8086 Device 0000\","
	  "\"shortDescription\":\"Class 0000: Vendor 8086 Device 0000\","
	  "\"iommuGroupMembers\":[\"0000:01:00.0\"],\"serialNumber\":\"a\\\\x07\","
	  "\"resetMethods\":[\"flr\"]," CLAIMABLE("True", "Available",
						  "may be claimed (IOMMU group 1 )") "}" },
	{ "a function without a proper address or vendor is told without them",
	  { "{\"kind\":\"pci\",\"address\":\"x\",\"vendor\":\"808\",\"iommuGroup\":\"1\"}" },
	  NULL,
	  "{\"address\":\"\",\"vendorId\":\"\",\"deviceId\":\"\",\"classId\":\"\","
	  "\"iommuGroup\":\"1\",\"nodeName\":\"node1\",\"resourceName\":\"unknown.com/0000\","
	  "\"description\":\"Class 0000: Vendor 0000 Device 0000\","
	  "\"shortDescription\":\"Class 0000: Vendor 0000 Device 0000\"," CLAIMABLE(
		  "False", "UseUnknown", UNREAD_CLASS) "}" },
};

static const struct pcidevice *first_of(const struct world *world)
{
	return world->inventory->sets[INVENTORY_PCI].objects[0];
}

static void assert_json(json_t *is, const char *should)
{
	auto_json json_t *wanted = should ? json_loads(should, 0, NULL) : NULL;
	auto_free char *text = is ? json_map_text(is) : xstrdup("nothing");

	assert_true(!should || wanted);
	if (!json_equal(is, wanted) && (is || wanted))
		fail_msg("%s\nis not\n%s", text, should);
}

static void assert_in_schema(json_t *object)
{
	auto_json json_t *schema = schema_load("devices.harvesterhci.io_pcidevices.yaml");
	auto_str struct str problem = STR_INIT;

	if (!schema_takes(schema, object, "", &problem))
		fail_msg("%s", problem.buf);
}

static void object_matches_table(void **state)
{
	const struct pci_case *c = suite_row(state);
	auto_json json_t *json = NULL;
	json_t *meta;
	struct world *world = *state;

	world_of(world, c->lines, ARRAY_LEN(c->lines));
	json = api_object_encode(&pcidevice_kind, first_of(world));
	meta = json_object_get(json, "metadata");
	assert_json(json_object_get(json, "status"), c->status);
	assert_json(json_object_get(meta, "annotations"), c->annotations);
	assert_json(json_object_get(meta, "labels"), "{\"nodename\":\"node1\"}");
	assert_in_schema(json);
}

/* "aaa..." of @len bytes. The caller frees. */
static char *long_text(int len)
{
	char *text = xasprintf("%0*d", len, 0);

	memset(text, 'a', (size_t)len);
	return text;
}

static void long_text_is_cut(void **state)
{
	auto_free char *text = long_text(2000);
	auto_free char *device = xasprintf(
		FIRST ",\"vendor\":\"8086\",\"device\":\"10d3\",\"driver\":\"%s\",\"serial\":"
		      "\"%s\",\"resetMethods\":[\"%s\",\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\","
		      "\"h\",\"i\",\"j\",\"k\",\"l\",\"m\",\"n\",\"o\",\"p\",\"q\"]}",
		text, text, text);
	auto_free char *use = xasprintf("{\"kind\":\"use\",\"pci\":\"0000:01:00.0\",\"reason\":"
					"\"Mounted\",\"detail\":\"%s%s%s\"}",
					text, text, text);
	auto_free char *name = xasprintf("{\"kind\":\"name\",\"id\":\"pci:8086:10d3\",\"vendor\":"
					 "\"%s\",\"product\":\"%s\"}",
					 text, text);
	const struct pcidevice_status *status;
	auto_json json_t *json = NULL;
	struct world *world = *state;

	world_of(world, (const char *[]){ device, use, name }, 3);
	status = &first_of(world)->status;
	assert_int_equal(strlen(status->kernel_driver_in_use), 255);
	assert_int_equal(strlen(status->serial_number), 64);
	assert_int_equal(strlen(status->description), 1024);
	assert_int_equal(status->reset_methods.len, 16);
	assert_string_equal(status->reset_methods.items[0], "a");
	assert_string_equal(status->reset_methods.items[15], "p");
	json = api_object_encode(&pcidevice_kind, first_of(world));
	assert_in_schema(json);
}

/* The schema takes 1024 members; the function itself is always one of them. */
static void a_huge_group_is_cut(void **state)
{
	struct world *world = *state;
	auto_json json_t *json = NULL;
	const struct pcidevice *last;

	world_open(world);
	for (unsigned i = 0; i < 1500; i++) {
		auto_free char *line =
			xasprintf("{\"kind\":\"pci\",\"address\":\"0000:%02x:%02x.%u\","
				  "\"driver\":\"d\",\"iommuGroup\":\"1\"}",
				  i / 256, i / 8 % 32, i % 8);

		world_add(world, line);
	}
	world_look(world, &(struct inventory_options){ .node_name = "node1" });
	last = world->inventory->sets[INVENTORY_PCI].objects[1499];
	assert_int_equal(last->status.iommu_group_members.len, 1024);
	assert_true(json_strs_has(&last->status.iommu_group_members, last->status.address));
	json = api_object_encode(&pcidevice_kind, last);
	assert_in_schema(json);
}

#define NIC(address, more)                         \
	"{\"kind\":\"pci\",\"address\":\"" address \
	"\",\"vendor\":\"8086\",\"device\":\"10d3\"" more "}"
#define RECORD(address, more) "{\"kind\":\"record\",\"address\":\"" address "\"" more "}"
#define MAC(last)             ",\"identity\":\"mac=52:54:00:12:00:" last "\""
#define VF(pf)                ",\"role\":\"VirtualFunction\",\"physicalFunction\":\"" pf "\""

/* What the first function's condition Distinguishable names. */
static struct twin_case {
	const char *name;
	const char *lines[4];
	const char *names; /* NULL: there is no such condition */
} twins[] = {
	{ "a function alone of its model has no twin",
	  { NIC("0000:01:00.0", ""),
	    "{\"kind\":\"pci\",\"address\":\"0000:02:00.0\",\"vendor\":\"8086\",\"device\":\"10c9\"}" },
	  NULL },
	{ "an equal one of which nothing is known is a twin",
	  { NIC("0000:01:00.0", ""), NIC("0000:02:00.0", "") },
	  "distinguishes 0000:01:00.0 from 0000:02:00.0" },
	{ "so it is where something is known of one only",
	  { NIC("0000:01:00.0", MAC("01")), NIC("0000:02:00.0", "") },
	  "from 0000:02:00.0" },
	{ "addresses of network cards tell them apart",
	  { NIC("0000:01:00.0", MAC("01")), NIC("0000:02:00.0", MAC("02")) },
	  NULL },
	{ "so do serial numbers",
	  { NIC("0000:01:00.0", ",\"serial\":\"1\""), NIC("0000:02:00.0", ",\"serial\":\"2\"") },
	  NULL },
	{ "of one that is bound, the record knows more",
	  { NIC("0000:01:00.0", ""), NIC("0000:02:00.0", MAC("02")),
	    RECORD("0000:01:00.0", MAC("01")) },
	  NULL },
	{ "one record knows nothing of another function",
	  { NIC("0000:01:00.0", ""), NIC("0000:02:00.0", MAC("02")),
	    RECORD("0000:03:00.0", MAC("01")) },
	  "from 0000:02:00.0" },
	{ "another of three is no twin, the third is",
	  { NIC("0000:01:00.0", MAC("01")), NIC("0000:02:00.0", MAC("02")),
	    NIC("0000:03:00.0", "") },
	  "from 0000:03:00.0" },
	{ "the functions of one device keep their order",
	  { NIC("0000:01:00.0", ""), NIC("0000:01:00.1", "") },
	  NULL },
	{ "another board is no twin",
	  { NIC("0000:01:00.0", ",\"subsystemDevice\":\"0001\""), NIC("0000:02:00.0", "") },
	  NULL },
	{ "a virtual function is known by its physical one",
	  { NIC("0000:01:10.0", VF("0000:01:00.0")), NIC("0000:01:00.0", ""),
	    NIC("0000:02:00.0", "") },
	  "distinguishes its physical function 0000:01:00.0 from 0000:02:00.0" },
	{ "the virtual functions of one card are no twins",
	  { NIC("0000:01:10.0", VF("0000:01:00.0")), NIC("0000:01:00.0", ""),
	    NIC("0000:01:11.0", VF("0000:01:00.0")) },
	  NULL },
	{ "of functions without ids nothing is said",
	  { FIRST "}", "{\"kind\":\"pci\",\"address\":\"0000:02:00.0\"}" },
	  NULL },
	{ "parts of the machine have no claims",
	  { NIC("0000:01:00.0", ",\"class\":\"088000\""),
	    NIC("0000:02:00.0", ",\"class\":\"088000\"") },
	  NULL },
};

static const struct pcidevice *find_device(const struct world *world, const char *address)
{
	const struct inventory_set *set = &world->inventory->sets[INVENTORY_PCI];

	for (size_t i = 0; i < set->len; i++) {
		const struct pcidevice *device = set->objects[i];

		if (strcmp(device->status.address, address) == 0)
			return device;
	}
	fail_msg("no device at %s", address);
	return NULL;
}

static void twin_matches_table(void **state)
{
	const struct twin_case *row = suite_row(state);
	const struct api_condition *told;
	struct world *world = *state;

	world_of(world, row->lines, ARRAY_LEN(row->lines));
	told = api_conditions_find(&first_of(world)->status.conditions, "Distinguishable");
	if (!row->names != !told)
		fail_msg("Distinguishable: %s", told ? told->message : "not there");
	if (told) {
		assert_string_equal(told->status, "False");
		assert_string_equal(told->reason, "IdentityByModelOnly");
		if (!strstr(told->message, row->names))
			fail_msg("%s", told->message);
	}
}

/* Of two, each names the other, whichever comes first; of three, each names one. */
static void twins_name_each_other(void **state)
{
	static const char *const lines[] = { NIC("0000:01:00.0", ""), NIC("0000:02:00.0", ""),
					     NIC("0000:03:00.0", "") };
	static const char *const others[] = { "from 0000:02:00.0", "from 0000:01:00.0",
					      "from 0000:0" };
	struct world *world = *state;

	world_of(world, lines, ARRAY_LEN(lines));
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		auto_free char *address = xasprintf("0000:0%zu:00.0", i + 1);
		const struct api_condition *told = api_conditions_find(
			&find_device(world, address)->status.conditions, "Distinguishable");

		assert_non_null(told);
		assert_non_null(strstr(told->message, others[i]));
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &world_fixture);
	suite_rows(&suite, cases, object_matches_table);
	suite_add(&suite, "text from outside is cut to what the schema takes", long_text_is_cut,
		  NULL);
	suite_add(&suite, "a huge group is cut, the function itself stays", a_huge_group_is_cut,
		  NULL);
	suite_rows(&suite, twins, twin_matches_table);
	suite_add(&suite, "twins name each other", twins_name_each_other, NULL);
	return suite_run(&suite, "inventory_pci");
}
