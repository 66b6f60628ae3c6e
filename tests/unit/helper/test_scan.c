/* The report as a whole: what a reader can rely on. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "fake/tree/scan_tree.h"

#define ALL "host pci usb use problem end"
#define VGA(boot)                                                                                   \
	"sys/bus/pci/devices/0000:00:02.0/uevent=PCI_CLASS=30000\nPCI_ID=1:2\nPCI_SUBSYS_ID=1:2\n", \
		"sys/bus/pci/devices/0000:00:02.0/revision=0x0\n",                                  \
		("sys/bus/pci/devices/0000:00:02.0/boot_vga" boot)
#define SCREEN                                                       \
	"sys/class/vtconsole/vtcon1/name=(M) frame buffer device\n", \
		"sys/class/vtconsole/vtcon1/bind=1\n"
#define UNKNOWN_CONSOLE(detail)                                                               \
	UNKNOWN_LINE("Console", "true", "'0001','0300','0380','07','0c03'", "'02','0a','ff'", \
		     detail)
#define SCREEN_UNKNOWN(detail)                                                                       \
	UNKNOWN_CONSOLE("in /sys: " detail)                                                          \
	"{'kind':'use','pci':'0000:00:02.0','reason':'Unknown','detail':'whether the console is on " \
	"it cannot be read: " detail "'}\n"
#define DISPLAY(address, class)                                       \
	"sys/devices/pci0000:00/" address "/class=0x" class "00\n",   \
		"sys/devices/pci0000:00/" address "/vendor=0x1002\n", \
		"sys/devices/pci0000:00/" address "/device=0x1\n",    \
		"sys/bus/pci/devices/" address "->../../../devices/pci0000:00/" address
#define FRAMEBUFFER(name, path) "sys/class/graphics/" name "->../../devices/" path "/graphics/" name
#define ACTIVE(ports)           ("sys/class/tty/console/active=" ports "\n")
#define TTY(name, path)         "sys/class/tty/" name "->../../devices/" path "/tty/" name
#define CONSOLE(device, detail) \
	"{'kind':'use'," device ",'reason':'Console','detail':'" detail "'}\n"
#define SCREEN_OF_NOBODY                                                                       \
	"{'kind':'use','pci':'0000:03:00.0','reason':'Unknown','detail':'the console is on a " \
	"screen, and whether that is this one's cannot be seen'}\n"
#define NOT_WHOLE                                                                                    \
	"the proc tree is not whole, meminfo cannot be opened (Too many levels of symbolic links): " \
	"it is mounted with subset=pid, or is not the kernel's"
#define HIDDEN                                                                                             \
	"process 1 is not to be seen in the proc tree: it is hidden by the mount option hidepid, or this " \
	"is not the host's"

/* clang-format off */
static struct scan_case {
	const char *name;
	const char *entries[16];
	const char *kinds;
	const char *lines;
} cases[] = {
	{ "a machine without buses and without /proc", { "sys/" }, ALL,
	  "{'kind':'host','iommu':false,'numaNodes':1}\n{'kind':'end','pci':0,'usb':0}\n" },
	{ "an IOMMU shows by its groups", { "sys/kernel/iommu_groups/0/devices/" }, "host",
	  "{'kind':'host','iommu':true,'numaNodes':1}\n" },
	{ "also when group 0 is gone", { "sys/kernel/iommu_groups/5/devices/" }, "host",
	  "{'kind':'host','iommu':true,'numaNodes':1}\n" },
	{ "a group of the mode without an IOMMU is none",
	  { "sys/kernel/iommu_groups/0/name=vfio-noiommu\n" }, "host",
	  "{'kind':'host','iommu':false,'numaNodes':1}\n" },
	{ "NUMA nodes are counted",
	  { "sys/devices/system/node/node0/", "sys/devices/system/node/node1/",
	    "sys/devices/system/node/online=0-1\n" }, "host",
	  "{'kind':'host','iommu':false,'numaNodes':2}\n" },
	{ "interrupt remapping shows in the chips' names",
	  { "sys/kernel/irq/1/chip_name=IO-APIC\n", "sys/kernel/irq/24/chip_name=IR-PCI-MSI\n" },
	  "host", "{'kind':'host','iommu':false,'numaNodes':1,'interruptRemapping':true}\n" },
	{ "its absence as well", { "sys/kernel/irq/1/chip_name=IO-APIC\n" }, "host",
	  "{'kind':'host','iommu':false,'numaNodes':1,'interruptRemapping':false}\n" },
	{ "on other processors it is left open", { "sys/kernel/irq/1/chip_name=GICv3\n" }, "host",
	  "{'kind':'host','iommu':false,'numaNodes':1}\n" },
	{ "the boot VGA with the console on it",
	  { "sys/bus/pci/devices/0000:00:02.0/uevent=PCI_CLASS=30000\nPCI_ID=1:2\nPCI_SUBSYS_ID=1:2\n",
	    "sys/bus/pci/devices/0000:00:02.0/revision=0x0\n",
	    "sys/bus/pci/devices/0000:00:02.0/boot_vga=1\n",
	    "sys/class/vtconsole/vtcon0/name=(S) dummy device\n", "sys/class/vtconsole/vtcon0/bind=0\n",
	    "sys/class/vtconsole/vtcon1/name=(M) frame buffer device\n",
	    "sys/class/vtconsole/vtcon1/bind=1\n" },
	  "use problem",
	  "{'kind':'use','pci':'0000:00:02.0','reason':'Console','detail':'the console is on this "
	  "boot VGA'}\n" },
	{ "a boot VGA that the console has left",
	  { "sys/bus/pci/devices/0000:00:02.0/uevent=PCI_CLASS=30000\nPCI_ID=1:2\nPCI_SUBSYS_ID=1:2\n",
	    "sys/bus/pci/devices/0000:00:02.0/revision=0x0\n",
	    "sys/bus/pci/devices/0000:00:02.0/boot_vga=1\n",
	    "sys/class/vtconsole/vtcon0/name=(S) dummy device\n", "sys/class/vtconsole/vtcon0/bind=1\n",
	    "sys/class/vtconsole/vtcon1/name=(M) frame buffer device\n",
	    "sys/class/vtconsole/vtcon1/bind=0\n" },
	  "use problem", "" },
	{ "consoles that cannot be listed may be on the boot VGA",
	  { VGA("=1\n"), "sys/class/vtconsole->vtconsole", PROC_OF_HOST }, "use unknown",
	  SCREEN_UNKNOWN("list 'class/vtconsole': Too many levels of symbolic links") },
	{ "so may one that cannot be read",
	  { VGA("=1\n"), "sys/class/vtconsole/vtcon1/bind->bind", PROC_OF_HOST }, "use unknown",
	  SCREEN_UNKNOWN("open 'class/vtconsole/vtcon1/bind': Too many levels of symbolic links") },
	{ "or on another screen, by its framebuffer",
	  { VGA("=0\n"), "sys/class/vtconsole->vtconsole", PROC_OF_HOST }, "use unknown",
	  UNKNOWN_CONSOLE("in /sys: list 'class/vtconsole': Too many levels of symbolic links") },
	{ "a VGA that does not tell whether it is the boot VGA may have the console",
	  { VGA("/"), SCREEN, PROC_OF_HOST }, "use unknown",
	  "{'kind':'use','pci':'0000:00:02.0','reason':'Unknown','detail':'the console is on the boot VGA, and "
	  "whether this is it cannot be read'}\n" },
	{ "but not if no screen has it",
	  { VGA("/"), PROC_OF_HOST }, "use unknown", "" },
	{ "a display controller that is no VGA has the console by its framebuffer",
	  { DISPLAY("0000:03:00.0", "0380"), FRAMEBUFFER("fb0", "pci0000:00/0000:03:00.0"),
	    "sys/class/graphics/fbcon->../../devices/virtual/graphics/fbcon", SCREEN, PROC_OF_HOST },
	  "use unknown", CONSOLE("'pci':'0000:03:00.0'", "the console is on its framebuffer fb0") },
	{ "so has a VGA that is not the boot VGA, or a screen on virtio",
	  { VGA("=0\n"), FRAMEBUFFER("fb0", "pci0000:00/0000:00:02.0/virtio1"), SCREEN, PROC_OF_HOST },
	  "use unknown", CONSOLE("'pci':'0000:00:02.0'", "the console is on its framebuffer fb0") },
	{ "a screen on USB has it with the controller",
	  { FRAMEBUFFER("fb0", "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0"), SCREEN, PROC_OF_HOST },
	  "use unknown", CONSOLE("'pci':'0000:00:14.0','usb':'2-1'", "the console is on its framebuffer fb0") },
	{ "of several framebuffers the first has it",
	  { DISPLAY("0000:03:00.0", "0380"), FRAMEBUFFER("fb10", "pci0000:00/0000:03:00.0"),
	    DISPLAY("0000:04:00.0", "0380"), FRAMEBUFFER("fb2", "pci0000:00/0000:04:00.0"), SCREEN, PROC_OF_HOST },
	  "use unknown", CONSOLE("'pci':'0000:04:00.0'", "the console is on its framebuffer fb2") },
	{ "without a console on a screen, a framebuffer is nobody's",
	  { DISPLAY("0000:03:00.0", "0380"), FRAMEBUFFER("fb0", "pci0000:00/0000:03:00.0"), PROC_OF_HOST },
	  "use unknown", "" },
	{ "a framebuffer of the firmware may be the memory of any, without a boot VGA",
	  { DISPLAY("0000:03:00.0", "0380"), DISPLAY("0000:04:00.0", "0302"),
	    FRAMEBUFFER("fb0", "platform/simple-framebuffer.0"), SCREEN, PROC_OF_HOST },
	  "use unknown", SCREEN_OF_NOBODY },
	{ "so may the console of a kernel that shows no framebuffers",
	  { DISPLAY("0000:03:00.0", "0380"), SCREEN, PROC_OF_HOST }, "use unknown", SCREEN_OF_NOBODY },
	{ "but a boot VGA has it first",
	  { VGA("=1\n"), DISPLAY("0000:03:00.0", "0380"), FRAMEBUFFER("fb0", "platform/efi-framebuffer.0"),
	    SCREEN, PROC_OF_HOST },
	  "use unknown", CONSOLE("'pci':'0000:00:02.0'", "the console is on this boot VGA") },
	{ "ports that the kernel writes its messages to",
	  { ACTIVE("tty0 ttyS0 ttyUSB0 ttyS4"), "sys/class/tty/tty0->../../devices/virtual/tty/tty0",
	    TTY("ttyS0", "pnp0/00:04/00:04:0/00:04:0.0"),
	    TTY("ttyS4", "pci0000:00/0000:05:00.0/0000:05:00.0:0/0000:05:00.0:0.0"),
	    TTY("ttyS5", "pci0000:00/0000:06:00.0"),
	    TTY("ttyUSB0", "pci0000:00/0000:00:14.0/usb1/1-3/1-3:1.0/ttyUSB0"), PROC_OF_HOST },
	  "use unknown",
	  CONSOLE("'pci':'0000:00:14.0','usb':'1-3'", "the kernel's console is on its port ttyUSB0")
	  CONSOLE("'pci':'0000:05:00.0'", "the kernel's console is on its port ttyS4") },
	{ "a console of virtio may be on any of its devices",
	  { ACTIVE("hvc0"), "sys/class/tty/hvc0->../../devices/virtual/tty/hvc0",
	    "sys/bus/virtio/drivers/virtio_console/virtio1->../../../../devices/pci0000:00/0000:00:05.0/virtio1",
	    "sys/bus/virtio/drivers/virtio_console/bind=", PROC_OF_HOST },
	  "use unknown",
	  "{'kind':'use','pci':'0000:00:05.0','reason':'Unknown','detail':'the kernel's console hvc0 may be on "
	  "it'}\n" },
	{ "ports that cannot be read are no answer",
	  { "sys/class/tty/console/active/", PROC_OF_HOST }, "use unknown",
	  UNKNOWN_CONSOLE("in /sys: read 'class/tty/console/active': Is a directory") },
	{ "a proc tree with the processes alone says nothing of swap, pools and journals",
	  { "sys/", PROC_MOUNTS, PROC_ROUTES, "proc/meminfo->meminfo" }, "use unknown",
	  UNKNOWN_STORAGE("Swaps", "true", NOT_WHOLE) UNKNOWN_STORAGE("Disks", "true", NOT_WHOLE)
	  UNKNOWN_STORAGE("Members", "false", NOT_WHOLE) UNKNOWN_NETWORK("Routes", "true", NOT_WHOLE) },
	{ "mounts and routes of the helper itself never stand in for those of process 1",
	  { "proc/self/mountinfo=1 0 8:0 / / rw - ext4 /dev/sda rw\n",
	    "proc/net/route=Iface\neth0 00000000 010200C0 0003 0 0 0 00000000\n",
	    "sys/devices/pci0000:00/0000:00:17.0/block/sda/dev=8:0\n",
	    "sys/class/block/sda->../../devices/pci0000:00/0000:00:17.0/block/sda" },
	  "use unknown",
	  UNKNOWN_BOTH("Mounts", "true", HIDDEN) UNKNOWN_NETWORK("Routes", "true", HIDDEN) },
	{ "no proc tree at all", { "sys/" }, "use unknown",
	  UNKNOWN_BOTH("Mounts", "true", "there is no proc tree of the host")
	  UNKNOWN_STORAGE("Swaps", "true", "there is no proc tree of the host")
	  UNKNOWN_NETWORK("Routes", "true", "there is no proc tree of the host") },
	{ "process 1 is there, and its mounts cannot be read",
	  { "sys/", "proc/1/mountinfo->mountinfo", PROC_ROUTES }, "use unknown",
	  UNKNOWN_BOTH("Mounts", "true", "in the proc tree: open '1/mountinfo': Too many levels of "
		       "symbolic links") },
	{ "process 1 without mounts is no answer", { "sys/", "proc/1/mountinfo=", PROC_ROUTES },
	  "use unknown", UNKNOWN_BOTH("Mounts", "true", "process 1 has no mounts") },
	{ "a file of swaps that cannot be read is no answer",
	  { "sys/", PROC_OF_HOST, "proc/swaps/" }, "use unknown",
	  UNKNOWN_STORAGE("Swaps", "true", "in the proc tree: read 'swaps': Is a directory") },
	{ "nor is a line of swaps that makes no sense",
	  { "sys/", PROC_OF_HOST, "proc/swaps=Filename Type\nnonsense\n" }, "use unknown",
	  UNKNOWN_STORAGE("Swaps", "true", "1 line of swaps has another form than expected") },
	{ "interfaces that cannot be listed are no answer",
	  { "sys/class/net->net", PROC_OF_HOST }, "use unknown",
	  UNKNOWN_NETWORK("Interfaces", "true", "in /sys: open 'class/net': Too many levels of symbolic "
			  "links") },
	{ "disks that cannot be listed are no answer",
	  { "sys/class/block->block", PROC_OF_HOST }, "use unknown",
	  UNKNOWN_STORAGE("Disks", "true", "in /sys: open 'class/block': Too many levels of symbolic "
			  "links") },
	{ "records of claimed functions, and what is wrong with one",
	  { "sys/",
	    "state/devices/0000:01:00.0.json={\"address\":\"0000:01:00.0\",\"claim\":\"c\",\"uid\":\"u\","
	    "\"driver\":\"vfio-pci\",\"id\":\"8086:10d3\",\"identity\":\"slot=3\",\"boot\":\"old\"}\n",
	    "state/devices/0000:02:00.0.json={\n",
	    "state/devices/0000:03:00.0.json={\"address\":\"0000:03:00.0\",\"claim\":\"c\",\"uid\":\"u\","
	    "\"driver\":\"vfio-pci\",\"id\":\"8086:10d3\",\"boot\":\"b00t\"}\n",
	    "state/devices/0000:04:00.0.json={\"address\":\"0000:04:00.0\",\"claim\":\"c\",\"uid\":\"u\","
	    "\"driver\":\"vfio-pci\",\"id\":\"8086:10d3\",\"boot\":\"b00t\",\"bound\":\"old\"}\n",
	    "proc/sys/kernel/random/boot_id=b00t\n" },
	  "record problem end",
	  "{'kind':'record','address':'0000:01:00.0','claim':'c','uid':'u','driver':'vfio-pci',"
	  "'id':'8086:10d3','identity':'slot=3','boot':'old','thisBoot':false}\n"
	  "{'kind':'record','address':'0000:03:00.0','claim':'c','uid':'u','driver':'vfio-pci',"
	  "'id':'8086:10d3','boot':'b00t','thisBoot':true}\n"
	  "{'kind':'record','address':'0000:04:00.0','claim':'c','uid':'u','driver':'vfio-pci',"
	  "'id':'8086:10d3','boot':'b00t','bound':'old','thisBoot':false}\n"
	  "{'kind':'problem','device':'0000:02:00.0','attribute':'record','message':"
	  "''0000:02:00.0.json': no JSON object; repair the file or remove it'}\n"
	  "{'kind':'end','pci':0,'usb':0}\n" },
};
/* clang-format on */

