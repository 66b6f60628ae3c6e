/* claimable: which devices of a node may be claimed, told by the lines that a scan prints. */
#include <stdbool.h>
#include <string.h>

#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "base/err.h"
#include "base/mem.h"
#include "unit/suite.h"

#define NIC(address, rest)                         \
	"{\"kind\":\"pci\",\"address\":\"" address \
	"\",\"vendor\":\"8086\",\"device\":\"10d3\",\"class\":\"020000\"" rest "}"
#define CLASSLESS(address, rest) "{\"kind\":\"pci\",\"address\":\"" address "\"" rest GROUP("5") "}"
#define BOUND                    ",\"driver\":\"e1000e\""
#define GROUP(n)                 ",\"iommuGroup\":\"" n "\""
#define USE(on, reason)          "{\"kind\":\"use\"," on ",\"reason\":\"" reason "\",\"detail\":\"because\"}"
#define UNKNOWN(classes)                                                 \
	"{\"kind\":\"unknown\",\"question\":\"Mounts\",\"unread\":true," \
	"\"pciClasses\":[" classes "],\"usbClasses\":[\"08\"],\"detail\":\"cannot look\"}"
#define VFIO            ",\"driver\":\"vfio-pci\""
#define RECORD(address) "{\"kind\":\"record\",\"address\":\"" address "\",\"claim\":\"c\"}"
#define LEFT_ALONE      "bound to vfio-pci already; hostdev leaves it alone until it is claimed"
#define SHARED                              \
	"shares IOMMU group 5 with " SECOND \
	": claim them all, or set includeIOMMUGroup in the claim"
#define FIRST  "0000:01:00.0"
#define SECOND "0000:02:00.0"
#define MDEV(uuid, address)                                              \
	"{\"kind\":\"mdev\",\"uuid\":\"" uuid "\",\"parent\":\"" address \
	"\",\"pciAddress\":\"" address "\"}"

