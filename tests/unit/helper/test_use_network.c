/* Which interfaces the host cannot do without, from the routes down to the PCI function. */
#include "fake/tree/scan_tree.h"

#define NIC(name, pci)                                                \
	"sys/devices/pci0000:00/" pci "/net/" name "/flags=0x1003\n", \
		"sys/class/net/" name "->../../devices/pci0000:00/" pci "/net/" name
#define VIRTUAL(name)                                      \
	"sys/devices/virtual/net/" name "/flags=0x1003\n", \
		"sys/class/net/" name "->../../devices/virtual/net/" name
#define ON(below_path, upper)   "sys/devices/" below_path "/upper_" upper "/"
#define UPPER(name, pci, upper) ON("pci0000:00/" pci "/net/" name, upper)
#define ROUTES(lines) \
	"proc/1/net/route=Iface Destination Gateway Flags RefCnt Use Metric Mask\n" lines
#define DEFAULT(name)  name " 00000000 010200C0 0003 0 0 0 00000000\n"
#define SUBNET(name)   name " 000200C0 00000000 0001 0 0 0 00FFFFFF\n" /* 192.0.2.0/24 */
#define ROUTES6(lines) "proc/1/net/ipv6_route=" lines
#define ZERO           "00000000000000000000000000000000"
#define DEFAULT6(name) ZERO " 00 " ZERO " 00 " ZERO " 400 1 0 00000003 " name "\n"
#define LOCAL6(name) \
	"fd000000000000000000000000000002 80 " ZERO " 00 " ZERO " 0 1 0 80200001 " name "\n"
#define LINK_LOCAL6(name) \
	"fe800000000000000000000000000002 80 " ZERO " 00 " ZERO " 0 1 0 80200001 " name "\n"
#define NO_MOUNTS "proc/1/mountinfo=20 1 0:20 / / rw - tmpfs tmpfs rw\n"

#define USE(pci, reason, detail) \
	"{'kind':'use','pci':'" pci "','reason':'" reason "','detail':'" detail "'}\n"

