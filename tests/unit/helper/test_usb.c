#include "agent/helper/scan/usb.h"

#include "fake/tree/scan_tree.h"
#include "unit/syscall_fails.h"
#include <errno.h>

#define AT   "sys/devices/pci0000:00/0000:00:14.0/usb1/1-2/"
#define LINK "sys/bus/usb/devices/1-2->../../../devices/pci0000:00/0000:00:14.0/usb1/1-2"
#define UEVENT                                                                                \
	AT "uevent=DEVTYPE=usb_device\nDRIVER=usb\nPRODUCT=627/1/0\nTYPE=0/0/0\nBUSNUM=001\n" \
	   "DEVNUM=005\n"
#define SPEED AT "speed=480\n"
#define HEAD                                                                              \
	"{'kind':'usb','name':'1-2','bus':1,'device':5,'vendor':'0627','product':'0001'," \
	"'class':'00','subclass':'00','protocol':'00',"
#define TAIL "'hub':false,'pciAddress':'0000:00:14.0','interfaces':[]}\n"
#define PROBLEM(attribute, message) \
	"{'kind':'problem','device':'1-2','attribute':'" attribute "','message':'" message "'}\n"

/* clang-format off */
static struct usb_case {
	const char *name;
	const char *entries[20];
	const char *lines;
} cases[] = {
	{ "no /sys/bus/usb at all", { "sys/" }, "" },
	{ "a device with its texts and interfaces",
	  { LINK, UEVENT, SPEED, AT "manufacturer=QEMU\n", AT "product=QEMU USB Tablet\n",
	    AT "serial=28754\n",
	    "sys/bus/usb/devices/1-2:1.0->../../../devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0",
	    "sys/bus/usb/devices/1-2:1.1->../../../devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.1",
	    AT "1-2:1.0/uevent=DEVTYPE=usb_interface\nDRIVER=usbhid\nINTERFACE=3/0/0\n",
	    AT "1-2:1.1/uevent=DEVTYPE=usb_interface\nINTERFACE=8/6/80\n" },
	  HEAD "'speed':480,'manufacturer':'QEMU','productName':'QEMU USB Tablet','serial':'28754',"
	  "'hub':false,'pciAddress':'0000:00:14.0','interfaces':["
	  "{'class':'03','subclass':'00','protocol':'00','driver':'usbhid'},"
	  "{'class':'08','subclass':'06','protocol':'50'}]}\n" },
	{ "root hubs are left out, other hubs are marked",
	  { "sys/bus/usb/devices/usb1->../../../devices/pci0000:00/0000:00:14.0/usb1",
	    "sys/devices/pci0000:00/0000:00:14.0/usb1/uevent=PRODUCT=1d6b/2/515\n", LINK, SPEED,
	    AT "uevent=PRODUCT=5e3/608/9000\nTYPE=9/0/1\nBUSNUM=001\nDEVNUM=002\n" },
	  "{'kind':'usb','name':'1-2','bus':1,'device':2,'vendor':'05e3','product':'0608',"
	  "'class':'09','subclass':'00','protocol':'01','speed':480,'hub':true,"
	  "'pciAddress':'0000:00:14.0','interfaces':[]}\n" },
	{ "a device with the interface of a hub is one",
	  { LINK, UEVENT, SPEED,
	    "sys/bus/usb/devices/1-2:1.0->../../../devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0",
	    AT "1-2:1.0/uevent=DEVTYPE=usb_interface\nINTERFACE=9/0/0\n" },
	  HEAD "'speed':480,'hub':true,'pciAddress':'0000:00:14.0','interfaces':["
	  "{'class':'09','subclass':'00','protocol':'00'}]}\n" },
	{ "low speed counts as 1", { LINK, UEVENT, AT "speed=1.5\n" }, HEAD "'speed':1," TAIL },
	{ "a speed the kernel does not know", { LINK, UEVENT, AT "speed=unknown\n" }, HEAD TAIL },
	{ "ports are sorted as numbers",
	  { "sys/bus/usb/devices/1-10/uevent=PRODUCT=1/1/0\nTYPE=0/0/0\nBUSNUM=1\nDEVNUM=9\n",
	    "sys/bus/usb/devices/1-10/speed=12\n", LINK, UEVENT, SPEED },
	  HEAD "'speed':480," TAIL
	  "{'kind':'usb','name':'1-10','bus':1,'device':9,'vendor':'0001','product':'0001',"
	  "'class':'00','subclass':'00','protocol':'00','speed':12,'hub':false,'interfaces':[]}\n" },
	{ "interfaces of 1-20 are not those of 1-2",
	  { LINK, UEVENT, SPEED, "sys/bus/usb/devices/1-20:1.0/uevent=INTERFACE=3/1/1\n" },
	  HEAD "'speed':480," TAIL },
	{ "a missing speed", { LINK, UEVENT }, HEAD TAIL PROBLEM("speed", "missing") },
	{ "a speed that is no number", { LINK, UEVENT, AT "speed=fast\n" },
	  HEAD TAIL PROBLEM("speed", "'fast' is not a speed") },
	{ "texts that are not UTF-8 are shown as bytes",
	  { LINK, UEVENT, SPEED, AT "product=caf\xe9\n" },
	  HEAD "'speed':480,'productName':'caf\\\\xe9'," TAIL PROBLEM("product", "not UTF-8") },
	{ "a broken uevent is made up for by single attributes",
	  { LINK, SPEED, AT "uevent=PRODUCT=627\nTYPE=999/0/0\n", AT "idVendor=0627\n",
	    AT "idProduct=0001\n", AT "bDeviceClass=00\n", AT "bDeviceSubClass=00\n",
	    AT "bDeviceProtocol=00\n", AT "busnum=1\n", AT "devnum=5\n" },
	  HEAD "'speed':480," TAIL PROBLEM("uevent", "'PRODUCT=627' is not what it should be")
	  PROBLEM("uevent", "'TYPE=999/0/0' is not what it should be") },
	{ "a device that went away leaves no trace", { "sys/bus/usb/devices/1-3->../../../devices/pci0000:00/0000:00:14.0/usb1/1-3", LINK, UEVENT,
	    SPEED },
	  HEAD "'speed':480," TAIL },
};
/* clang-format on */

static void devices_match_table(void **state)
{
	const struct usb_case *c = *state;
	auto_str struct str lines = STR_INIT;

	scan_entries(c->entries, NULL, "usb problem", &lines);
	assert_string_equal(str_cstr(&lines), c->lines);
}

struct lookup {
	int sysfs_fd;
};

/* It asserts nothing. */
static bool scan_fails(void *arg)
{
	const struct lookup *lookup = arg;
	struct report report = { 0 };

	(void)usb_scan(lookup->sysfs_fd, &report);
	return report.failure.code == -EACCES;
}

/* It has not gone: the agent would delete it. */
static void a_device_that_cannot_be_read_fails_the_scan(void **state)
{
	static const char *const entries[] = { LINK, UEVENT, SPEED, NULL };
	struct tree tree;
	struct lookup lookup;

	(void)state;
	tree_make(&tree, entries);
	lookup.sysfs_fd = tree_open(&tree, "sys");
	assert_true(syscall_fails_for(SYS_newfstatat, EACCES, scan_fails, &lookup));
	close(lookup.sysfs_fd);
	tree_done(&tree);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, devices_match_table);
	suite_add(&suite, "a device that cannot be read fails the scan",
		  a_device_that_cannot_be_read_fails_the_scan, NULL);
	return suite_run(&suite, "usb");
}