static void report_matches_table(void **state)
{
	const struct scan_case *c = *state;
	auto_str struct str lines = STR_INIT;

	scan_entries(c->entries, NULL, c->kinds, &lines);
	assert_string_equal(str_cstr(&lines), c->lines);
}

/* A list that cannot be read is not an empty list: the agent would delete what is not in it. */
static struct lost_list {
	const char *name;
	const char *entry;
	const char *message;
} lost_lists[] = {
	{ "PCI functions", "sys/bus/pci/devices->devices",
	  "open 'bus/pci/devices': Too many levels of symbolic links" },
	{ "one PCI function", "sys/bus/pci/devices/0000:01:00.0->0000:01:00.0",
	  "open '0000:01:00.0': Too many levels of symbolic links" },
	{ "USB devices", "sys/bus/usb/devices->devices",
	  "open 'bus/usb/devices': Too many levels of symbolic links" },
	{ "one USB device", "sys/bus/usb/devices/1-1->1-1",
	  "open '1-1': Too many levels of symbolic links" },
	{ "mediated devices", "sys/bus/mdev/devices->devices",
	  "list 'bus/mdev/devices': Too many levels of symbolic links" },
	{ "parents of mediated devices", "sys/class/mdev_bus->mdev_bus",
	  "open 'class/mdev_bus': Too many levels of symbolic links" },
	{ "records", "state/devices=", "open the folder 'devices': Not a directory" },
	{ "records of mediated devices",
	  "state/mdevs=", "open the folder 'mdevs': Not a directory" },
	{ "records of virtual functions",
	  "state/autoprobe=", "open the folder 'autoprobe': Not a directory" },
};

