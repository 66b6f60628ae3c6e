/* facts: lines of the helper, as it prints them and as it should never. */
#include "agent/inventory/facts.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "unit/suite.h"

static int add(struct facts *facts, const char *line, struct err *err)
{
	return facts_add_line(facts, line, strlen(line), err);
}

static struct facts *facts_of(const char *line)
{
	struct facts *facts = facts_new();
	struct err err = { 0 };

	if (add(facts, line, &err) < 0)
		fail_msg("%s", err.msg);
	return facts;
}

static void a_pci_line_is_read_whole(void **state)
{
	struct facts *facts = facts_of(
		"{\"kind\":\"pci\",\"address\":\"0000:01:00.1\",\"vendor\":\"8086\",\"device\":\"10d3\","
		"\"class\":\"020000\",\"subsystemVendor\":\"1af4\",\"subsystemDevice\":\"1100\","
		"\"revision\":\"03\",\"driver\":\"e1000e\",\"iommuGroup\":\"7\",\"numaNode\":1,"
		"\"role\":\"VirtualFunction\",\"physicalFunction\":\"0000:01:00.0\",\"totalVFs\":8,"
		"\"numVFs\":2,\"interface\":\"eth1\",\"virtualFunctions\":[\"0000:01:10.1\",\"0000:01:10.0\"],\"serial\":\"00-11\",\"resetMethods\":[\"flr\",\"bus\"],"
		"\"bootVGA\":true,\"parents\":[\"0000:00:01.0\"]}");
	const struct pci_facts *pci = facts->pci.items;

	assert_int_equal(facts->pci.len, 1);
	assert_string_equal(pci->address, "0000:01:00.1");
	assert_string_equal(pci->vendor, "8086");
	assert_string_equal(pci->device, "10d3");
	assert_string_equal(pci->class_code, "020000");
	assert_string_equal(pci->subsystem_vendor, "1af4");
	assert_string_equal(pci->subsystem_device, "1100");
	assert_string_equal(pci->revision, "03");
	assert_string_equal(pci->driver, "e1000e");
	assert_string_equal(pci->iommu_group, "7");
	assert_int_equal(pci->numa_node, 1);
	assert_string_equal(pci->role, "VirtualFunction");
	assert_string_equal(pci->physical_function, "0000:01:00.0");
	assert_int_equal(pci->total_vfs, 8);
	assert_int_equal(pci->num_vfs, 2);
	assert_string_equal(pci->interface, "eth1");
	assert_int_equal(pci->virtual_functions.len, 2);
	assert_string_equal(pci->virtual_functions.items[0], "0000:01:10.1");
	assert_string_equal(pci->serial, "00-11");
	assert_int_equal(pci->reset_methods.len, 2);
	assert_string_equal(pci->reset_methods.items[1], "bus");
	assert_true(pci->boot_vga);
	assert_int_equal(pci->parents.len, 1);
	facts_free(facts);
}

/* The helper leaves out what it could not read, and says so in a problem line. */
static void a_bare_pci_line_is_read(void **state)
{
	struct facts *facts = facts_of("{\"kind\":\"pci\",\"address\":\"0000:01:00.0\"}");
	const struct pci_facts *pci = facts->pci.items;

	assert_int_equal(facts->pci.len, 1);
	assert_null(pci->vendor);
	assert_null(pci->device);
	assert_null(pci->class_code);
	assert_null(pci->iommu_group);
	assert_int_equal(pci->numa_node, -1);
	assert_int_equal(pci->reset_methods.len, 0);
	facts_free(facts);
}

static void a_usb_line_is_read_whole(void **state)
{
	struct facts *facts = facts_of(
		"{\"kind\":\"usb\",\"name\":\"1-2.3\",\"bus\":1,\"device\":5,\"vendor\":\"0951\","
		"\"product\":\"1666\",\"class\":\"00\",\"speed\":480,\"manufacturer\":\"K\","
		"\"productName\":\"DT\",\"serial\":\"E0\",\"hub\":false,"
		"\"pciAddress\":\"0000:00:14.0\",\"interfaces\":[{\"class\":\"08\","
		"\"subclass\":\"06\",\"protocol\":\"50\",\"driver\":\"usb-storage\"},{}]}");
	const struct usb_facts *usb = facts->usb.items;

	assert_int_equal(facts->usb.len, 1);
	assert_string_equal(usb->port, "1-2.3");
	assert_int_equal(usb->bus, 1);
	assert_int_equal(usb->device, 5);
	assert_string_equal(usb->vendor, "0951");
	assert_string_equal(usb->product, "1666");
	assert_string_equal(usb->class_code, "00");
	assert_int_equal(usb->speed_mbps, 480);
	assert_string_equal(usb->manufacturer, "K");
	assert_string_equal(usb->product_name, "DT");
	assert_string_equal(usb->serial, "E0");
	assert_false(usb->hub);
	assert_string_equal(usb->pci_address, "0000:00:14.0");
	assert_int_equal(usb->interfaces.len, 2);
	assert_string_equal(usb->interfaces.items[0].class_code, "08");
	assert_string_equal(usb->interfaces.items[0].subclass, "06");
	assert_string_equal(usb->interfaces.items[0].protocol, "50");
	assert_string_equal(usb->interfaces.items[0].driver, "usb-storage");
	assert_null(usb->interfaces.items[1].driver);
	facts_free(facts);
}

