#include "agent/monitor/uevent.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "unit/suite.h"

#define BYTES(s) (s), sizeof(s) - 1

static struct parse_case {
	const char *name;
	const char *data;
	size_t len;
	const char *action; /* NULL: no uevent */
	const char *devpath;
	const char *subsystem;
} parses[] = {
	{ "a driver is bound",
	  BYTES("bind@/devices/pci0000:00/0000:00:04.0\0ACTION=bind\0"
		"DEVPATH=/devices/pci0000:00/0000:00:04.0\0SUBSYSTEM=pci\0DRIVER=e1000e\0"
		"PCI_CLASS=20000\0PCI_ID=8086:10D3\0SEQNUM=1437\0"),
	  "bind", "/devices/pci0000:00/0000:00:04.0", "pci" },
	{ "a USB stick is added",
	  BYTES("add@/devices/pci0000:00/0000:00:14.0/usb1/1-2\0ACTION=add\0"
		"SUBSYSTEM=usb\0DEVTYPE=usb_device\0SEQNUM=5\0"),
	  "add", "/devices/pci0000:00/0000:00:14.0/usb1/1-2", "usb" },
	{ "a header alone", BYTES("add@/x\0"), "add", "/x", "" },
	{ "a header alone loses its last byte when it is not terminated", BYTES("add@/xy"), "add",
	  "/x", "" },
	{ "a value that is not terminated loses its last byte", BYTES("add@/x\0SUBSYSTEM=pciX"),
	  "add", "/x", "pci" },
	{ "an empty subsystem", BYTES("add@/x\0SUBSYSTEM=\0"), "add", "/x", "" },
	{ "a key that only begins like the subsystem", BYTES("add@/x\0SUBSYSTEMX=pci\0"), "add",
	  "/x", "" },
	{ "a key that only ends like the subsystem", BYTES("add@/x\0MY_SUBSYSTEM=pci\0"), "add",
	  "/x", "" },
	{ "the subsystem's name inside another value", BYTES("add@/x\0NAME=SUBSYSTEM=usb\0"), "add",
	  "/x", "" },
	{ "empty strings between the values", BYTES("add@/x\0\0\0SUBSYSTEM=net\0\0"), "add", "/x",
	  "net" },
	{ "an at sign in the path", BYTES("add@/x@y\0SUBSYSTEM=pci\0"), "add", "/x@y", "pci" },
	{ "nothing", BYTES(""), NULL, NULL, NULL },
	{ "a zero byte", BYTES("\0"), NULL, NULL, NULL },
	{ "udev's own message", BYTES("libudev\0\xfe\xed\xca\xfe\0add@/x\0SUBSYSTEM=pci\0"), NULL,
	  NULL, NULL },
	{ "no action", BYTES("@/devices/x\0SUBSYSTEM=pci\0"), NULL, NULL, NULL },
	{ "no path", BYTES("add@\0SUBSYSTEM=pci\0"), NULL, NULL, NULL },
	{ "a path that does not begin at the root", BYTES("add@devices/x\0"), NULL, NULL, NULL },
	{ "the at sign only in a value", BYTES("ACTION=add\0DEVPATH=@/x\0"), NULL, NULL, NULL },
};

/* In memory that ends where the message ends, so that the sanitizers see one byte more. */
static char *exact_copy(const char *data, size_t len)
{
	char *copy = xmalloc(len);

	memcpy(copy, data, len);
	return copy;
}

static void parse_matches_table(void **state)
{
	const struct parse_case *c = *state;
	auto_free char *data = exact_copy(c->data, c->len);
	struct uevent event = { .action = "untouched" };
	struct err err = { 0 };
	int r = uevent_parse(data, c->len, &event, &err);

	if (!c->action) {
		assert_int_equal(r, -EINVAL);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_string_equal(event.action, "untouched");
		return;
	}
	assert_int_equal(r, 0);
	assert_string_equal(event.action, c->action);
	assert_string_equal(event.devpath, c->devpath);
	assert_string_equal(event.subsystem, c->subsystem);
}