static struct claimable_case {
	const char *name;
	const char *lines[6];
	bool claimable; /* of the first PCI function */
	const char *reason;
	const char *says; /* part of the message */
} cases[] = {
	{ "a NIC in a group of its own may be claimed",
	  { NIC(FIRST, BOUND GROUP("5")) },
	  true,
	  "Available",
	  "IOMMU group 5" },
	{ "a device without a group says that the IOMMU is off",
	  { "{\"kind\":\"host\",\"iommu\":false}", NIC(FIRST, BOUND) },
	  false,
	  "NoIOMMU",
	  "intel_iommu=on" },
	{ "a device without a group beside others that have one says so",
	  { "{\"kind\":\"host\",\"iommu\":true}", NIC(FIRST, BOUND) },
	  false,
	  "NoIOMMU",
	  "in no IOMMU group" },
	{ "an address that KubeVirt cannot parse is refused",
	  { NIC("10000:01:00.0", BOUND GROUP("5")) },
	  false,
	  "WideDomain",
	  "PCI domain 10000 has more than four digits" },
	{ "so it is with others in its group, which it does not hinder",
	  { NIC(FIRST, BOUND GROUP("5")), NIC("10000:01:00.0", BOUND GROUP("5")) },
	  true,
	  "GroupShared",
	  "10000:01:00.0" },
	{ "what the host needs counts before that",
	  { NIC("10000:01:00.0", BOUND GROUP("5")),
	    USE("\"pci\":\"10000:01:00.0\"", "HostFilesystem") },
	  false,
	  "HostFilesystem",
	  "because" },
	{ "and so does that it is in no group",
	  { NIC("10000:01:00.0", BOUND) },
	  false,
	  "NoIOMMU",
	  "IOMMU" },
	{ "a card is not taken from those who have its mediated devices",
	  { NIC(FIRST, BOUND GROUP("5")), MDEV("1", FIRST), MDEV("2", FIRST), MDEV("3", SECOND) },
	  false,
	  "InUse",
	  "2 mediated devices are on it" },
	{ "mediated devices of another card, or of none, do not matter",
	  { NIC(FIRST, BOUND GROUP("5")), MDEV("3", SECOND),
	    "{\"kind\":\"mdev\",\"uuid\":\"4\",\"parent\":\"mtty\"}" },
	  true,
	  "Available",
	  "may be claimed" },
	{ "a sibling with a driver is named",
	  { NIC(FIRST, BOUND GROUP("5")), NIC(SECOND, BOUND GROUP("5")) },
	  true,
	  "GroupShared",
	  SECOND },
	{ "a sibling without a driver does not count",
	  { NIC(FIRST, BOUND GROUP("5")), NIC(SECOND, GROUP("5")) },
	  true,
	  "Available",
	  "may be claimed" },
	{ "a port in the group does not count, though it has a driver",
	  { NIC(FIRST, BOUND GROUP("5")),
	    "{\"kind\":\"pci\",\"address\":\"0000:00:1c.0\",\"vendor\":\"8086\",\"device\":\"1\","
	    "\"class\":\"060400\",\"driver\":\"pcieport\",\"iommuGroup\":\"5\"}" },
	  true,
	  "Available",
	  "may be claimed" },
	{ "a sibling in another group does not count",
	  { NIC(FIRST, BOUND GROUP("5")), NIC(SECOND, BOUND GROUP("6")) },
	  true,
	  "Available",
	  "may be claimed" },
	{ "the disk below / is refused",
	  { NIC(FIRST, BOUND GROUP("5")), USE("\"pci\":\"" FIRST "\"", "HostFilesystem") },
	  false,
	  "HostFilesystem",
	  "because" },
	{ "swap is refused",
	  { NIC(FIRST, BOUND GROUP("5")), USE("\"pci\":\"" FIRST "\"", "HostSwap") },
	  false,
	  "HostSwap",
	  "because" },
	{ "the NIC of the default route is refused",
	  { NIC(FIRST, BOUND GROUP("5")), USE("\"pci\":\"" FIRST "\"", "HostNetwork") },
	  false,
	  "HostNetwork",
	  "because" },
	{ "the console is refused",
	  { NIC(FIRST, BOUND GROUP("5")), USE("\"pci\":\"" FIRST "\"", "Console") },
	  false,
	  "Console",
	  "because" },
	{ "a mounted disk is in use",
	  { NIC(FIRST, BOUND GROUP("5")), USE("\"pci\":\"" FIRST "\"", "Mounted") },
	  false,
	  "InUse",
	  "because" },
	{ "a disk below a volume that is not mounted is in use, too",
	  { NIC(FIRST, BOUND GROUP("5")), USE("\"pci\":\"" FIRST "\"", "BlockHolder") },
	  false,
	  "InUse",
	  "because" },
	{ "an interface with an address is in use",
	  { NIC(FIRST, BOUND GROUP("5")), USE("\"pci\":\"" FIRST "\"", "InterfaceUp") },
	  false,
	  "InUse",
	  "because" },
	{ "of several uses the most serious one is told",
	  { NIC(FIRST, BOUND GROUP("5")), USE("\"pci\":\"" FIRST "\"", "Mounted"),
	    USE("\"pci\":\"" FIRST "\"", "HostFilesystem") },
	  false,
	  "HostFilesystem",
	  "because" },
	{ "an interface in another network namespace is in use",
	  { NIC(FIRST, BOUND GROUP("5")), USE("\"pci\":\"" FIRST "\"", "InterfaceMoved") },
	  false,
	  "InUse",
	  "because" },
	{ "a device that may be in use is not free",
	  { NIC(FIRST, BOUND GROUP("5")), USE("\"pci\":\"" FIRST "\"", "Unknown") },
	  false,
	  "UseUnknown",
	  "because" },
	{ "a use that this agent does not know is not nothing",
	  { NIC(FIRST, BOUND GROUP("5")), USE("\"pci\":\"" FIRST "\"", "Admired") },
	  false,
	  "UseUnknown",
	  "because" },
	{ "a question about network cards without an answer",
	  { NIC(FIRST, BOUND GROUP("5")), UNKNOWN("\"02\",\"0c03\"") },
	  false,
	  "UseUnknown",
	  "the agent cannot see whether the host uses it: cannot look" },
	{ "a question about other devices changes nothing",
	  { NIC(FIRST, BOUND GROUP("5")), UNKNOWN("\"01\",\"0c03\"") },
	  true,
	  "Available",
	  "may be claimed" },
	{ "a device whose class cannot be read may be any",
	  { CLASSLESS(FIRST, ",\"driver\":\"nvme\"") },
	  false,
	  "UseUnknown",
	  "the agent cannot see whether the host uses it: its class cannot be read" },
	{ "also a bridge without a driver",
	  { CLASSLESS(FIRST, "") },
	  false,
	  "UseUnknown",
	  "its class cannot be read" },
	{ "what is known of its use comes first",
	  { CLASSLESS(FIRST, ",\"driver\":\"nvme\""),
	    USE("\"pci\":\"" FIRST "\"", "HostFilesystem") },
	  false,
	  "HostFilesystem",
	  "because" },
	{ "one that is offered already is not the host's",
	  { CLASSLESS(FIRST, VFIO), UNKNOWN("\"01\"") },
	  true,
	  "Available",
	  "may be claimed" },
	{ "a neighbour of its group whose class cannot be read",
	  { NIC(FIRST, BOUND GROUP("5")), CLASSLESS(SECOND, BOUND) },
	  false,
	  "GroupHostCritical",
	  SECOND },
	{ "what is known comes before what is not",
	  { NIC(FIRST, BOUND GROUP("5")), UNKNOWN("\"02\""),
	    USE("\"pci\":\"" FIRST "\"", "HostNetwork") },
	  false,
	  "HostNetwork",
	  "because" },
	{ "what has no driver is not the host's, whatever cannot be seen",
	  { NIC(FIRST, GROUP("5")), UNKNOWN("\"02\"") },
	  true,
	  "Available",
	  "may be claimed" },
	{ "nor is what is on vfio-pci",
	  { NIC(FIRST, VFIO GROUP("5")), UNKNOWN("\"02\"") },
	  true,
	  "Available",
	  "bound to vfio-pci already" },
	{ "nor what is on the passthrough driver of its record",
	  { NIC(FIRST, ",\"driver\":\"mlx5_vfio_pci\"" GROUP("5")), UNKNOWN("\"02\""),
	    "{\"kind\":\"record\",\"address\":\"" FIRST "\",\"driver\":\"mlx5_vfio_pci\"}" },
	  true,
	  "Available",
	  "may be claimed" },
	{ "what has a record and is on another driver may be the host's",
	  { NIC(FIRST, BOUND GROUP("5")), UNKNOWN("\"02\""),
	    "{\"kind\":\"record\",\"address\":\"" FIRST "\",\"driver\":\"vfio-pci\"}" },
	  false,
	  "UseUnknown",
	  "cannot look" },
	{ "a neighbour of its group that may be in use",
	  { NIC(FIRST, ",\"driver\":\"vfio-pci\"" GROUP("5")), NIC(SECOND, BOUND GROUP("5")),
	    UNKNOWN("\"02\"") },
	  false,
	  "GroupHostCritical",
	  SECOND },
	{ "somebody else's use changes nothing",
	  { NIC(FIRST, BOUND GROUP("5")), USE("\"pci\":\"" SECOND "\"", "HostNetwork") },
	  true,
	  "Available",
	  "may be claimed" },
	{ "a critical sibling refuses the whole group, with its name and reason",
	  { NIC(FIRST, BOUND GROUP("5")), NIC(SECOND, BOUND GROUP("5")),
	    USE("\"pci\":\"" SECOND "\"", "HostNetwork") },
	  false,
	  "GroupHostCritical",
	  SECOND ": because" },
	{ "a sibling merely in use does not refuse the group before it is claimed",
	  { NIC(FIRST, BOUND GROUP("5")), NIC(SECOND, BOUND GROUP("5")),
	    USE("\"pci\":\"" SECOND "\"", "Mounted") },
	  true,
	  "GroupShared",
	  SECOND },
	{ "a PF with VFs is refused with their number",
	  { NIC(FIRST, BOUND GROUP("5") ",\"role\":\"PhysicalFunction\",\"numVFs\":7") },
	  false,
	  "VirtualFunctionsActive",
	  "7 virtual functions exist: write 0 to its sriov_numvfs, or claim one of them" },
	{ "one that has an SRIOVNetworkDevice with what is to be done there",
	  { NIC(FIRST, BOUND GROUP("5") ",\"role\":\"PhysicalFunction\",\"numVFs\":7,\"interface\":"
					"\"eth1\"") },
	  false,
	  "VirtualFunctionsActive",
	  "7 virtual functions exist: set spec.numVFs: 0 in the SRIOVNetworkDevice with spec.address 0000:01:00.0, or claim one of them" },
	{ "a PF without VFs may be claimed",
	  { NIC(FIRST, BOUND GROUP("5") ",\"role\":\"PhysicalFunction\",\"totalVFs\":7") },
	  true,
	  "Available",
	  "may be claimed" },
	{ "a PCI bridge is refused",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:1c.0\",\"vendor\":\"8086\",\"device\":\"1\","
	    "\"class\":\"060400\",\"iommuGroup\":\"5\"}" },
	  false,
	  "HostBridge",
	  "PCI bridge" },
	{ "the ISA bridge is the machine itself",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:1f.0\",\"vendor\":\"8086\",\"device\":\"1\","
	    "\"class\":\"060100\",\"iommuGroup\":\"5\"}" },
	  false,
	  "HostFunction",
	  "bridge of the machine" },
	{ "the SMBus is the machine itself",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:1f.3\",\"vendor\":\"8086\",\"device\":\"1\","
	    "\"class\":\"0c0500\",\"iommuGroup\":\"5\"}" },
	  false,
	  "HostFunction",
	  "SMBus" },
	{ "the way to the BMC is the machine's, with its driver",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"103c\",\"device\":\"1\","
	    "\"class\":\"0c0701\",\"driver\":\"ipmi_si\",\"iommuGroup\":\"5\"}" },
	  false,
	  "HostFunction",
	  "management controller (IPMI)" },
	{ "or without",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"1a03\",\"device\":\"1\","
	    "\"class\":\"0c0700\",\"iommuGroup\":\"5\"}" },
	  false,
	  "HostFunction",
	  "management controller (IPMI)" },
	{ "the BMC's screen, though the console is on another",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"1a03\",\"device\":\"1\","
	    "\"class\":\"030000\",\"driver\":\"ast\",\"iommuGroup\":\"5\"}" },
	  false,
	  "HostFunction",
	  "management controller (BMC)" },
	{ "another maker's screen is not the BMC's",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"1002\",\"device\":\"1\","
	    "\"class\":\"030000\",\"driver\":\"amdgpu\",\"iommuGroup\":\"5\"}" },
	  true,
	  "Available",
	  "may be claimed" },
	{ "AMD's security processor",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"1022\",\"device\":\"1\","
	    "\"class\":\"108000\",\"driver\":\"ccp\",\"iommuGroup\":\"5\"}" },
	  false,
	  "HostFunction",
	  "security processor" },
	{ "another maker's engine of the same class is not",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"177d\",\"device\":\"1\","
	    "\"class\":\"108000\",\"driver\":\"octeontx-cpt\",\"iommuGroup\":\"5\"}" },
	  true,
	  "Available",
	  "may be claimed" },
	{ "Intel's management engine",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"8086\",\"device\":\"1\","
	    "\"class\":\"078000\",\"driver\":\"mei_me\",\"iommuGroup\":\"5\"}" },
	  false,
	  "HostFunction",
	  "management engine" },
	{ "a communication controller of Intel's without that driver may be any",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"8086\",\"device\":\"1\","
	    "\"class\":\"078000\",\"driver\":\"serial\",\"iommuGroup\":\"5\"}" },
	  true,
	  "Available",
	  "may be claimed" },
	{ "the flash of the firmware",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"8086\",\"device\":\"1\","
	    "\"class\":\"0c8000\",\"driver\":\"intel-spi\",\"iommuGroup\":\"5\"}" },
	  false,
	  "HostFunction",
	  "bus of the chipset" },
	{ "the port controller of a graphics card has the same class",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"10de\",\"device\":\"1\","
	    "\"class\":\"0c8000\",\"driver\":\"ucsi_ccg\",\"iommuGroup\":\"5\"}" },
	  true,
	  "Available",
	  "may be claimed" },
	{ "memory that a hypervisor adds",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"1af4\",\"device\":\"1058\","
	    "\"class\":\"00ff00\",\"driver\":\"virtio-pci\",\"iommuGroup\":\"5\"}" },
	  false,
	  "HostFunction",
	  "virtio-mem" },
	{ "another device of virtio is not memory",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"1af4\",\"device\":\"1052\","
	    "\"class\":\"00ff00\",\"driver\":\"virtio-pci\",\"iommuGroup\":\"5\"}" },
	  true,
	  "Available",
	  "may be claimed" },
	{ "a Thunderbolt controller",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"8086\",\"device\":\"1\","
	    "\"class\":\"0c0340\",\"driver\":\"thunderbolt\",\"iommuGroup\":\"5\"}" },
	  false,
	  "HostFunction",
	  "Thunderbolt" },
	{ "a USB controller of another kind is none",
	  { "{\"kind\":\"pci\",\"address\":\"0000:00:16.0\",\"vendor\":\"8086\",\"device\":\"1\","
	    "\"class\":\"0c0330\",\"driver\":\"xhci_hcd\",\"iommuGroup\":\"5\"}" },
	  true,
	  "Available",
	  "may be claimed" },
	{ "so is memory on CXL",
	  { "{\"kind\":\"pci\",\"address\":\"0000:38:00.0\",\"vendor\":\"1e98\",\"device\":\"1\","
	    "\"class\":\"050210\",\"driver\":\"cxl_pci\",\"iommuGroup\":\"5\"}" },
	  false,
	  "HostFunction",
	  "memory of the machine" },
};

