/* usb_claim: the rules of USBDeviceClaims and of the devices' own objects. */
#include "unit/admission/cluster.h"

#define RESOURCE "usbdeviceclaims"
#define HC       "node1-000000140"

/* clang-format off */
#define CLAIM(name, rest) OBJECT("USBDeviceClaim", name, rest)
#define PCICLAIM(name, spec) OBJECT("PCIDeviceClaim", name, ",'spec':{" spec "}")
#define OWNED(name, uid) "{'metadata':{'name':'" name "','ownerReferences':[{'kind':'USBDevice','name':'" name "','uid':'" uid "'}]}}"
#define NOTED(key, value) "{'metadata':{'name':'" STICK "','annotations':{'" key "':'" value "'}}}"
#define VM(devices) \
	"{'kind':'VirtualMachine','metadata':{'name':'web','namespace':'default'},'spec':{" \
	"'template':{'spec':{'domain':{'devices':{'hostDevices':[" devices "]}}}}}}"
#define ON(node) "{'metadata':{'name':'" STICK "'},'status':{'nodeName':'" node "'}}"
#define DELETING "{'metadata':{'name':'" STICK "','deletionTimestamp':'2026-01-01T00:00:00Z'}}"

#define UNSEEN                                                                                              \
	OBJECT("USBDevice", STICK, ",'status':{'nodeName':'node1','conditions':[{'type':'Claimable',"       \
	       "'status':'False','reason':'UseUnknown','message':'cannot look'}]}")

static struct cluster_case creations[] = {
	{ .name = "a claim with the name of a device is allowed", .object = CLAIM(STICK, "") },
	{ .name = "a dry run tells as what it is lent", .object = CLAIM(STICK, ""), .dry_run = true,
	  .warned = "offer the device in port 1-2 as kubevirt.io/" STICK },
	{ .name = "although an entry of the HostDeviceConfig offers it now as something else",
	  .more = OBJECT("USBDevice", STICK, ",'status':{'nodeName':'node1','portPath':'1-2','resourceName':'example.com/stick',"
	  "'conditions':[{'type':'Claimable','status':'True','reason':'Available'}]}"),
	  .object = CLAIM(STICK, ""), .dry_run = true, .warned = "offer the device in port 1-2 as kubevirt.io/" STICK },
	{ .name = "a name that is no device's is refused", .object = CLAIM("stick", ""),
	  .refused = "USBDeviceClaim 'stick': there is no USBDevice of this name" },
	{ .name = "a PCI device is no USB device", .object = CLAIM(HC, ""), .refused = "is a PCIDevice: create a PCIDeviceClaim" },
	{ .name = "a hub is refused", .object = CLAIM("node1-1d6b-0002-001001", ""), .refused = "Hub: a hub: claim the devices behind it" },
	{ .name = "what the node needs is refused, and cannot be overridden",
	  .more = OBJECT("USBDevice", STICK, ",'status':{'nodeName':'node1','conditions':[{'type':'Claimable','status':'False',"
	  "'reason':'HostFilesystem','message':'sda1 is on /'}]}"),
	  .object = "{'metadata':{'name':'" STICK "','annotations':{'hostdev.io/allow-host-critical':'true'}}}",
	  .refused = "HostFilesystem: sda1 is on /: move that to another disk, or claim another device" },
	{ .name = "what may be in use is refused, with the way to override it",
	  .more = UNSEEN, .object = CLAIM(STICK, ""), .refused = "verb 'override' can set the annotation" },
	{ .name = "overridden it is allowed, with a warning", .more = UNSEEN,
	  .object = "{'metadata':{'name':'" STICK "','annotations':{'hostdev.io/allow-host-critical':'true'}}}",
	  .warned = "UseUnknown: cannot look" },
	{ .name = "not with another value", .more = UNSEEN, .object = NOTED("hostdev.io/allow-host-critical", "yes"),
	  .refused = "UseUnknown", .warned = "is 'yes' and has no effect" },
	{ .name = "its device may be its owner", .object = OWNED(STICK, "u-" STICK) },
	{ .name = "an owner of an earlier time is refused", .object = OWNED(STICK, "old"), .refused = "the uid of an earlier USBDevice" },
	{ .name = "the controller is claimed", .more = PCICLAIM(HC, ""), .object = CLAIM(STICK, ""),
	  .refused = "PCIDeviceClaim '" HC "' has 0000:00:14.0, the USB controller" },
	{ .name = "the controller's group is claimed", .more = PCICLAIM("node1-000000142", "'includeIOMMUGroup':true"),
	  .object = CLAIM(STICK, ""), .refused = "PCIDeviceClaim 'node1-000000142' has 0000:00:14.0" },
	{ .name = "its neighbour is claimed", .more = PCICLAIM("node1-000000142", ""), .object = CLAIM(STICK, "") },
	{ .name = "the socket is claimed under another name", .object = CLAIM(STICK, ""),
	  .more = CLAIM("older", ",'status':{'nodeName':'node1','portPath':'1-2'}"), .refused = "USBDeviceClaim 'older' is for the device in port 1-2" },
	{ .name = "the same socket of another node is another", .object = CLAIM(STICK, ""),
	  .more = CLAIM("older", ",'status':{'nodeName':'node2','portPath':'1-2'}") },
};

