/* bind_state: functions, their groups, and what the kernel would let be in a group. */
#include "agent/helper/sys/bind_state.h"

#include <endian.h>

#include "base/err.h"
#include "fake/tree/tree.h"

#define A    "0000:01:00.0"
#define AT   "sys/bus/pci/devices/" A "/"
#define IDS  AT "vendor=0x8086\n", AT "device=0x10d3\n"
#define LONG "a123456789b123456789c123456789d123456789e123456789f123456789g123456789h123456789"

/* clang-format off */
static struct state_case {
	const char *name;
	const char *entries[8];
	struct bind_state seen;
} reads[] = {
	{ "a function that is not there", { "sys/" }, { .group = -1 } },
	{ "a function that is just going has no ids any more", { AT "class=0x020000\n" }, { .group = -1 } },
	{ "a driver, no override, a group",
	  { IDS, AT "driver_override=(null)\n", AT "driver->../../../bus/pci/drivers/e1000e",
	    AT "iommu_group->../../../kernel/iommu_groups/12" },
	  { true, 12, "8086:10d3", "e1000e", "", false } },
	{ "no driver, an override, no group", { IDS, AT "driver_override=vfio-pci\n" },
	  { true, -1, "8086:10d3", "", "vfio-pci", false } },
	{ "an empty override is none", { IDS, AT "driver_override=\n" }, { true, -1, "8086:10d3", "", "", false } },
	{ "an override that no driver could have as a name is cut",
	  { IDS, AT "driver_override=" LONG "\n" },
	  { true, -1, "8086:10d3", "",
	    "a123456789b123456789c123456789d123456789e123456789f123456789g123456789h12345678", false } },
	{ "a virtual function that drivers are not offered", { IDS, AT "physfn/sriov_drivers_autoprobe=0\n" },
	  { true, -1, "8086:10d3", "", "", true } },
	{ "one that they are", { IDS, AT "physfn/sriov_drivers_autoprobe=1\n" },
	  { true, -1, "8086:10d3", "", "", false } },
};

/* What cannot be read is not gone: a release would forget the device. */
static struct unread_case {
	const char *name;
	const char *entries[4];
	const char *message;
} unreads[] = {
	{ "a folder", { "sys/bus/pci/devices/" A "->" A },
	  A ": open 'bus/pci/devices/" A "': Too many levels of symbolic links" },
	{ "ids", { AT "vendor/", AT "device=0x10d3\n" }, A ": read 'vendor': Is a directory" },
	{ "the link to the group", { IDS, AT "iommu_group->" TREE_UNREADABLE }, A ": 'iommu_group' has more than 1023 bytes" },
	{ "the override", { IDS, AT "driver_override/" }, A ": read 'driver_override': Is a directory" },
	{ "the device", { AT "vendor=0x8086\n", AT "device/" }, A ": read 'device': Is a directory" },
	{ "a driver", { IDS, AT "driver->" TREE_UNREADABLE }, A ": 'driver' has more than 1023 bytes" },
	{ "the physical function's switch", { IDS, AT "physfn/sriov_drivers_autoprobe/" },
	  A ": read 'physfn/sriov_drivers_autoprobe': Is a directory" },
};

/* What cannot be read is not out of the way. */
static struct unread_case unread_members[] = {
	{ "the folder of one", { "sys/kernel/iommu_groups/12/devices/" A "->" A },
	  "group 12: open '" A "': Too many levels of symbolic links" },
	{ "the class of one", { "sys/kernel/iommu_groups/12/devices/" A "/class/" },
	  "group 12: read 'class': Is a directory" },
	{ "the driver of one", { "sys/kernel/iommu_groups/12/devices/" A "/driver->" TREE_UNREADABLE },
	  "group 12: 'driver' has more than 1023 bytes" },
};

static struct member_case {
	const char *name;
	struct bind_member member;
	bool blocks;
} members[] = {
	{ "no driver", { .name = A }, false },
	{ "a driver of the host", { .name = A, .driver = "e1000e" }, true },
	{ "vfio-pci", { .name = A, .driver = "vfio-pci" }, false },
	{ "pci-stub", { .name = A, .driver = "pci-stub" }, false },
	{ "another driver that gives devices to user space", { .name = A, .driver = "mlx5-vfio-pci", .vfio = true }, false },
	{ "a port of the PCI tree", { .name = A, .driver = "pcieport", .port = true }, false },
};

static struct node_case {
	const char *name;
	const char *entries[4];
	bool found;
} nodes[] = {
	{ "a node for the group", { "sys/", "dev/vfio/12=" }, true },
	{ "none, but one for the function", { AT "vfio-dev/vfio3/dev=510:3\n", "dev/vfio/devices/vfio3=" }, true },
	{ "a node of another group", { "sys/", "dev/vfio/13=" }, false },
	{ "the node of the function has not come yet", { AT "vfio-dev/vfio3/dev=510:3\n", "dev/vfio/devices/" }, false },
};
/* clang-format on */

static void state_matches_table(void **state)
{
	const struct state_case *c = suite_row(state);
	struct bind_state seen;
	struct err err = { 0 };
	struct tree *tree = *state;
	auto_close int sysfs_fd = -1;

	tree_make(tree, c->entries);
	sysfs_fd = tree_open(tree, "sys");
	assert_int_equal(bind_state_read(sysfs_fd, A, &seen, &err), 0);
	assert_int_equal(seen.present, c->seen.present);
	assert_int_equal(seen.group, c->seen.group);
	assert_string_equal(seen.id, c->seen.id);
	assert_string_equal(seen.driver, c->seen.driver);
	assert_string_equal(seen.override, c->seen.override);
	assert_int_equal(seen.no_autoprobe, c->seen.no_autoprobe);
}