static struct facts *facts_of(const char *const *lines, size_t len)
{
	struct facts *facts = facts_new();
	struct err err = { 0 };

	for (size_t i = 0; i < len && lines[i]; i++)
		assert_int_equal(facts_add_line(facts, lines[i], strlen(lines[i]), &err), 0);
	return facts;
}

static void pci_is_checked(void **state)
{
	const struct claimable_case *c = *state;
	struct facts *facts = facts_of(c->lines, ARRAY_LEN(c->lines));
	struct verdict *verdicts = claimable_check_pci(facts);

	assert_string_equal(verdicts[0].reason, c->reason);
	assert_int_equal(verdicts[0].claimable, c->claimable);
	assert_non_null(strstr(verdicts[0].message, c->says));
	verdicts_free(verdicts, facts->pci.len);
	facts_free(facts);
}

/* Not one of these is refused or allowed for being bound to vfio-pci. */
static struct bound_case {
	const char *name;
	const char *lines[3];
	const char *reason;
	const char *message; /* of the first PCI function */
} bounds[] = {
	{ "a device that somebody bound to vfio-pci may be claimed, and is left alone until then",
	  { NIC(FIRST, VFIO GROUP("5")) },
	  "Available",
	  "may be claimed (IOMMU group 5): " LEFT_ALONE },
	{ "a device that hostdev bound looks like one that it may bind",
	  { NIC(FIRST, VFIO GROUP("5")), RECORD(FIRST) },
	  "Available",
	  "may be claimed (IOMMU group 5)" },
	{ "another device's record is not this one's",
	  { NIC(FIRST, VFIO GROUP("5")), RECORD(SECOND) },
	  "Available",
	  "may be claimed (IOMMU group 5): " LEFT_ALONE },
	{ "a shared group that somebody bound names its members all the same",
	  { NIC(FIRST, VFIO GROUP("5")), NIC(SECOND, VFIO GROUP("5")) },
	  "GroupShared",
	  SHARED ": " LEFT_ALONE },
	{ "a sibling that somebody bound says nothing of this device",
	  { NIC(FIRST, BOUND GROUP("5")), NIC(SECOND, VFIO GROUP("5")) },
	  "GroupShared",
	  SHARED },
	{ "a device in use that somebody bound is refused for the use",
	  { NIC(FIRST, VFIO GROUP("5")), USE("\"pci\":\"" FIRST "\"", "HostNetwork") },
	  "HostNetwork",
	  "because" },
	{ "a record of a device on its own driver changes nothing",
	  { NIC(FIRST, BOUND GROUP("5")), RECORD(FIRST) },
	  "Available",
	  "may be claimed (IOMMU group 5)" },
};