static struct cluster_case updates[] = {
	{ .name = "an annotation that has no effect is told", .object = NOTED("hostdev.io/allow-host-critical", "1"),
	  .old = CLAIM(STICK, ""), .warned = "allow-host-critical is '1' and has no effect" },
	{ .name = "once", .object = NOTED("hostdev.io/allow-host-critical", "1"),
	  .old = NOTED("hostdev.io/allow-host-critical", "1") },
	{ .name = "one of PCI devices has none", .object = NOTED("pcidevice.harvesterhci.io/override-resource-name", "a.b/c"),
	  .old = CLAIM(STICK, ""), .warned = "override-resource-name has no effect on the claim of a USB device" },
	{ .name = "one that is not known", .object = NOTED("hostdev.io/x", "true"), .old = CLAIM(STICK, ""),
	  .warned = "hostdev.io/x has no effect: hostdev has no such annotation of the claim of a USB device" },
};

static struct cluster_case deletions[] = {
	{ .name = "a claim that nobody uses may go", .old = CLAIM(STICK, "") },
	{ .name = "a machine names the device", .more = VM("{'name':'" STICK "'}"), .old = CLAIM(STICK, ""),
	  .warned = "a virtual machine names it, and does not have it" },
	{ .name = "a pod has it", .more = OBJECT("USBDevice", STICK, ",'status':{'nodeName':'node1','pciAddress':'0000:00:14.0',"
	  "'allocations':[{'namespace':'default','pod':'launcher'}]}"), .old = ON("node1"), .refused = "pod default/launcher has it: delete the pod" },
	{ .name = "a pod has it, and the claim waits for it", .more = OBJECT("USBDevice", STICK, ",'status':{'nodeName':'node1','pciAddress':'0000:00:14.0',"
	  "'allocations':[{'namespace':'default','pod':'launcher'}]}"),
	  .old = "{'metadata':{'name':'" STICK "'},'status':{'nodeName':'node1','portPath':'1-2','conditions':[{'type':'Accepted','status':'False','reason':'InUse'}]}}" },
	{ .name = "a machine names it, and the node is gone", .more = VM("{'name':'" STICK "'}"), .old = ON("node3") },
	{ .name = "a machine names it, and it is being deleted", .more = VM("{'name':'" STICK "'}"), .old = DELETING },
};

static struct cluster_case devices[] = {
	{ .name = "a USB device that nobody has may go", .resource = "usbdevices", .old = ON("node1") },
	{ .name = "one that is claimed may not", .resource = "usbdevices", .more = CLAIM(STICK, ""), .old = ON("node1"),
	  .refused = "USBDevice '" STICK "': USBDeviceClaim '" STICK "' would be deleted with it" },
	{ .name = "one that is lent may not", .resource = "usbdevices",
	  .old = "{'metadata':{'name':'x'},'status':{'nodeName':'node1','enabled':true}}", .refused = "it is claimed (status.enabled)" },
	{ .name = "it may with its node", .resource = "usbdevices", .more = CLAIM(STICK, ""),
	  .old = "{'metadata':{'name':'x'},'status':{'nodeName':'node3','enabled':true}}" },
	{ .name = "a PCI device that is claimed may not go", .resource = "pcidevices", .more = PCICLAIM(HC, ""),
	  .old = "{'metadata':{'name':'" HC "'},'status':{'nodeName':'node1'}}", .refused = "PCIDeviceClaim '" HC "' would be deleted with it" },
	{ .name = "one that is not claimed may", .resource = "pcidevices", .old = "{'metadata':{'name':'" HC "'},'status':{'nodeName':'node1'}}" },
	{ .name = "one that is claimed may with its node", .resource = "pcidevices", .more = PCICLAIM(HC, ""),
	  .old = "{'metadata':{'name':'" HC "'},'status':{'nodeName':'node3'}}" },
};

