/* nodes: functions with and without anything that a process could open. */
#include "agent/helper/scan/nodes.h"

#include "fake/tree/tree.h"

#define A    "0000:01:00.0"
#define LINK "sys/bus/pci/devices/" A "->../../../devices/pci0000:00/" A
#define AT   "sys/devices/pci0000:00/" A "/"
#define TEN(name) \
	name "/" name "/" name "/" name "/" name "/" name "/" name "/" name "/" name "/" name

/* clang-format off */
static struct device_case {
	const char *name;
	const char *entries[5];
	bool found;
} devices[] = {
	{ "a function that is not there", { "sys/" }, false },
	{ "an interface", { LINK, AT "vendor=0x8086\n", AT "net/eth0/dev_id=0x0\n",
			    AT "net/eth0/queues/rx-0/" }, false },
	{ "an interface with a clock", { LINK, AT "net/eth0/", AT "ptp/ptp0/dev=249:0\n" }, true },
	{ "a disk far below", { LINK, AT "ata1/host0/target0:0:0/0:0:0:0/block/sda/dev=8:0\n" }, true },
	{ "the function itself", { LINK, AT "dev=1:2\n" }, true },
	{ "a device that a link leads to", { LINK, AT "subsystem->../../../bus/x",
					     "sys/bus/x/y/dev=1:2\n" }, false },
	{ "too deep to tell", { LINK, AT TEN("a") "/" TEN("b") "/" TEN("c") "/d/e/f/g/" }, true },
	{ "what cannot be opened as a folder", { LINK, "sys/devices/pci0000:00/" A "=x" }, false },
	{ "a link that leads to itself says nothing",
	  { "sys/bus/pci/devices/" A "->" A }, true },
};

static struct group_case {
	const char *name;
	const char *group;
	const char *entry;
	bool found;
} groups[] = {
	{ "no node of the group", "12", "sys/class/vfio/123->x", false },
	{ "the group in the class", "12", "sys/class/vfio/12->../../devices/virtual/vfio/12", true },
	{ "the group's node alone", "12", "dev/vfio/12=", true },
	{ "the node of another group", "12", "dev/vfio/1=", false },
	{ "a class that cannot be read may have it", "12", "sys/class/vfio->vfio", true },
	{ "so may a folder of nodes", "12", "dev/vfio->vfio", true },
	{ "no group", "-", "dev/vfio/-=", false },
};
/* clang-format on */

static void devices_match_table(void **state)
{
	const struct device_case *c = suite_row(state);
	auto_close int sysfs_fd = -1;
	struct tree *tree = *state;

	tree_make(tree, c->entries);
	sysfs_fd = tree_open(tree, "sys");
	assert_int_equal(nodes_below(sysfs_fd, A), c->found);
}

static void groups_match_table(void **state)
{
	const struct group_case *c = suite_row(state);
	auto_close int sysfs_fd = -1;
	auto_close int dev_fd = -1;
	struct tree *tree = *state;

	tree_make(tree, (const char *const[]){ "sys/", c->entry, NULL });
	sysfs_fd = tree_open(tree, "sys");
	dev_fd = tree_open(tree, "dev");
	assert_int_equal(nodes_of_group(sysfs_fd, dev_fd, c->group), c->found);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, devices, devices_match_table);
	suite_rows(&suite, groups, groups_match_table);
	return suite_run(&suite, "nodes");
}
