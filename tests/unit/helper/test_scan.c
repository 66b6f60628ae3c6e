/* The report as a whole: what a reader can rely on. */
#include "fake/tree/scan_tree.h"

#define ALL "host pci usb use problem end"

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
	{ "mounts of the helper itself stand in for those of process 1",
	  { "proc/self/mountinfo=1 0 8:0 / / rw - ext4 /dev/sda rw\n",
	    "sys/devices/pci0000:00/0000:00:17.0/block/sda/dev=8:0\n",
	    "sys/class/block/sda->../../devices/pci0000:00/0000:00:17.0/block/sda" },
	  "use problem",
	  "{'kind':'use','pci':'0000:00:17.0','reason':'HostFilesystem','detail':'sda is mounted at "
	  "/'}\n" },
	{ "records of claimed functions, and what is wrong with one",
	  { "sys/",
	    "state/devices/0000:01:00.0.json={\"address\":\"0000:01:00.0\",\"claim\":\"c\",\"uid\":\"u\","
	    "\"driver\":\"vfio-pci\",\"id\":\"8086:10d3\"}\n",
	    "state/devices/0000:02:00.0.json={\n" },
	  "record problem end",
	  "{'kind':'record','address':'0000:01:00.0','claim':'c','uid':'u','driver':'vfio-pci',"
	  "'id':'8086:10d3'}\n"
	  "{'kind':'problem','device':'0000:02:00.0','attribute':'record','message':"
	  "''0000:02:00.0.json': no JSON object; repair the file or remove it'}\n"
	  "{'kind':'end','pci':0,'usb':0}\n" },
	{ "a /proc that tells no mounts is a problem", { "sys/", "proc/" }, "use problem",
	  "{'kind':'problem','device':'','attribute':'mountinfo','message':'no mounts can be read, "
	  "so the host's disks are not known as such'}\n" },
};
/* clang-format on */

static void report_matches_table(void **state)
{
	const struct scan_case *c = *state;
	auto_str struct str lines = STR_INIT;

	scan_entries(c->entries, NULL, c->kinds, &lines);
	assert_string_equal(str_cstr(&lines), c->lines);
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

	(void)state;
	scan_entries(forward, NULL, ALL, &one);
	scan_entries(backward, NULL, ALL, &two);
	assert_string_equal(str_cstr(&one), str_cstr(&two));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, report_matches_table);
	suite_add(&suite, "equal states give equal bytes", order_does_not_matter, NULL);
	return suite_run(&suite, "scan");
}
