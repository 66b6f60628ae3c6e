/* dra_devices: names, pools and attributes of what DRA offers. */
#include "agent/dra/dra_devices.h"

#include "fake/fake_clock.h"
#include "unit/dra/devices_scene.h"

/* clang-format off */
#define NIC \
	"{\"kind\":\"pci\",\"address\":\"0000:3c:00.0\",\"vendor\":\"8086\",\"device\":\"10d3\",\"class\":\"020000\"," \
	"\"subsystemVendor\":\"1028\",\"subsystemDevice\":\"0001\",\"driver\":\"vfio-pci\",\"iommuGroup\":\"12\",\"numaNode\":1," \
	"\"role\":\"PhysicalFunction\",\"serial\":\"00-11\",\"parents\":[\"0000:3b:01.0\",\"0000:3b:02.0\"]}"
#define VF \
	"{\"kind\":\"pci\",\"address\":\"0000:3c:10.1\",\"vendor\":\"8086\",\"device\":\"10ed\",\"class\":\"020000\"," \
	"\"driver\":\"vfio-pci\",\"iommuGroup\":\"12\",\"role\":\"VirtualFunction\",\"physicalFunction\":\"0000:3c:00.0\"}"
#define ON_ROOT_BUS \
	"{\"kind\":\"pci\",\"address\":\"10000:e1:03.0\",\"vendor\":\"1af4\",\"device\":\"1041\",\"class\":\"010000\"," \
	"\"numaNode\":-1}"
#define LONG "0123456789012345678901234567890123456789012345678901234567890123"
#define STICK \
	"{\"kind\":\"usb\",\"name\":\"1-2.3\",\"bus\":1,\"device\":5,\"vendor\":\"0951\",\"product\":\"1666\",\"speed\":480," \
	"\"serial\":\"" LONG "\"}"
#define STICK_OF_LONG_SERIAL \
	"{\"kind\":\"usb\",\"name\":\"1-3\",\"bus\":1,\"device\":6,\"vendor\":\"0951\",\"product\":\"1666\"," \
	"\"serial\":\"" LONG "4\"}"
#define MDEV \
	"{\"kind\":\"mdev\",\"uuid\":\"" UUID "\",\"parent\":\"0000:3c:00.0\",\"pciAddress\":\"0000:3c:00.0\"," \
	"\"type\":\"nvidia-222\",\"typeName\":\"GRID T4-1B\",\"iommuGroup\":\"14\",\"numaNode\":0}"
/* clang-format on */

#define RECORD                                                                             \
	"{\"kind\":\"record\",\"address\":\"0000:3c:10.1\",\"claim\":\"x\",\"uid\":\"u\"," \
	"\"driver\":\"vfio-pci\",\"native\":\"ixgbevf\",\"id\":\"8086:10ed\"}"

static const char *const lines[] = { NIC,  VF,     ON_ROOT_BUS, STICK, STICK_OF_LONG_SERIAL,
				     MDEV, RECORD, NULL };

struct bench {
	struct fake_clock *clock;
	struct this_node node;
	struct world world;
	struct dra_devices *devices;
	unsigned changes;
};

static void on_changed(void *arg)
{
	struct bench *b = arg;

	b->changes++;
}

static void bench_open(struct bench *b)
{
	*b = (struct bench){ .clock = fake_clock_new() };
	world_of(&b->world, lines, 16);
	b->node = this_node_of(NULL, fake_clock_as_clock(b->clock), NULL);
	b->node.inventory = b->world.inventory;
	b->devices = dra_devices_new(&b->node, on_changed, b);
}