static struct class_case {
	const char *name;
	const char *subsystem;
	enum uevent_hint hint;
} classes[] = {
	{ "class: a PCI device is looked at at once", "pci", UEVENT_DEVICE },
	{ "class: a USB device or interface too", "usb", UEVENT_DEVICE },
	{ "class: an IOMMU changes groups", "iommu", UEVENT_DEVICE },
	{ "class: VFIO lets go of a device before its driver does", "vfio-dev", UEVENT_DEVICE },
	{ "class: a mediated device that others make or remove", "mdev", UEVENT_DEVICE },
	{ "class: an interface changes who uses a device", "net", UEVENT_LAZY },
	{ "class: a disk changes who uses a device", "block", UEVENT_LAZY },
	{ "class: a module says nothing", "module", UEVENT_IGNORE },
	{ "class: a PCI bus is no PCI device", "pci_bus", UEVENT_IGNORE },
	{ "class: a name in capitals is another", "PCI", UEVENT_IGNORE },
	{ "class: no subsystem", "", UEVENT_IGNORE },
};

static void class_matches_table(void **state)
{
	const struct class_case *c = *state;
	struct uevent event = {
		.action = "add",
		.subsystem = c->subsystem,
		.devpath = "/devices/pci0000:00/0000:00:04.0/x",
		.mdev_state = "",
	};

	assert_int_equal(uevent_classify(&event), c->hint);
}

static struct virtual_case {
	const char *name;
	const char *devpath;
	const char *subsystem;
	enum uevent_hint hint;
} virtuals[] = {
	{ "virtual: a pod's end of a link is on no hardware", "/devices/virtual/net/veth9d1c",
	  "net", UEVENT_IGNORE },
	{ "virtual: the route socket tells of bridges", "/devices/virtual/net/br0", "net",
	  UEVENT_IGNORE },
	{ "virtual: a subsystem of that name elsewhere", "/devices/virtual/netdevsim0/net/eth1",
	  "net", UEVENT_LAZY },
	{ "virtual: an interface is no reason to ignore what is on it",
	  "/devices/virtual/net/br0/mdev", "mdev", UEVENT_DEVICE },
	{ "virtual: a volume is on a disk", "/devices/virtual/block/dm-3", "block", UEVENT_LAZY },
	{ "virtual: a loop device too", "/devices/virtual/block/loop0", "block", UEVENT_LAZY },
};

static void virtual_matches_table(void **state)
{
	const struct virtual_case *c = *state;
	struct uevent event = {
		.action = "add", .subsystem = c->subsystem, .devpath = c->devpath, .mdev_state = ""
	};

	assert_int_equal(uevent_classify(&event), c->hint);
}

static void a_parent_of_mediated_devices_is_looked_at(void **state)
{
	static const char message[] = "change@/devices/virtual/mtty/mtty\0ACTION=change\0"
				      "SUBSYSTEM=mtty\0MDEV_STATE=registered\0";
	auto_free char *data = exact_copy(message, sizeof(message) - 1);
	struct uevent event;
	struct err err = { 0 };

	assert_int_equal(uevent_parse(data, sizeof(message) - 1, &event, &err), 0);
	assert_string_equal(event.mdev_state, "registered");
	assert_int_equal(uevent_classify(&event), UEVENT_DEVICE);
}

static bool lies_in(const char *s, const char *data, size_t len)
{
	return *s == '\0' || (s >= data && s + strlen(s) < data + len);
}

static void assert_borrowed(char *data, size_t len)
{
	struct uevent event;
	struct err err = { 0 };

	if (uevent_parse(data, len, &event, &err) < 0) {
		assert_true(err.msg[0] != '\0');
		return;
	}
	assert_true(lies_in(event.action, data, len));
	assert_true(lies_in(event.devpath, data, len));
	assert_true(lies_in(event.subsystem, data, len));
	assert_int_equal(event.devpath[0], '/');
}

/* Wherever a message is cut and whichever byte of it is spoilt, the values lie inside it. */
static void values_lie_in_the_message(void **state)
{
	uint64_t seed = 6;

	for (size_t i = 0; i < ARRAY_LEN(parses); i++) {
		for (size_t len = 0; len <= parses[i].len; len++) {
			auto_free char *cut = exact_copy(parses[i].data, len);
			auto_free char *spoilt = exact_copy(parses[i].data, len);

			if (len > 0)
				spoilt[suite_random(&seed) % len] = (char)suite_random(&seed);
			assert_borrowed(cut, len);
			assert_borrowed(spoilt, len);
		}
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, parses, parse_matches_table);
	suite_rows(&suite, classes, class_matches_table);
	suite_rows(&suite, virtuals, virtual_matches_table);
	suite_add(&suite, "a device of any kind that can be divided now is looked at at once",
		  a_parent_of_mediated_devices_is_looked_at, NULL);
	suite_add(&suite, "the values lie in the message, cut or spoilt", values_lie_in_the_message,
		  NULL);
	return suite_run(&suite, "uevent");
}
