/* PCI functions as the kernel shows them, and everything that can be wrong with an attribute. */
#include "agent/helper/scan/pci.h"

#include "agent/helper/scan/pci_scan.h"
#include "agent/helper/sys/sysfs.h"
#include "fake/tree/scan_tree.h"
#include "unit/syscall_fails.h"
#include <endian.h>
#include <errno.h>

#define AT         "sys/devices/pci0000:00/0000:00:03.0/"
#define LINK       "sys/bus/pci/devices/0000:00:03.0->../../../devices/pci0000:00/0000:00:03.0"
#define NIC_UEVENT "DRIVER=e1000e\nPCI_CLASS=20000\nPCI_ID=8086:10D3\nPCI_SUBSYS_ID=8086:A01F\n"
#define DRIVER     AT "driver->../../../bus/pci/drivers/e1000e"
#define UEVENT     AT "uevent=" NIC_UEVENT, DRIVER
#define VGA_UEVENT AT "uevent=PCI_CLASS=30000\nPCI_ID=1234:1111\nPCI_SUBSYS_ID=1AF4:1100\n"
#define REVISION   AT "revision=0x02\n"
#define NUMA       "sys/devices/system/node/online=0-1\n"

/* What a function with LINK, UEVENT and REVISION looks like, up to the members under test. */
#define NIC_HEAD                                                                                   \
	"{'kind':'pci','address':'0000:00:03.0','vendor':'8086','device':'10d3','class':'020000'," \
	"'revision':'02','subsystemVendor':'8086','subsystemDevice':'a01f','driver':'e1000e',"
#define VGA_HEAD                                                                                   \
	"{'kind':'pci','address':'0000:00:03.0','vendor':'1234','device':'1111','class':'030000'," \
	"'revision':'02','subsystemVendor':'1af4','subsystemDevice':'1100',"
#define TAIL "'role':'Function','parents':[]}\n"
#define PROBLEM(attribute, message)                                         \
	"{'kind':'problem','device':'0000:00:03.0','attribute':'" attribute \
	"','message':'" message "'}\n"