/* clang-format off */
static struct network_case {
	const char *name;
	const char *node_address;
	const char *entries[24];
	const char *lines;
} cases[] = {
	{ "the default route's interface", NULL,
	  { NIC("eno1", "0000:01:00.0"), NIC("eno2", "0000:01:00.1"), ROUTES(DEFAULT("eno1")) },
	  USE("0000:01:00.0", "HostNetwork", "eno1 has the default route") },
	{ "IPv6 has a default route too", NULL,
	  { NIC("eno1", "0000:01:00.0"), ROUTES6(DEFAULT6("eno1")) },
	  USE("0000:01:00.0", "HostNetwork", "eno1 has the default route") },
	{ "a VLAN on a bond of two", NULL,
	  { NIC("eno1", "0000:01:00.0"), NIC("eno2", "0000:01:00.1"), VIRTUAL("bond0"),
	    VIRTUAL("bond0.100"), UPPER("eno1", "0000:01:00.0", "bond0"),
	    UPPER("eno2", "0000:01:00.1", "bond0"), ON("virtual/net/bond0", "bond0.100"),
	    ROUTES(DEFAULT("bond0.100")) },
	  USE("0000:01:00.0", "HostNetwork", "eno1 under bond0.100 has the default route")
	  USE("0000:01:00.1", "HostNetwork", "eno2 under bond0.100 has the default route") },
	{ "a bridge; what else is in it is only up", NULL,
	  { NIC("eno1", "0000:01:00.0"), NIC("eno3", "0000:02:00.0"), VIRTUAL("br0"),
	    VIRTUAL("br1"), UPPER("eno1", "0000:01:00.0", "br0"),
	    UPPER("eno3", "0000:02:00.0", "br1"), ROUTES(DEFAULT("br0")) },
	  USE("0000:01:00.0", "HostNetwork", "eno1 under br0 has the default route")
	  USE("0000:02:00.0", "InterfaceUp", "eno3 is up under br1") },
	{ "links that lead back to themselves come to an end", NULL,
	  { NIC("eno1", "0000:01:00.0"), VIRTUAL("a"), VIRTUAL("b"),
	    UPPER("eno1", "0000:01:00.0", "a"), ON("virtual/net/a", "b"), ON("virtual/net/b", "a"),
	    ROUTES(DEFAULT("b")) },
	  USE("0000:01:00.0", "HostNetwork", "eno1 under b has the default route") },
	{ "an inner port of Open vSwitch has no link to the switch's interfaces", NULL,
	  { NIC("eno1", "0000:01:00.0"), NIC("eno2", "0000:01:00.1"), VIRTUAL("ovs-system"),
	    VIRTUAL("br-ex"), UPPER("eno1", "0000:01:00.0", "ovs-system"),
	    ROUTES(DEFAULT("br-ex")) },
	  USE("0000:01:00.0", "HostNetwork", "eno1 under br-ex has the default route") },
	{ "every default route counts, the spare one too", NULL,
	  { NIC("eno1", "0000:01:00.0"), NIC("eno2", "0000:01:00.1"),
	    ROUTES(DEFAULT("eno1") DEFAULT("eno2")) },
	  USE("0000:01:00.0", "HostNetwork", "eno1 has the default route")
	  USE("0000:01:00.1", "HostNetwork", "eno2 has the default route") },
	{ "the interface with the node's address", "192.0.2.17",
	  { NIC("eno1", "0000:01:00.0"), NIC("eno2", "0000:01:00.1"),
	    ROUTES(DEFAULT("eno1") SUBNET("eno2")) },
	  USE("0000:01:00.0", "HostNetwork", "eno1 has the default route")
	  USE("0000:01:00.1", "HostNetwork", "eno2 has the node's address 192.0.2.17") },
	{ "the node's address may be of IPv6", "fd00::2",
	  { NIC("eno1", "0000:01:00.0"), NIC("eno2", "0000:01:00.1"),
	    ROUTES6(DEFAULT6("eno1") LOCAL6("eno2")) },
	  USE("0000:01:00.0", "HostNetwork", "eno1 has the default route")
	  USE("0000:01:00.1", "HostNetwork", "eno2 has the node's address fd00::2") },
	{ "a node's address that no interface has is a problem", "198.51.100.1",
	  { NIC("eno2", "0000:01:00.1"), ROUTES(SUBNET("eno2")) },
	  USE("0000:01:00.1", "InterfaceUp", "eno2 is up and has an address")
	  "{'kind':'problem','device':'','attribute':'net/route','message':'no interface has the "
	  "node's address '198.51.100.1''}\n" },
	{ "a node's address that is none is a problem", "node1",
	  { NIC("eno2", "0000:01:00.1"), ROUTES(DEFAULT("eno2")) },
	  USE("0000:01:00.1", "HostNetwork", "eno2 has the default route")
	  "{'kind':'problem','device':'','attribute':'net/route','message':'no interface has the "
	  "node's address 'node1''}\n" },
	{ "up with an address, but not the host's way out", NULL,
	  { NIC("eno1", "0000:01:00.0"), ROUTES(SUBNET("eno1")) },
	  USE("0000:01:00.0", "InterfaceUp", "eno1 is up and has an address") },
	{ "a link-local address alone is none", NULL,
	  { NIC("eno1", "0000:01:00.0"), ROUTES6(LINK_LOCAL6("eno1")) },
	  "" },
	{ "an interface that is down is free", NULL,
	  { NIC("eno1", "0000:01:00.0"), "sys/devices/pci0000:00/0000:01:00.0/net/eno1/flags=0x1002",
	    ROUTES(SUBNET("eno1")) },
	  "" },
	{ "routes that reject, are down or make no sense do not count", NULL,
	  { NIC("eno1", "0000:01:00.0"), "sys/devices/pci0000:00/0000:01:00.0/net/eno1/flags=oops",
	    ROUTES("eno1 00000000 010200C0 0200 0 0 0 00000000\n"
		   "eno1 00000000 010200C0 0201 0 0 0 00000000\n"
		   "eno1 x 010200C0 0003 0 0 0 00000000\n"
		   "eno1 00000000\n"
		   "an-interface-name-too-long 00000000 010200C0 0003 0 0 0 00000000\n") },
	  "" },
	{ "a NIC on USB names the device", NULL,
	  { "sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/net/enx0/flags=0x1003\n",
	    "sys/class/net/enx0->../../devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/net/enx0",
	    ROUTES(DEFAULT("enx0")) },
	  "{'kind':'use','pci':'0000:00:14.0','usb':'2-1','reason':'HostNetwork','detail':'enx0 has "
	  "the default route'}\n" },
};
/* clang-format on */

static void uses_match_table(void **state)
{
	const struct network_case *c = *state;
	auto_str struct str lines = STR_INIT;
	struct tree tree;

	tree_make(&tree, c->entries);
	tree_add(&tree, NO_MOUNTS);
	scan_tree(&tree, c->node_address, "use problem", &lines);
	tree_done(&tree);
	assert_string_equal(str_cstr(&lines), c->lines);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, uses_match_table);
	return suite_run(&suite, "use_network");
}