static void bound_device_is_checked(void **state)
{
	const struct bound_case *c = *state;
	struct facts *facts = facts_of(c->lines, ARRAY_LEN(c->lines));
	struct verdict *verdicts = claimable_check_pci(facts);

	assert_string_equal(verdicts[0].reason, c->reason);
	assert_string_equal(verdicts[0].message, c->message);
	verdicts_free(verdicts, facts->pci.len);
	facts_free(facts);
}

/* Functions of one group, whose object lists them all; a sentence need not. */
static void a_large_group_is_told_in_short(void **state)
{
	struct facts *facts = facts_new();
	struct verdict *verdicts;

	for (unsigned i = 0; i < 40; i++) {
		auto_free char *line = xasprintf(
			"{\"kind\":\"pci\",\"address\":\"0000:01:%02x.0\",\"driver\":\"d\","
			"\"class\":\"020000\",\"iommuGroup\":\"5\"}",
			i);

		assert_int_equal(facts_add_line(facts, line, strlen(line), NULL), 0);
	}
	verdicts = claimable_check_pci(facts);
	for (size_t i = 0; i < 40; i++) {
		assert_string_equal(verdicts[i].reason, "GroupShared");
		assert_null(strstr(verdicts[i].message, facts->pci.items[i].address));
		assert_non_null(strstr(verdicts[i].message, " and 7 more: claim them all"));
	}
	assert_non_null(strstr(verdicts[0].message, "5 with 0000:01:01.0, 0000:01:02.0, "));
	assert_non_null(strstr(verdicts[39].message, "5 with 0000:01:00.0, 0000:01:01.0, "));
	verdicts_free(verdicts, facts->pci.len);
	facts_free(facts);
}