static void a_bare_usb_line_is_read(void **state)
{
	struct facts *facts = facts_of("{\"kind\":\"usb\",\"name\":\"1-2\"}");

	assert_int_equal(facts->usb.len, 1);
	assert_null(facts->usb.items[0].vendor);
	assert_int_equal(facts->usb.items[0].bus, 0);
	facts_free(facts);
}

SUITE_OBJECT(facts, facts_new(), facts_free);

static void uses_and_problems_are_read(void **state)
{
	struct facts *facts = *state;

	assert_int_equal(add(facts,
			     "{\"kind\":\"use\",\"pci\":\"0000:01:00.0\",\"usb\":\"1-1\","
			     "\"reason\":\"Mounted\",\"detail\":\"sdb at /mnt\"}",
			     NULL),
			 0);
	assert_int_equal(add(facts,
			     "{\"kind\":\"problem\",\"device\":\"1-1\",\"attribute\":\"serial\","
			     "\"message\":\"missing\"}",
			     NULL),
			 0);
	assert_int_equal(facts->uses.len, 1);
	assert_string_equal(facts->uses.items[0].pci, "0000:01:00.0");
	assert_string_equal(facts->uses.items[0].usb, "1-1");
	assert_string_equal(facts->uses.items[0].reason, "Mounted");
	assert_string_equal(facts->uses.items[0].detail, "sdb at /mnt");
	assert_int_equal(facts->problems.len, 1);
	assert_string_equal(facts->problems.items[0].device, "1-1");
	assert_string_equal(facts->problems.items[0].attribute, "serial");
	assert_string_equal(facts->problems.items[0].message, "missing");
}

static void a_record_is_read_whole(void **state)
{
	struct facts *facts = facts_of(
		"{\"kind\":\"record\",\"address\":\"0000:01:00.0\",\"claim\":\"n-000001000\","
		"\"uid\":\"u-1\",\"driver\":\"vfio-pci\",\"native\":\"e1000e\","
		"\"id\":\"8086:10d3\",\"serial\":\"00-11\",\"boot\":\"b-1\",\"bound\":\"b-2\"}");
	const struct record_facts *record = facts->records.items;

	assert_int_equal(facts->records.len, 1);
	assert_string_equal(record->address, "0000:01:00.0");
	assert_string_equal(record->claim, "n-000001000");
	assert_string_equal(record->uid, "u-1");
	assert_string_equal(record->driver, "vfio-pci");
	assert_string_equal(record->native, "e1000e");
	assert_string_equal(record->id, "8086:10d3");
	assert_string_equal(record->serial, "00-11");
	assert_string_equal(record->boot, "b-1");
	assert_string_equal(record->bound, "b-2");
	facts_free(facts);
}

static struct native_case {
	const char *name;
	const char *line;
	const char *native; /* NULL: not known */
} natives[] = {
	{ "a record of a device without a driver says so",
	  "{\"kind\":\"record\",\"address\":\"0000:01:00.0\",\"native\":\"\"}", "" },
	{ "a record that says nothing of the driver before does not know it",
	  "{\"kind\":\"record\",\"address\":\"0000:01:00.0\"}", NULL },
	{ "a record whose driver before is null does not know it",
	  "{\"kind\":\"record\",\"address\":\"0000:01:00.0\",\"native\":null}", NULL },
};

static void native_is_read(void **state)
{
	const struct native_case *c = *state;
	struct facts *facts = facts_of(c->line);
	const struct record_facts *record = facts->records.items;

	assert_int_equal(facts->records.len, 1);
	assert_null(record->serial);
	if (c->native)
		assert_string_equal(record->native, c->native);
	else
		assert_null(record->native);
	facts_free(facts);
}