static void what_cannot_be_read_is_not_gone(void **state)
{
	const struct unread_case *c = suite_row(state);
	struct bind_state seen;
	struct err err = { 0 };
	struct tree *tree = *state;
	auto_close int sysfs_fd = -1;

	tree_make(tree, c->entries);
	sysfs_fd = tree_open(tree, "sys");
	assert_true(bind_state_read(sysfs_fd, A, &seen, &err) < 0);
	assert_string_equal(err.msg, c->message);
	assert_true(bind_state_read(sysfs_fd, A, &seen, NULL) < 0);
}

static void a_member_that_cannot_be_read_is_reported(void **state)
{
	const struct unread_case *c = suite_row(state);
	auto_members struct bind_members found = { 0 };
	struct err err = { 0 };
	struct tree *tree = *state;
	auto_close int sysfs_fd = -1;

	tree_make(tree, c->entries);
	sysfs_fd = tree_open(tree, "sys");
	assert_true(bind_members_read(sysfs_fd, 12, &found, &err) < 0);
	assert_string_equal(err.msg, c->message);
}

static void member_matches_table(void **state)
{
	const struct member_case *c = *state;

	assert_int_equal(bind_member_blocks(&c->member), c->blocks);
}

static void node_matches_table(void **state)
{
	const struct node_case *c = suite_row(state);
	struct tree *tree = *state;
	auto_close int sysfs_fd = -1;
	auto_close int dev_fd = -1;

	tree_make(tree, c->entries);
	sysfs_fd = tree_open(tree, "sys");
	dev_fd = tree_open(tree, "dev");
	assert_int_equal(bind_has_node(sysfs_fd, dev_fd, 12, A), c->found);
	/* A file is no answer of the kernel's. */
	assert_false(bind_group_is_free(dev_fd, 12));
}

/* The bridge above the functions, a function with and one without driver. */
static void members_are_listed(void **state)
{
	static const char *const entries[] = {
		"sys/kernel/iommu_groups/12/devices/0000:00:1c.0/class=0x060400\n",
		"sys/kernel/iommu_groups/12/devices/0000:00:1c.0/driver->../pcieport",
		"sys/kernel/iommu_groups/12/devices/0000:07:01.0/class=0x020000\n",
		"sys/kernel/iommu_groups/12/devices/0000:07:01.0/driver->../8139cp",
		"sys/kernel/iommu_groups/12/devices/0000:07:02.0/class=0x020000\n",
		"sys/kernel/iommu_groups/12/devices/0000:07:02.0/vfio-dev/",
		NULL,
	};
	auto_members struct bind_members found = { 0 };
	struct err err = { 0 };
	struct tree *tree = *state;
	auto_close int sysfs_fd = -1;

	tree_make(tree, entries);
	sysfs_fd = tree_open(tree, "sys");
	assert_int_equal(bind_members_read(sysfs_fd, 12, &found, &err), 0);
	assert_int_equal(found.len, 3);
	assert_true(found.items[0].port);
	assert_string_equal(found.items[0].driver, "pcieport");
	assert_false(found.items[1].port);
	assert_string_equal(found.items[1].driver, "8139cp");
	assert_string_equal(found.items[2].name, "0000:07:02.0");
	assert_string_equal(found.items[2].driver, "");
	assert_true(found.items[2].vfio);
}

/* Function 0 has the serial number of the device; a virtual function may be of another one. */
static void serial_is_the_devices(void **state)
{
	static const char *const entries[] = {
		"sys/bus/pci/devices/0000:01:00.1/vendor=0x8086\n",
		"sys/bus/pci/devices/0000:01:00.0/power/runtime_status=active\n",
		"sys/bus/pci/devices/0000:01:00.2/physfn->../0000:02:00.0",
		"sys/bus/pci/devices/0000:02:00.0/vendor=0x8086\n",
		NULL,
	};
	static const char *const addresses[] = { A, "0000:01:00.1", "0000:01:00.2",
						 "0000:09:00.0" };
	static const char *const serials[] = { "00-00-00-00-00-00-00-07", "00-00-00-00-00-00-00-07",
					       "", "" };
	uint32_t space[1024] = { [64] = htole32(0x00010003), htole32(7), 0 };
	char serial[PCI_SERIAL_SIZE];
	struct tree *tree = *state;
	auto_close int sysfs_fd = -1;

	tree_make(tree, entries);
	tree_write(tree, AT "config", space, sizeof(space));
	sysfs_fd = tree_open(tree, "sys");
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		bind_read_serial(sysfs_fd, addresses[i], serial);
		assert_string_equal(serial, serials[i]);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, members, member_matches_table);
	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, reads, state_matches_table);
	suite_rows(&suite, unreads, what_cannot_be_read_is_not_gone);
	suite_rows(&suite, unread_members, a_member_that_cannot_be_read_is_reported);
	suite_rows(&suite, nodes, node_matches_table);
	suite_add(&suite, "the members of a group are listed", members_are_listed, NULL);
	suite_add(&suite, "a serial number is that of the device", serial_is_the_devices, NULL);
	return suite_run(&suite, "bind_state_read");
}