static void a_list_that_cannot_be_read_fails_the_scan(void **state)
{
	const struct lost_list *c = suite_row(state);
	const char *const entries[] = { "sys/", "state/", PROC_OF_HOST, c->entry, NULL };
	struct report report = { 0 };
	struct tree *tree = *state;

	tree_make(tree, entries);
	scan_report(tree, NULL, &report);
	assert_true(report.failure.code < 0);
	assert_string_equal(report.failure.msg, c->message);
	report_done(&report);
}

/* Trees with a part that is not mounted: there are devices, and no device would be listed. */
static struct lost_list lost_trees[] = {
	{ "buses", "sys/class/net/",
	  "the sysfs tree has no folder 'bus' (No such file or directory): mount the node's /sys, or correct "
	  "--sysfs-root" },
	{ "classes", "sys/bus/pci/devices/",
	  "the sysfs tree has no folder 'class' (No such file or directory): mount the node's /sys, or "
	  "correct --sysfs-root" },
};

static void a_tree_without_its_folders_fails_the_scan(void **state)
{
	const struct lost_list *c = suite_row(state);
	const char *const entries[] = { PROC_OF_HOST, c->entry, NULL };
	struct report report = { 0 };
	struct tree *tree = *state;

	tree_make(tree, entries);
	scan_bare(tree, NULL, &report);
	assert_true(report.failure.code < 0);
	assert_string_equal(report.failure.msg, c->message);
	report_done(&report);
}