static void usb_is_checked(void **state)
{
	static const char *const lines[] = {
		"{\"kind\":\"usb\",\"name\":\"1-1\",\"bus\":1,\"device\":2,\"vendor\":\"0001\","
		"\"product\":\"0002\"}",
		"{\"kind\":\"usb\",\"name\":\"1-2\",\"bus\":1,\"device\":3,\"vendor\":\"0001\","
		"\"product\":\"0002\",\"hub\":true}",
		"{\"kind\":\"usb\",\"name\":\"1-3\",\"bus\":1,\"device\":4,\"vendor\":\"0001\","
		"\"product\":\"0002\"}",
		USE("\"usb\":\"1-3\",\"pci\":\"" FIRST "\"", "HostFilesystem"),
	};
	static const char *const reasons[] = { "Available", "Hub", "HostFilesystem" };
	struct facts *facts = facts_of(lines, ARRAY_LEN(lines));
	struct verdict *verdicts = claimable_check_usb(facts);

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		assert_string_equal(verdicts[i].reason, reasons[i]);
		assert_int_equal(verdicts[i].claimable, i == 0);
	}
	verdicts_free(verdicts, facts->usb.len);
	facts_free(facts);
}

/* Only what may carry disks or networks; a class that cannot be read may. */
static void usb_of_which_too_little_is_known(void **state)
{
#define USB(port, interfaces) \
	"{\"kind\":\"usb\",\"name\":\"" port "\",\"interfaces\":[" interfaces "]}"
#define INTERFACE(class_code, name) "{\"class\":\"" class_code "\",\"driver\":\"" name "\"}"
	static const char *const lines[] = {
		USB("1-1", INTERFACE("03", "usbhid") "," INTERFACE("08", "usb-storage")),
		USB("1-2", INTERFACE("03", "usbhid")),
		USB("1-3", "{\"driver\":\"odd\"}"),
		USB("1-4", INTERFACE("08", "usbfs") ",{\"class\":\"08\"}"),
		UNKNOWN("\"01\""),
	};
	static const char *const reasons[] = { "UseUnknown", "Available", "UseUnknown",
					       "Available" };
	struct facts *facts = facts_of(lines, ARRAY_LEN(lines));
	struct verdict *verdicts = claimable_check_usb(facts);

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		assert_string_equal(verdicts[i].reason, reasons[i]);
		assert_int_equal(verdicts[i].claimable, i % 2 == 1);
	}
	verdicts_free(verdicts, facts->usb.len);
	facts_free(facts);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, pci_is_checked);
	suite_rows(&suite, bounds, bound_device_is_checked);
	suite_add(&suite, "of a large group the first are named and the rest counted",
		  a_large_group_is_told_in_short, NULL);
	suite_add(&suite, "USB devices are checked by their port, hubs are refused", usb_is_checked,
		  NULL);
	suite_add(&suite, "USB devices that may be in use are not free",
		  usb_of_which_too_little_is_known, NULL);
	return suite_run(&suite, "claimable");
}