/* clang-format off */
static struct pci_case {
	const char *name;
	const char *entries[16];
	const char *lines;
} cases[] = {
	{ "no /sys/bus/pci at all", { "sys/" }, "" },
	{ "a plain function", { LINK, UEVENT, REVISION }, NIC_HEAD TAIL },
	{ "a function without driver, group or node",
	  { LINK, AT "uevent=PCI_CLASS=FF0000\nPCI_ID=1234:11E8\nPCI_SUBSYS_ID=1AF4:1100\n", REVISION },
	  "{'kind':'pci','address':'0000:00:03.0','vendor':'1234','device':'11e8','class':'ff0000',"
	  "'revision':'02','subsystemVendor':'1af4','subsystemDevice':'1100'," TAIL },
	{ "a driver whose unbind waits is none: its link is gone already",
	  { LINK, AT "uevent=" NIC_UEVENT, REVISION },
	  "{'kind':'pci','address':'0000:00:03.0','vendor':'8086','device':'10d3','class':'020000',"
	  "'revision':'02','subsystemVendor':'8086','subsystemDevice':'a01f'," TAIL },
	{ "a subsystem of 0000:0000 is none",
	  { LINK, AT "uevent=PCI_CLASS=60400\nPCI_ID=1B36:000E\nPCI_SUBSYS_ID=0000:0000\n", REVISION },
	  "{'kind':'pci','address':'0000:00:03.0','vendor':'1b36','device':'000e','class':'060400',"
	  "'revision':'02'," TAIL },
	{ "group and NUMA node",
	  { LINK, UEVENT, REVISION, NUMA, AT "numa_node=1\n",
	    AT "iommu_group->../../../kernel/iommu_groups/17" },
	  NIC_HEAD "'iommuGroup':'17','numaNode':1," TAIL },
	{ "NUMA node -1 is none", { LINK, UEVENT, REVISION, NUMA, AT "numa_node=-1\n" }, NIC_HEAD TAIL },
	{ "ways to reset it, in the kernel's order",
	  { LINK, UEVENT, REVISION, AT "reset_method=flr pm bus\n" },
	  NIC_HEAD "'role':'Function','resetMethods':['flr','pm','bus'],'parents':[]}\n" },
	{ "no way to reset it", { LINK, UEVENT, REVISION, AT "reset_method=\n" },
	  NIC_HEAD "'role':'Function','resetMethods':[],'parents':[]}\n" },
	{ "the boot VGA", { LINK, VGA_UEVENT, REVISION, AT "boot_vga=1\n" },
	  VGA_HEAD "'role':'Function','bootVGA':true,'parents':[]}\n" },
	{ "another VGA", { LINK, VGA_UEVENT, REVISION, AT "boot_vga=0\n" },
	  VGA_HEAD "'role':'Function','bootVGA':false,'parents':[]}\n" },
	{ "the slot with its address",
	  { LINK, UEVENT, REVISION, "sys/bus/pci/slots/7/address=0000:00:03\n",
	    "sys/bus/pci/slots/8/address=0000:00:04\n" },
	  NIC_HEAD "'role':'Function','identity':'slot=7','slot':'7','parents':[]}\n" },
	{ "a physical and its virtual functions",
	  { LINK, UEVENT, REVISION, AT "sriov_totalvfs=7\n", AT "sriov_vf_device=10ca\n", AT "net/eth1/", AT "virtfn0->../0000:00:03.1",
	    "sys/bus/pci/devices/0000:00:03.1->../../../devices/pci0000:00/0000:00:03.1",
	    "sys/devices/pci0000:00/0000:00:03.1/uevent=PCI_CLASS=20000\nPCI_ID=8086:10CA\n"
	    "PCI_SUBSYS_ID=8086:A01F\n",
	    "sys/devices/pci0000:00/0000:00:03.1/revision=0x02\n",
	    "sys/devices/pci0000:00/0000:00:03.1/physfn->../0000:00:03.0",
	    "sys/devices/pci0000:00/0000:00:03.0/acpi_index=5\n" },
	  NIC_HEAD "'role':'PhysicalFunction','totalVFs':7,'numVFs':1,'vfDevice':'10ca','interface':'eth1',"
	  "'virtualFunctions':['0000:00:03.1'],'identity':'index=5','parents':[]}\n"
	  "{'kind':'pci','address':'0000:00:03.1','vendor':'8086','device':'10ca','class':'020000',"
	  "'revision':'02','subsystemVendor':'8086','subsystemDevice':'a01f',"
	  "'role':'VirtualFunction','physicalFunction':'0000:00:03.0','identity':'index=5','parents':[]}\n" },
	{ "what stands above it, also across a VMD's domain",
	  { "sys/bus/pci/devices/10000:e1:00.0->../../../devices/pci0000:00/0000:00:0e.0/pci10000:e0/"
	    "10000:e0:1d.0/10000:e1:00.0",
	    "sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:1d.0/10000:e1:00.0/uevent="
	    "PCI_CLASS=10802\nPCI_ID=144D:A808\nPCI_SUBSYS_ID=144D:A801\n",
	    "sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:1d.0/10000:e1:00.0/revision=0x0\n" },
	  "{'kind':'pci','address':'10000:e1:00.0','vendor':'144d','device':'a808','class':'010802',"
	  "'revision':'00','subsystemVendor':'144d','subsystemDevice':'a801','role':'Function',"
	  "'parents':['0000:00:0e.0','10000:e0:1d.0']}\n" },

	{ "an attribute that must be there is missing", { LINK, UEVENT, NUMA, AT "numa_node=0\n" },
	  "{'kind':'pci','address':'0000:00:03.0','vendor':'8086','device':'10d3','class':'020000',"
	  "'subsystemVendor':'8086','subsystemDevice':'a01f','driver':'e1000e','numaNode':0," TAIL
	  PROBLEM("revision", "missing") },
	{ "no NUMA node on a machine that has nodes", { LINK, UEVENT, REVISION, NUMA },
	  NIC_HEAD TAIL PROBLEM("numa_node", "missing") },
	{ "an empty attribute", { LINK, UEVENT, REVISION, NUMA, AT "numa_node=" },
	  NIC_HEAD TAIL PROBLEM("numa_node", "'' is not a number up to 4095") },
	{ "not a number", { LINK, UEVENT, REVISION, NUMA, AT "numa_node=east\n" },
	  NIC_HEAD TAIL PROBLEM("numa_node", "'east' is not a number up to 4095") },
	{ "a number out of range", { LINK, UEVENT, AT "revision=0x1ff\n" },
	  "{'kind':'pci','address':'0000:00:03.0','vendor':'8086','device':'10d3','class':'020000',"
	  "'subsystemVendor':'8086','subsystemDevice':'a01f','driver':'e1000e'," TAIL
	  PROBLEM("revision", "'0x1ff' is not a hexadecimal number up to ff") },
	{ "an attribute that cannot be read", { LINK, UEVENT, REVISION, NUMA, AT "numa_node/" },
	  NIC_HEAD TAIL PROBLEM("numa_node", "read 'numa_node': Is a directory") },
	{ "a group that has no number",
	  { LINK, UEVENT, REVISION, AT "iommu_group->../../../kernel/iommu_groups/x" },
	  NIC_HEAD TAIL PROBLEM("iommu_group", "'x' is not a group\'s number") },
	{ "a name that is not UTF-8",
	  { LINK, REVISION, DRIVER, AT "uevent=DRIVER=e\xff\nPCI_CLASS=20000\nPCI_ID=8086:10D3\n"
	    "PCI_SUBSYS_ID=8086:A01F\n" },
	  "{'kind':'pci','address':'0000:00:03.0','vendor':'8086','device':'10d3','class':'020000',"
	  "'revision':'02','subsystemVendor':'8086','subsystemDevice':'a01f','driver':'e\\\\xff'," TAIL
	  PROBLEM("driver", "the driver's name is not UTF-8") },
	{ "a broken uevent is made up for by single attributes",
	  { LINK, REVISION, AT "uevent=PCI_ID=8086\nPCI_CLASS=20000\n", AT "vendor=0x8086\n",
	    AT "device=0x10d3\n", AT "subsystem_vendor=0x8086\n", AT "subsystem_device=0xa01f\n",
	    AT "driver->../../../bus/pci/drivers/e1000e" },
	  NIC_HEAD TAIL PROBLEM("uevent", "'PCI_ID=8086' is not what it should be") },
	{ "a link to the driver that cannot be read is a problem",
	  { LINK, REVISION, AT "uevent=PCI_ID=8086\nPCI_CLASS=20000\n", AT "vendor=0x8086\n",
	    AT "device=0x10d3\n", AT "subsystem_vendor=0x8086\n", AT "subsystem_device=0xa01f\n",
	    AT "driver->" TREE_UNREADABLE },
	  "{'kind':'pci','address':'0000:00:03.0','vendor':'8086','device':'10d3','class':'020000',"
	  "'revision':'02','subsystemVendor':'8086','subsystemDevice':'a01f'," TAIL
	  PROBLEM("uevent", "'PCI_ID=8086' is not what it should be")
	  PROBLEM("driver", "'driver' has more than 1023 bytes") },
	{ "nor does it show that the driver of the uevent lets go",
	  { LINK, AT "uevent=" NIC_UEVENT, REVISION, AT "driver->" TREE_UNREADABLE }, NIC_HEAD TAIL },
	{ "an empty uevent and nothing else: still listed",
	  { LINK, REVISION, AT "uevent=" },
	  "{'kind':'pci','address':'0000:00:03.0','revision':'02'," TAIL
	  PROBLEM("uevent", "empty") PROBLEM("vendor", "missing") PROBLEM("device", "missing")
	  PROBLEM("class", "missing") PROBLEM("subsystem_vendor", "missing")
	  PROBLEM("subsystem_device", "missing") },
	{ "a name that is no address is reported, the others are listed",
	  { LINK, UEVENT, REVISION, "sys/bus/pci/devices/0000:00:03/uevent=x" },
	  NIC_HEAD TAIL
	  "{'kind':'problem','device':'0000:00:03','attribute':'address','message':'the name is not "
	  "a PCI address'}\n" },
	{ "a device that went away leaves no trace",
	  { LINK, UEVENT, REVISION,
	    "sys/bus/pci/devices/0000:00:04.0->../../../devices/pci0000:00/0000:00:04.0" },
	  NIC_HEAD TAIL },
};
/* clang-format on */