enum { STARVED = 0, WHOLE = 1, NEITHER = 2 };

/* How a scan with @left descriptors beside the roots of its trees ends. */
static int scan_with_descriptors(const struct tree *tree, rlim_t left)
{
	struct report report = { 0 };
	int fd = dup(0);
	struct rlimit limit = { (rlim_t)fd + 3 + left, (rlim_t)fd + 3 + left };

	close(fd);
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		return NEITHER;
	scan_report(tree, NULL, &report);
	if (report.failure.code == -EMFILE)
		return STARVED;
	return report.failure.code == 0 && strstr(str_cstr(&report.lines), "0000:00:02.0")
		       ? WHOLE
		       : NEITHER;
}

/* In children, since a shortage is remembered for good. */
static void without_descriptors_the_scan_fails(void **state)
{
	static const char *const entries[] = {
		"sys/bus/pci/devices/0000:00:02.0/uevent=PCI_ID=1:2\n",
		"state/devices/0000:00:02.0.json={}", PROC_OF_HOST, NULL
	};
	int ends[8] = { 0 };
	struct tree *tree = *state;

	tree_make(tree, entries);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		int status = 0;
		pid_t child = fork();

		if (child == 0)
			_exit(scan_with_descriptors(tree, i));
		assert_int_equal(waitpid(child, &status, 0), child);
		ends[i] = WEXITSTATUS(status);
		assert_in_range(ends[i], STARVED, WHOLE);
	}
	assert_int_equal(ends[0], STARVED);
	assert_int_equal(ends[ARRAY_LEN(ends) - 1], WHOLE);
}