static void questions_without_an_answer_are_read(void **state)
{
	struct facts *facts = facts_of(
		"{\"kind\":\"unknown\",\"question\":\"Mounts\",\"unread\":true,\"pciClasses\":[\"01\","
		"\"02\"],\"usbClasses\":[\"08\"],\"detail\":\"cannot look\"}");
	const struct unknown_facts *unknown = facts->unknowns.items;

	assert_int_equal(facts->unknowns.len, 1);
	assert_string_equal(unknown->question, "Mounts");
	assert_true(unknown->unread);
	assert_int_equal(unknown->pci_classes.len, 2);
	assert_string_equal(unknown->pci_classes.items[1], "02");
	assert_string_equal(unknown->usb_classes.items[0], "08");
	assert_string_equal(unknown->detail, "cannot look");
	facts_free(facts);
}

/* A scan that failed or lacks a line must not be used at all. */
static void a_scan_that_is_not_whole_is_none(void **state)
{
	struct facts *facts = facts_of("{\"kind\":\"pci\",\"address\":\"0000:01:00.0\"}");
	struct err err = { 0 };

	assert_int_equal(add(facts, "{\"kind\":\"end\",\"pci\":2,\"usb\":0}", &err), -EBADMSG);
	assert_string_equal(err.msg, "end line of the helper: it counts 2 PCI functions, not 1");
	assert_int_equal(add(facts, "{\"kind\":\"end\",\"pci\":1,\"usb\":3}", &err), -EBADMSG);
	assert_string_equal(err.msg, "end line of the helper: it counts 3 USB devices, not 0");
	assert_int_equal(add(facts, "{\"kind\":\"failed\",\"message\":\"too few\"}", &err), -EIO);
	assert_string_equal(err.msg, "failed line of the helper: too few");
	assert_int_equal(err.kind, ERR_RETRY);
	assert_false(facts->complete);
	assert_int_equal(add(facts, "{\"kind\":\"end\",\"pci\":1,\"usb\":0}", &err), 0);
	assert_true(facts->complete);
	facts_free(facts);
}

static void the_host_and_the_end_are_noted(void **state)
{
	struct facts *facts = *state;

	assert_false(facts->iommu);
	assert_false(facts->complete);
	assert_int_equal(add(facts, "{\"kind\":\"host\",\"iommu\":true}", NULL), 0);
	assert_true(facts->iommu);
	assert_false(facts->complete);
	assert_int_equal(add(facts, "{\"kind\":\"end\"}", NULL), 0);
	assert_true(facts->complete);
	assert_int_equal(add(facts, "{\"kind\":\"host\",\"iommu\":\"true\"}", NULL), 0);
	assert_false(facts->iommu);
}

static void lines_of_mediated_devices_are_read_whole(void **state)
{
	struct facts *facts = facts_of(
		"{\"kind\":\"mdevParent\",\"name\":\"0000:3b:00.0\",\"pciAddress\":\"0000:3b:00.0\","
		"\"numaNode\":0,\"types\":[{\"id\":\"nvidia-222\",\"name\":\"GRID T4-1B\","
		"\"description\":\"d\",\"deviceAPI\":\"vfio-pci\",\"available\":16},{\"id\":\"t\"}]}");
	const struct mdev_parent_facts *parent = facts->mdev_parents.items;
	const struct mdev_facts *mdev;

	assert_int_equal(
		add(facts,
		    "{\"kind\":\"mdev\",\"uuid\":\"u\",\"parent\":\"mtty\",\"type\":\"mtty-1\","
		    "\"typeName\":\"Single port serial\",\"iommuGroup\":\"14\"}",
		    NULL),
		0);
	assert_int_equal(add(facts,
			     "{\"kind\":\"mdevRecord\",\"uuid\":\"u\",\"parent\":\"mtty\","
			     "\"type\":\"mtty-1\",\"owner\":\"types\",\"thisBoot\":true}",
			     NULL),
			 0);
	mdev = facts->mdevs.items;
	assert_string_equal(parent->pci_address, "0000:3b:00.0");
	assert_int_equal(parent->numa_node, 0);
	assert_int_equal(parent->types.len, 2);
	assert_string_equal(parent->types.items[0].name, "GRID T4-1B");
	assert_int_equal(parent->types.items[0].available, 16);
	assert_int_equal(parent->types.items[1].available, -1);
	assert_string_equal(mdev->type_name, "Single port serial");
	assert_string_equal(mdev->iommu_group, "14");
	assert_int_equal(mdev->numa_node, -1);
	assert_true(facts->mdev_records.items[0].this_boot);
	assert_string_equal(facts->mdev_records.items[0].owner, "types");
	facts_free(facts);
}

static void an_unknown_kind_is_passed_over(void **state)
{
	struct facts *facts = facts_of("{\"kind\":\"ccw\",\"address\":7}");

	assert_int_equal(facts->pci.len + facts->usb.len + facts->uses.len + facts->problems.len,
			 0);
	facts_free(facts);
}