static void functions_match_table(void **state)
{
	const struct pci_case *c = *state;
	auto_str struct str lines = STR_INIT;

	scan_entries(c->entries, NULL, "pci problem", &lines);
	assert_string_equal(str_cstr(&lines), c->lines);
}

static void long_attribute(void **state)
{
	static const char *const entries[] = { LINK, UEVENT, REVISION, NUMA, NULL };
	char text[4096];
	auto_str struct str lines = STR_INIT;
	struct tree tree;

	memset(text, '1', sizeof(text));
	tree_make(&tree, entries);
	tree_write(&tree, AT "numa_node", text, sizeof(text));
	scan_tree(&tree, NULL, "pci problem", &lines);
	tree_done(&tree);
	assert_string_equal(
		str_cstr(&lines),
		NIC_HEAD TAIL PROBLEM("numa_node", "'numa_node' has more than 4095 bytes"));
}

/* A whole uevent is read before the device goes; nothing of it or of its problems stays. */
static void vanishes_between_reads(void **state)
{
	static const char *const entries[] = { LINK, UEVENT, AT "numa_node=east\n", NULL };
	struct report report = { 0 };
	struct pci_context context = { .report = &report };
	struct pci_function function;
	struct tree *tree = *state;

	tree_make(tree, entries);
	{
		auto_close int bus_fd = tree_open(tree, "sys/bus/pci/devices");
		auto_close int dir_fd = tree_open(tree, AT);

		report_problem(&report, "other", "attribute", "stays");
		assert_int_equal(unlinkat(bus_fd, "0000:00:03.0", 0), 0);
		pci_function_init(&function, "0000:00:03.0");
		assert_int_equal(pci_function_read(&context, bus_fd, dir_fd, &function), PCI_GONE);
	}
	assert_string_equal(
		str_cstr(&report.problems),
		"{\"kind\":\"problem\",\"device\":\"other\",\"attribute\":\"attribute\","
		"\"message\":\"stays\"}\n");
	pci_function_done(&function);
	report_done(&report);
}