/* Equal states give equal bytes, whatever order the files were made in. */
static void order_does_not_matter(void **state)
{
	static const char *const forward[] = {
		"sys/bus/pci/devices/0000:00:02.0/uevent=PCI_ID=1:2\n",
		"sys/bus/pci/devices/0000:00:10.0/uevent=PCI_ID=1:3\n",
		"sys/bus/usb/devices/1-1/speed=12\n", "sys/bus/usb/devices/1-2/speed=12\n", NULL
	};
	static const char *const backward[] = {
		"sys/bus/usb/devices/1-2/speed=12\n", "sys/bus/usb/devices/1-1/speed=12\n",
		"sys/bus/pci/devices/0000:00:10.0/uevent=PCI_ID=1:3\n",
		"sys/bus/pci/devices/0000:00:02.0/uevent=PCI_ID=1:2\n", NULL
	};
	auto_str struct str one = STR_INIT;
	auto_str struct str two = STR_INIT;

	scan_entries(forward, NULL, ALL, &one);
	scan_entries(backward, NULL, ALL, &two);
	assert_string_equal(str_cstr(&one), str_cstr(&two));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, report_matches_table);
	suite_add(&suite, "equal states give equal bytes", order_does_not_matter, NULL);
	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, lost_lists, a_list_that_cannot_be_read_fails_the_scan);
	suite_rows(&suite, lost_trees, a_tree_without_its_folders_fails_the_scan);
	suite_add(&suite, "without descriptors the scan fails", without_descriptors_the_scan_fails,
		  NULL);
	return suite_run(&suite, "scan");
}