static void bench_close(struct bench *b)
{
	dra_devices_free(b->devices);
	world_close(&b->world);
	fake_clock_free(b->clock);
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

static unsigned changes(struct bench *b)
{
	unsigned before = b->changes;

	fake_clock_settle(b->clock);
	return b->changes - before;
}

/* --- attributes ------------------------------------------------------------------------------- */

#define TEXT(name, value) "\"" name "\":{\"string\":\"" value "\"}"
#define INT(name, value)  "\"" name "\":{\"int\":" value "}"
#define K8S               "resource.kubernetes.io/"
#define NAMED             TEXT("resourceName", "a.io/x")

static struct attribute_case {
	const char *name;
	const struct device_type *type;
	const char *id;
	const char *device; /* its name in DRA */
	const char *attributes;
	const char *group; /* NULL: none */
} rows[] = {
	/* clang-format off */
	{ "a function has all that its PCIDevice says", &pci_like, "0000:3c:00.0", "pci-0000-3c-00-0",
	  NAMED "," TEXT("type", "pci") "," TEXT(K8S "pciBusID", "0000:3c:00.0") "," TEXT(K8S "pcieRoot", "pci0000:3b") ","
	  INT(K8S "numaNode", "1") "," TEXT("vendorID", "8086") "," TEXT("deviceID", "10d3") ","
	  TEXT("subsystemVendorID", "1028") "," TEXT("subsystemDeviceID", "0001") "," TEXT("class", "0200") ","
	  TEXT("driver", "vfio-pci") "," TEXT("serial", "00-11") "," INT("iommuGroup", "12") "," INT("iommuGroupSize", "2"),
	  "12" },
	{ "a virtual function without a bridge has the root of its physical function", &pci_like, "0000:3c:10.1",
	  "pci-0000-3c-10-1",
	  NAMED "," TEXT("type", "vf") "," TEXT(K8S "pciBusID", "0000:3c:10.1") "," TEXT(K8S "pcieRoot", "pci0000:3b") ","
	  TEXT("vendorID", "8086") "," TEXT("deviceID", "10ed") "," TEXT("class", "0200") "," TEXT("driver", "vfio-pci") ","
	  TEXT("physicalFunction", "0000:3c:00.0") "," INT("iommuGroup", "12") "," INT("iommuGroupSize", "2"), "12" },
	{ "no NUMA node, no group and no driver are no attributes; the root bus is its own", &pci_like, "10000:e1:03.0",
	  "pci-10000-e1-03-0",
	  NAMED "," TEXT("type", "pci") "," TEXT(K8S "pciBusID", "10000:e1:03.0") "," TEXT(K8S "pcieRoot", "pci10000:e1") ","
	  TEXT("vendorID", "1af4") "," TEXT("deviceID", "1041") "," TEXT("class", "0100"), NULL },
	{ "a USB device has its port, and a serial number of 64 bytes", &usb_like, "1-2.3", "usb-1-2-3",
	  NAMED "," TEXT("type", "usb") "," TEXT("port", "1-2.3") "," TEXT("vendorID", "0951") "," TEXT("productID", "1666") ","
	  TEXT("serial", LONG) "," INT("speed", "480"), NULL },
	{ "a longer one is left out, as the API would refuse it", &usb_like, "1-3", "usb-1-3",
	  NAMED "," TEXT("type", "usb") "," TEXT("port", "1-3") "," TEXT("vendorID", "0951") "," TEXT("productID", "1666"),
	  NULL },
	{ "of an unplugged one the port is known", &usb_like, "1-9", "usb-1-9",
	  NAMED "," TEXT("type", "usb") "," TEXT("port", "1-9"), NULL },
	{ "a mediated device has its type, and the place of its parent", &mdev_like, UUID, "mdev-" UUID,
	  NAMED "," TEXT("type", "mdev") "," TEXT("mdevUUID", UUID) "," TEXT("mdevType", "nvidia-222") ","
	  TEXT("parentPCIBusID", "0000:3c:00.0") "," TEXT(K8S "pcieRoot", "pci0000:3b") "," INT(K8S "numaNode", "0") ","
	  INT("iommuGroup", "14") "," INT("iommuGroupSize", "1"), "14" },
	/* clang-format on */
};

static void assert_driver(const struct dra_devices *devices, const char *name, const char *driver)
{
	auto_json json_t *attributes =
		json_loads(dra_devices_find(devices, name)->attributes, 0, NULL);

	assert_string_equal(
		json_string_value(json_object_get(json_object_get(attributes, "driver"), "string")),
		driver);
}

/* What is bound for a claim shows the driver that it goes back to: no slice changes with it. */
static void driver_on_demand_is_its_own(void **state)
{
	struct bench *b = *state;

	devices_scene_set(b->devices, &pci_like, "0000:3c:00.0? 0000:3c:10.1?");
	assert_driver(b->devices, "pci-0000-3c-00-0", "vfio-pci");
	assert_driver(b->devices, "pci-0000-3c-10-1", "ixgbevf");
	assert_true(dra_devices_find(b->devices, "pci-0000-3c-10-1")->on_demand);
	devices_scene_set(b->devices, &pci_like, "0000:3c:10.1");
	assert_driver(b->devices, "pci-0000-3c-10-1", "vfio-pci");
	assert_false(dra_devices_find(b->devices, "pci-0000-3c-10-1")->on_demand);
}

static void attributes_match_table(void **state)
{
	const struct attribute_case *row = suite_row(state);
	struct bench *b = *state;
	const struct dra_device *device;
	auto_free char *wanted = xasprintf("{%s}", row->attributes);
	auto_json json_t *json = json_loads(wanted, 0, NULL);
	auto_json json_t *attributes = NULL;

	assert_non_null(json);
	devices_scene_set(b->devices, row->type, row->id);
	device = dra_devices_find(b->devices, row->device);
	assert_non_null(device);
	attributes = json_loads(device->attributes, 0, NULL);
	if (!json_equal(attributes, json))
		assert_string_equal(device->attributes, wanted);
	assert_true(json_object_size(json) <= DRA_ATTRIBUTES_MAX);
	assert_true(str_equal(device->iommu_group, row->group));
	assert_string_equal(device->id, row->id);
	assert_ptr_equal(device->type, row->type);
}

/* --- the list --------------------------------------------------------------------------------- */

static void changes_are_told_once_and_later(void **state)
{
	struct bench *b = *state;

	devices_scene_set(b->devices, &pci_like, "0000:3c:00.0");
	assert_int_equal(b->changes, 0); /* never inside */
	assert_int_equal(changes(b), 1);
	devices_scene_set(b->devices, &pci_like, "0000:3c:00.0");
	assert_int_equal(changes(b), 0);
	devices_scene_set(b->devices, &pci_like, "0000:3c:00.0!");
	devices_scene_set(b->devices, &usb_like, "1-2.3");
	assert_int_equal(changes(b), 1);
	devices_scene_set_as(b->devices, &pci_like, "b.io/y", "0000:3c:00.0!");
	assert_int_equal(changes(b), 1);
	assert_int_equal(dra_devices_len(b->devices), 2);
	devices_scene_set(b->devices, &pci_like, "");
	assert_int_equal(changes(b), 1);
	assert_int_equal(dra_devices_len(b->devices), 1);
	devices_scene_set(b->devices, &mdev_like, "");
	assert_int_equal(changes(b), 0);
}

static void an_unhealthy_one_says_why(void **state)
{
	struct bench *b = *state;

	devices_scene_set(b->devices, &pci_like, "0000:3c:00.0! 0000:3c:10.1");
	assert_string_equal(dra_devices_find(b->devices, "pci-0000-3c-00-0")->trouble, "it is ill");
	assert_null(dra_devices_find(b->devices, "pci-0000-3c-10-1")->trouble);
	assert_null(dra_devices_find(b->devices, "pci-0000-3c-10-2"));
}

static void another_inventory_is_a_change(void **state)
{
	static const char *const other[] = { NIC, NULL };
	struct bench *b = *state;
	struct world before = b->world;

	devices_scene_set(b->devices, &usb_like, "1-2.3");
	assert_int_equal(changes(b), 1);
	world_of(&b->world, other, 16);
	b->node.inventory = b->world.inventory;
	world_close(&before);
	devices_scene_set(b->devices, &usb_like, "1-2.3");
	assert_int_equal(changes(b), 1);
	b->node.inventory = NULL;
	devices_scene_set(b->devices, &usb_like, "1-2.3");
	assert_int_equal(dra_devices_len(b->devices), 1);
}

static void what_has_no_name_of_its_own_is_left_out(void **state)
{
	struct bench *b = *state;
	static const struct device_type gpu_like = { .name = "nvidia" };

	devices_scene_set(b->devices, &usb_like,
			  "1-2.3 1-2-3 "
			  "1-2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20.21.22.23.24"
			  " 1-");
	assert_int_equal(dra_devices_len(b->devices), 1);
	devices_scene_set(b->devices, &gpu_like, "GPU-1");
	assert_int_equal(dra_devices_len(b->devices), 1);
	assert_int_equal(changes(b), 1);
}

static void what_is_selected_is_known(void **state)
{
	struct bench *b = *state;

	assert_false(dra_devices_selects(b->devices, DRA_USB));
	dra_devices_select(b->devices, (const bool[DRA_KINDS]){ [DRA_USB] = true });
	assert_true(dra_devices_selects(b->devices, DRA_USB));
	assert_false(dra_devices_selects(b->devices, DRA_PCI));
	assert_int_equal(changes(b), 1);
	dra_devices_select(b->devices, (const bool[DRA_KINDS]){ [DRA_USB] = true });
	assert_int_equal(changes(b), 0);
}

/* --- pools ------------------------------------------------------------------------------------ */

/* @from to @to of 256 virtual functions. */
static void set_functions(struct bench *b, unsigned from, unsigned to)
{
	auto_str struct str ids = STR_INIT;

	for (unsigned i = from; i < to; i++)
		str_addf(&ids, "%s0000:%02x:%02x.%u", i > from ? " " : "", 0x40 + i / 256,
			 i % 256 / 8, i % 8);
	devices_scene_set(b->devices, &pci_like, str_cstr(&ids));
}

static size_t count_in(const struct bench *b, const char *pool)
{
	size_t count = 0;

	for (size_t i = 0; i < dra_devices_len(b->devices); i++)
		count += strcmp(dra_devices_at(b->devices, i)->pool, pool) == 0;
	return count;
}

static void a_pool_has_room_for_128(void **state)
{
	struct bench *b = *state;

	devices_scene_set(b->devices, &usb_like, "1-3");
	set_functions(b, 0, 128);
	assert_int_equal(count_in(b, "node1"), 128);
	set_functions(b, 0, 129);
	assert_int_equal(count_in(b, "node1"), 128);
	assert_int_equal(count_in(b, "node1/pci-2"), 1);
	assert_int_equal(count_in(b, "node1/usb"), 1);
	for (size_t i = 1; i < dra_devices_len(b->devices); i++) {
		const struct dra_device *x = dra_devices_at(b->devices, i - 1);
		const struct dra_device *y = dra_devices_at(b->devices, i);

		assert_true(x->kind < y->kind || strcmp(x->pool, y->pool) < 0 ||
			    strcmp(x->name, y->name) < 0);
	}
}

/* In another pool, a device that a claim has would look like a free one. */
static void a_device_keeps_its_pool(void **state)
{
	struct bench *b = *state;

	set_functions(b, 0, 129);
	assert_string_equal(dra_devices_find(b->devices, "pci-0000-40-10-0")->pool, "node1/pci-2");
	set_functions(b, 64, 129);
	assert_string_equal(dra_devices_find(b->devices, "pci-0000-40-10-0")->pool, "node1/pci-2");
	set_functions(b, 64, 200);
	assert_int_equal(count_in(b, "node1"), 128);
	assert_string_equal(dra_devices_find(b->devices, "pci-0000-40-10-0")->pool, "node1/pci-2");
}

static void names_of_pools_and_slices_fit(void **state)
{
	static const struct {
		enum dra_kind kind;
		size_t i;
		const char *pool, *slice;
	} names[] = {
		{ DRA_PCI, 0, "node1", "node1-hostdev.io-pci" },
		{ DRA_PCI, 1, "node1/pci-2", "node1-hostdev.io-pci-2" },
		{ DRA_USB, 0, "node1/usb", "node1-hostdev.io-usb" },
		{ DRA_MDEV, 0, "node1/mdev", "node1-hostdev.io-mdev" },
		{ DRA_MDEV, 7, "node1/mdev-8", "node1-hostdev.io-mdev-8" },
	};
	char node[254];
	auto_free char *pool = NULL;
	auto_free char *slice = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		auto_free char *p = dra_pool_name("node1", names[i].kind, names[i].i);
		auto_free char *s = dra_slice_name("node1", names[i].kind, names[i].i);

		assert_string_equal(p, names[i].pool);
		assert_string_equal(s, names[i].slice);
	}
	memset(node, 'n', sizeof(node) - 1);
	node[sizeof(node) - 1] = '\0';
	for (size_t i = 49; i < 253; i += 50)
		node[i] = '.';
	slice = dra_slice_name(node, DRA_PCI, 0);
	pool = dra_pool_name(node, DRA_USB, 0);
	assert_true(strlen(slice) <= 253);
	assert_int_equal(strncmp(slice, node, 40), 0);
	assert_non_null(strstr(slice, "-hostdev.io-pci"));
	assert_true(strlen(pool) <= 253);
	assert_non_null(strstr(pool, "/usb"));
	assert_null(strchr(pool, '.')); /* ".-" would be no name */
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_rows(&suite, rows, attributes_match_table);
	suite_add(&suite, "the driver of a function on demand is its own",
		  driver_on_demand_is_its_own, NULL);
	suite_add(&suite, "a change is told once, and later", changes_are_told_once_and_later,
		  NULL);
	suite_add(&suite, "an unhealthy device says why", an_unhealthy_one_says_why, NULL);
	suite_add(&suite, "another inventory is a change", another_inventory_is_a_change, NULL);
	suite_add(&suite, "what has no name of its own is left out",
		  what_has_no_name_of_its_own_is_left_out, NULL);
	suite_add(&suite, "what is selected is known", what_is_selected_is_known, NULL);
	suite_add(&suite, "a pool has room for 128 devices", a_pool_has_room_for_128, NULL);
	suite_add(&suite, "a device keeps its pool", a_device_keeps_its_pool, NULL);
	suite_add(&suite, "names of pools and slices fit", names_of_pools_and_slices_fit, NULL);
	return suite_run(&suite, "dra_devices");
}