struct monitor {
	int bus_fd;
	int dir_fd;
};

/* It asserts nothing. */
static bool stays(void *arg)
{
	const struct monitor *monitor_arg = arg;
	struct report report = { 0 };
	struct pci_context context = { .report = &report };
	struct pci_function function;

	pci_function_init(&function, "0000:00:03.0");
	return pci_function_read(&context, monitor_arg->bus_fd, monitor_arg->dir_fd, &function) ==
	       0;
}

/* An attribute is missing, and whether the device has gone cannot be read. */
static void what_cannot_be_read_is_not_gone(void **state)
{
	static const char *const entries[] = { LINK, UEVENT, NULL };
	struct tree *tree = *state;
	struct monitor monitor_arg;

	tree_make(tree, entries);
	monitor_arg =
		(struct monitor){ tree_open(tree, "sys/bus/pci/devices"), tree_open(tree, AT) };
	assert_true(syscall_fails_for(SYS_faccessat2, EACCES, stays, &monitor_arg));
	close(monitor_arg.bus_fd);
	close(monitor_arg.dir_fd);
}

/* Which of a device's files a look opens must not depend on luck: these two can block for ever. */
static void dangerous_files_stay_closed(void **state)
{
	static const char *const entries[] = { LINK, UEVENT, REVISION, AT "sriov_totalvfs=7\n",
					       NULL };
	static const char *const names[] = { AT "driver_override", AT "sriov_numvfs" };
	auto_str struct str lines = STR_INIT;
	struct tree *tree = *state;

	tree_make(tree, entries);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		tree_add(tree, AT);
		/* Reading a folder is an error, and an error would be told. */
		assert_int_equal(mkdirat(tree->fd, names[i], 0755), 0);
	}
	scan_tree(tree, NULL, "problem", &lines);
	assert_string_equal(str_cstr(&lines), "");
}

