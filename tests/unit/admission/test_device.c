/* device: what is kept of PCIDevices and USBDevices, however much of them there is. */
#include "controller/admission/device.h"

#include <string.h>

#include "unit/admission/cluster.h"

static struct entry *decoded(const struct api_kind *kind, const char *text)
{
	auto_json json_t *object = cluster_json(text);
	auto_free char *line = json_map_text(object);
	struct json_text all = { line, strlen(line) };
	struct err err = { 0 };
	struct entry *entry = entry_decode(kind, &all, &err);

	if (!entry || !entry->object)
		fail_msg("%s", err.msg);
	return entry;
}

/* clang-format off */
static struct device_case {
	const char *name;
	const struct api_kind *kind;
	const char *object;
	const char *texts[DEVICE_TEXTS]; /* NULL: "" */
	size_t members;
} cases[] = {
	{ "a device of which nothing is known", &device_pci_kind, "{'metadata':{'name':'a'}}", { 0 }, 0 },
	{ "a device that may be claimed", &device_pci_kind,
	  PCI("a", "node1", "0000:01:00.0", "12", "'0000:01:00.0'", "e1000e", AVAILABLE),
	  { [DEVICE_ADDRESS] = "0000:01:00.0", [DEVICE_NODE] = "node1", [DEVICE_GROUP] = "12", [DEVICE_RESOURCE] = "x.com/e1000e",
	    [DEVICE_DRIVER] = "e1000e", [DEVICE_NATIVE] = "e1000e" }, 0 },
	{ "one that may not, and a pod has it", &device_pci_kind,
	  PCI("a", "node1", "0000:01:00.0", "1", "", "vfio-pci", "'physicalFunction':'0000:01:10.0','allocations':["
	      "{'namespace':'n','pod':'p'},{'namespace':'m','pod':'q'}]," CLAIMABLE("False", "InUse", "why")),
	  { [DEVICE_ADDRESS] = "0000:01:00.0", [DEVICE_NODE] = "node1", [DEVICE_GROUP] = "1", [DEVICE_RESOURCE] = "x.com/vfio-pci",
	    [DEVICE_DRIVER] = "vfio-pci", [DEVICE_NATIVE] = "vfio-pci", [DEVICE_PARENT] = "0000:01:10.0", [DEVICE_REASON] = "InUse",
	    [DEVICE_MESSAGE] = "why", [DEVICE_POD] = "n/p" }, 0 },
	{ "what it goes back to was noted", &device_pci_kind,
	  "{'metadata':{'name':'a','annotations':{'x':'y','harvesterhci.io/pcideviceDriver':'igb'}},'status':{'kernelDriverInUse':'vfio-pci'}}",
	  { [DEVICE_DRIVER] = "vfio-pci", [DEVICE_NATIVE] = "igb" }, 0 },
	{ "a group of three", &device_pci_kind, PCI("a", "n", "0000:01:00.0", "1", "'0000:01:00.0','0000:01:00.1','0000:02:00.0'", "", AVAILABLE),
	  { [DEVICE_ADDRESS] = "0000:01:00.0", [DEVICE_NODE] = "n", [DEVICE_GROUP] = "1", [DEVICE_RESOURCE] = "x.com/" }, 3 },
	{ "a refusal without a reason is one", &device_pci_kind,
	  "{'metadata':{'name':'a'},'status':{'conditions':[{'type':'Claimable','status':'False'}]}}", { [DEVICE_REASON] = "Unknown" }, 0 },
	{ "a USB device", &device_usb_kind,
	  "{'metadata':{'name':'a'},'status':{'nodeName':'n','pciAddress':'0000:00:14.0','portPath':'1-2','resourceName':'kubevirt.io/a'}}",
	  { [DEVICE_NODE] = "n", [DEVICE_ADDRESS] = "0000:00:14.0", [DEVICE_PORT] = "1-2", [DEVICE_RESOURCE] = "kubevirt.io/a" }, 0 },
};
/* clang-format on */

static void kept_as_the_table_says(void **state)
{
	const struct device_case *row = *state;
	struct entry *entry = decoded(row->kind, row->object);
	const struct device *device = entry->object;

	for (int i = 0; i < DEVICE_TEXTS; i++)
		assert_string_equal(device_text(device, (enum device_text)i),
				    row->texts[i] ? row->texts[i] : "");
	assert_int_equal(device->members, row->members);
	if (row->members > 0) {
		assert_string_equal(device_member(device, 1), "0000:01:00.1");
		assert_true(device_has_member(device, "0000:02:00.0"));
	}
	assert_false(device_has_member(device, "0000:09:00.0"));
	entry_free(row->kind, entry);
}

/* Offsets have sixteen bits; the schema bounds what is there, and so do we. */
static void large_ones_are_cut(void **state)
{
	auto_str struct str text = STR_INIT;
	const struct device *device;
	struct entry *entry;

	(void)state;
	str_add(&text, "{'metadata':{'name':'a'},'status':{'address':'");
	for (int i = 0; i < 100000; i++)
		str_add_char(&text, 'x');
	str_add(&text, "','portPath':'1','iommuGroupMembers':['");
	for (int i = 0; i < 5000; i++)
		str_addf(&text, "','0000000000000000000000000000%d", i);
	str_add(&text, "']}}");
	entry = decoded(&device_pci_kind, text.buf);
	device = entry->object;
	assert_int_equal(strlen(device_text(device, DEVICE_ADDRESS)), 1024);
	assert_int_equal(device->members, 1024);
	assert_int_equal(strlen(device_member(device, 1023)), 16);
	entry_free(&device_pci_kind, entry);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, kept_as_the_table_says);
	suite_add(&suite, "large ones are cut", large_ones_are_cut, NULL);
	return suite_run(&suite, "device");
}