static struct refusal_case {
	const char *name;
	const char *line;
	const char *says;
} refusals[] = {
	{ "an empty line", "", "line of the helper" },
	{ "half a line", "{\"kind\":\"pci\",\"addr", "line of the helper" },
	{ "two lines in one", "{\"kind\":\"end\"}{\"kind\":\"end\"}", "line of the helper" },
	{ "a list", "[1]", "no kind" },
	{ "an object without a kind", "{\"address\":\"0000:01:00.0\"}", "no kind" },
	{ "a kind that is no text", "{\"kind\":3}", "no kind" },
	{ "a function without an address", "{\"kind\":\"pci\",\"vendor\":\"8086\"}", "address" },
	{ "a function with an empty address", "{\"kind\":\"pci\",\"address\":\"\"}", "address" },
	{ "an address that is a number", "{\"kind\":\"pci\",\"address\":1}", "address" },
	{ "a number that is text",
	  "{\"kind\":\"pci\",\"address\":\"0000:01:00.0\",\"numVFs\":\"4\"}", "numVFs" },
	{ "a number too large for the field",
	  "{\"kind\":\"pci\",\"address\":\"0000:01:00.0\",\"numVFs\":4294967296}", "numVFs" },
	{ "a USB device without a port", "{\"kind\":\"usb\",\"bus\":1}", "name" },
	{ "interfaces that are no list",
	  "{\"kind\":\"usb\",\"name\":\"1-1\",\"interfaces\":{\"class\":\"08\"}}", "interfaces" },
	{ "a use without a reason", "{\"kind\":\"use\",\"pci\":\"0000:01:00.0\"}", "reason" },
	{ "a problem without a message", "{\"kind\":\"problem\"}", "message" },
	{ "a record without an address", "{\"kind\":\"record\",\"claim\":\"n\"}", "address" },
	{ "a record whose driver before is no text",
	  "{\"kind\":\"record\",\"address\":\"0000:01:00.0\",\"native\":0}", "native" },
	{ "text that is not UTF-8", "{\"kind\":\"pci\",\"address\":\"\xff\"}",
	  "line of the helper" },
};

/* A refused line leaves nothing behind: what is listed has an address. */
static void line_is_refused(void **state)
{
	const struct refusal_case *c = *state;
	struct facts *facts = facts_of("{\"kind\":\"pci\",\"address\":\"0000:01:00.0\"}");
	struct err err = { 0 };

	assert_int_equal(add(facts, c->line, &err), -EINVAL);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.msg, c->says));
	assert_int_equal(facts->pci.len, 1);
	assert_int_equal(
		facts->usb.len + facts->uses.len + facts->problems.len + facts->records.len, 0);
	facts_free(facts);
}

static void a_list_without_end_is_ended(void **state)
{
	static const char *const lines[] = {
		"{\"kind\":\"use\",\"pci\":\"x\",\"reason\":\"y\"}",
		"{\"kind\":\"record\",\"address\":\"x\"}",
	};
	struct facts *facts = *state;
	struct err err = { 0 };

	for (int i = 0; i < FACTS_MAX; i++)
		assert_int_equal(add(facts, lines[i % 2], NULL), 0);
	assert_int_equal(facts->records.len, FACTS_MAX / 2);
	assert_int_equal(add(facts, "{\"kind\":\"pci\",\"address\":\"0000:01:00.0\"}", &err),
			 -EMSGSIZE);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(facts->pci.len, 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "questions without an answer are read",
		  questions_without_an_answer_are_read, NULL);
	suite_add(&suite, "a scan that is not whole is none", a_scan_that_is_not_whole_is_none,
		  NULL);
	suite_add(&suite, "a PCI line is read whole", a_pci_line_is_read_whole, NULL);
	suite_add(&suite, "a function of which nothing could be read is listed",
		  a_bare_pci_line_is_read, NULL);
	suite_add(&suite, "a USB line is read whole", a_usb_line_is_read_whole, NULL);
	suite_add(&suite, "a USB device of which nothing could be read is listed",
		  a_bare_usb_line_is_read, NULL);
	suite_add(&suite, "a record is read whole", a_record_is_read_whole, NULL);
	suite_add(&suite, "lines of mediated devices are read whole",
		  lines_of_mediated_devices_are_read_whole, NULL);
	suite_rows(&suite, natives, native_is_read);
	suite_add(&suite, "a kind that is not known is passed over", an_unknown_kind_is_passed_over,
		  NULL);
	suite_rows(&suite, refusals, line_is_refused);
	suite_fixture(&suite, &facts_fixture);
	suite_add(&suite, "uses and problems are read", uses_and_problems_are_read, NULL);
	suite_add(&suite, "the host's line and the end are noted", the_host_and_the_end_are_noted,
		  NULL);
	suite_add(&suite, "a list without end is ended", a_list_without_end_is_ended, NULL);
	return suite_run(&suite, "facts");
}