static struct config_case {
	const char *name;
	const char *driver;
	const char *entry; /* NULL: none */
	bool read;
} configs[] = {
	{ "config space is read of what the host has", "e1000e", NULL, true },
	{ "of what nobody can open", "pci-stub", NULL, true },
	{ "not of what a program has by VFIO, which may be in a reset", "vfio-pci", NULL, false },
	{ "nor by a variant driver", "mlx5_vfio_pci", NULL, false },
	{ "nor by a vendor's driver that hands it on itself", "nvidia", AT "vfio-dev/vfio0/",
	  false },
};

static void config_space_is_read(void **state)
{
	const struct config_case *c = suite_row(state);
	const uint32_t words[] = { htole32(0x00010003), htole32(7), 0 };
	auto_free char *uevent = xasprintf(
		AT "uevent=DRIVER=%s\nPCI_CLASS=20000\nPCI_ID=8086:10D3\nPCI_SUBSYS_ID=8086:A01F\n",
		c->driver);
	auto_free char *driver = xasprintf(AT "driver->../../../bus/pci/drivers/%s", c->driver);
	const char *const entries[] = {
		LINK, uevent, driver, REVISION, AT "power/runtime_status=active\n", c->entry, NULL
	};
	auto_str struct str lines = STR_INIT;
	char space[4096] = { 0 };
	struct tree *tree = *state;

	tree_make(tree, entries);
	memcpy(space + 0x100, words, sizeof(words));
	tree_write(tree, AT "config", space, sizeof(space));
	scan_tree(tree, NULL, "pci", &lines);
	assert_non_null(strstr(str_cstr(&lines), c->driver));
	assert_int_equal(strstr(str_cstr(&lines), "00-00-00-00-00-00-00-07") != NULL, c->read);
}

static void add_function(struct tree *tree, unsigned number)
{
	char path[128];
	char text[128];

	(void)snprintf(path, sizeof(path), "sys/bus/pci/devices/0000:%02x:%02x.%u/uevent",
		       number >> 8, number >> 3 & 0x1f, number & 7);
	(void)snprintf(text, sizeof(text), "PCI_CLASS=20000\nPCI_ID=8086:%04X\nPCI_SUBSYS_ID=0:0\n",
		       number);
	tree_write(tree, path, text, strlen(text));
}

/* However many threads share the work, all functions come out, sorted. */
static void large_machines_are_sorted(void **state)
{
	enum { FUNCTIONS = 600 };
	struct report report = { 0 };
	struct pci_functions functions = { 0 };
	struct tree *tree = *state;

	tree_make(tree, NULL);
	for (unsigned i = 0; i < FUNCTIONS; i++)
		add_function(tree, i * 7 % FUNCTIONS);
	{
		auto_close int sysfs_fd = tree_open(tree, "sys");

		pci_scan(sysfs_fd, &report, &functions);
	}
	assert_int_equal(functions.len, FUNCTIONS);
	for (int i = 0; i < FUNCTIONS; i++)
		assert_int_equal(functions.items[i].device, i);
	assert_ptr_equal(pci_functions_find(&functions, "0000:01:02.3"), &functions.items[0x113]);
	assert_null(pci_functions_find(&functions, "0000:03:02.3"));
	pci_functions_done(&functions);
	report_done(&report);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, functions_match_table);
	suite_add(&suite, "an attribute of 4 KiB", long_attribute, NULL);
	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, configs, config_space_is_read);
	suite_add(&suite, "a device that vanishes between two reads", vanishes_between_reads, NULL);
	suite_add(&suite, "what cannot be read is not gone", what_cannot_be_read_is_not_gone, NULL);
	suite_add(&suite, "files that can block are not opened", dangerous_files_stay_closed, NULL);
	suite_add(&suite, "a large machine comes out sorted", large_machines_are_sorted, NULL);
	return suite_run(&suite, "pci");
}