#define HAS(key, value) "{'metadata':{'name':'" HC "','annotations':{'" key "':'" value "'}}}"
#define NAMED(resource) HAS("pcidevice.harvesterhci.io/override-resource-name", resource)
static struct cluster_case names[] = {
	{ .name = "a PCIDevice may name its resource", .object = NAMED("vendor.com/HC"), .old = "{'metadata':{'name':'" HC "'}}" },
	{ .name = "but not as no kubelet takes it", .object = NAMED("not a name!!"), .old = "{'metadata':{'name':'" HC "'}}",
	  .refused = "PCIDevice '" HC "': the annotation pcidevice.harvesterhci.io/override-resource-name is 'not a name!!', but kubelets refuse" },
	{ .name = "nor as one of the kubelet itself", .object = NAMED("cpu"), .old = NAMED("vendor.com/HC"), .refused = "is 'cpu', but kubelets refuse" },
	{ .name = "what is there already may stay", .object = NAMED("cpu"), .old = NAMED("cpu") },
	{ .name = "a new one is looked at, too", .object = NAMED("cpu"), .refused = "is 'cpu'" },
	{ .name = "a misspelled key is told", .object = HAS("pcidevice.harvesterhci.io/overide-resource-name", "a.b/c"), .old = NAMED("cpu"),
	  .warned = "overide-resource-name has no effect: did you mean pcidevice.harvesterhci.io/override-resource-name?" },
	{ .name = "so is one of a new device", .object = HAS("hostdev.io/x", "a"), .warned = "the annotation hostdev.io/x has no effect: hostdev has no such annotation of a PCIDevice" },
	{ .name = "and one with another domain", .object = HAS("hostdev.io/override-resource-name", "a.b/c"),
	  .warned = "hostdev.io/override-resource-name has no effect: set pcidevice.harvesterhci.io/override-resource-name" },
	{ .name = "once", .object = HAS("hostdev.io/x", "a"), .old = HAS("hostdev.io/x", "a") },
	{ .name = "one of claims has no effect there", .object = HAS("pcidevices.harvesterhci.io/skip-vfio-binding", "true"),
	  .warned = "skip-vfio-binding has no effect on a PCIDevice: set it on its claim" },
	{ .name = "the agent's has one", .object = HAS("harvesterhci.io/pcideviceDriver", "e1000e"), .old = "{'metadata':{'name':'" HC "'}}" },
	{ .name = "those of others are not told", .object = HAS("example.com/overide-resource-name", "x") },
};
/* clang-format on */

static void fill(struct cluster_case *rows, size_t len, enum admission_operation operation)
{
	for (size_t i = 0; i < len; i++) {
		rows[i].operation = operation;
		rows[i].resource = rows[i].resource ? rows[i].resource : RESOURCE;
	}
}

int main(void)
{
	struct suite suite = { 0 };

	fill(creations, ARRAY_LEN(creations), ADMISSION_CREATE);
	fill(updates, ARRAY_LEN(updates), ADMISSION_UPDATE);
	fill(deletions, ARRAY_LEN(deletions), ADMISSION_DELETE);
	fill(devices, ARRAY_LEN(devices), ADMISSION_DELETE);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		names[i].resource = "pcidevices";
		names[i].operation = names[i].old ? ADMISSION_UPDATE : ADMISSION_CREATE;
	}
	suite_fixture(&suite, &cluster_fixture);
	suite_rows(&suite, creations, cluster_answers_as_the_table_says);
	suite_rows(&suite, updates, cluster_answers_as_the_table_says);
	suite_rows(&suite, deletions, cluster_answers_as_the_table_says);
	suite_rows(&suite, devices, cluster_answers_as_the_table_says);
	suite_rows(&suite, names, cluster_answers_as_the_table_says);
	return suite_run(&suite, "usb_claim");
}
