/* Which interfaces the host cannot do without, from the routes down to the PCI function. */
#include <errno.h>

#include "agent/helper/scan/netlinks.h"
#include "agent/helper/scan/pci_scan.h"
#include "agent/helper/scan/use_scan.h"
#include "agent/helper/sys/sysfs.h"
#include "base/err.h"
#include "fake/tree/scan_tree.h"
#include "unit/syscall_fails.h"

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
#define STATE(name, pci, state) "sys/devices/pci0000:00/" pci "/net/" name "/operstate=" state "\n"
#define CARRIERS(name, pci, count) \
	"sys/devices/pci0000:00/" pci "/net/" name "/carrier_up_count=" count "\n"
#define FUNCTION(pci, driver)                                                              \
	"sys/devices/pci0000:00/" pci "/class=0x020000\n",                                 \
		"sys/devices/pci0000:00/" pci "/vendor=0x8086\n",                          \
		"sys/devices/pci0000:00/" pci "/device=0x10d3\n",                          \
		"sys/devices/pci0000:00/" pci "/driver->../../../bus/pci/drivers/" driver, \
		"sys/bus/pci/devices/" pci "->../../../devices/pci0000:00/" pci

#define TRIE(text)     "proc/1/net/fib_trie=" text
#define TRIE_DEFAULT   "  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n"
#define DEV_LINE(name) "  " name ": 1 2 3\n"
#define DEV(name)      "proc/1/net/dev=Inter-| Receive\n face |bytes\n" DEV_LINE(name)

#define NO_INTERFACES                                                                       \
	UNKNOWN_NETWORK("Interfaces", "true",                                               \
			"in /sys: 'class/net' has no interface, not even lo, although the " \
			"driver e1000e has 0000:01:00.0: a part of /sys is missing")

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
	  { NIC("eno1", "0000:01:00.0"), ROUTES(""), ROUTES6(DEFAULT6("eno1")) },
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
	    ROUTES(""), ROUTES6(DEFAULT6("eno1") LOCAL6("eno2")) },
	  USE("0000:01:00.0", "HostNetwork", "eno1 has the default route")
	  USE("0000:01:00.1", "HostNetwork", "eno2 has the node's address fd00::2") },
	{ "a node's address that no interface has may be any interface's", "198.51.100.1",
	  { NIC("eno2", "0000:01:00.1"), ROUTES(SUBNET("eno2")) },
	  UNKNOWN_NETWORK("NodeAddress", "false", "no interface has the node's address '198.51.100.1'")
	  USE("0000:01:00.1", "InterfaceUp", "eno2 is up and has an address") },
	{ "so may a node's address that is none", "node1",
	  { NIC("eno2", "0000:01:00.1"), ROUTES(DEFAULT("eno2")) },
	  UNKNOWN_NETWORK("NodeAddress", "false", "no interface has the node's address 'node1'")
	  USE("0000:01:00.1", "HostNetwork", "eno2 has the default route") },
	{ "up with an address, but not the host's way out", NULL,
	  { NIC("eno1", "0000:01:00.0"), ROUTES(SUBNET("eno1")) },
	  USE("0000:01:00.0", "InterfaceUp", "eno1 is up and has an address") },
	{ "a link-local address alone is none", NULL,
	  { NIC("eno1", "0000:01:00.0"), ROUTES(""), ROUTES6(LINK_LOCAL6("eno1")) },
	  "" },
	{ "an interface that is down is free", NULL,
	  { NIC("eno1", "0000:01:00.0"), "sys/devices/pci0000:00/0000:01:00.0/net/eno1/flags=0x1002",
	    ROUTES(SUBNET("eno1")) },
	  "" },
	{ "one whose flags say nothing may be up", NULL,
	  { NIC("eno1", "0000:01:00.0"), "sys/devices/pci0000:00/0000:01:00.0/net/eno1/flags=zz\n",
	    ROUTES(SUBNET("eno1")) },
	  UNKNOWN_NETWORK("Interfaces", "true", "in /sys: 'class/net/eno1/flags' says 'zz', which is no number") },
	{ "so may one whose flags are empty", NULL,
	  { NIC("eno1", "0000:01:00.0"), "sys/devices/pci0000:00/0000:01:00.0/net/eno1/flags=",
	    ROUTES(SUBNET("eno1")) },
	  UNKNOWN_NETWORK("Interfaces", "true", "in /sys: 'class/net/eno1/flags' says '', which is no number") },
	{ "cards whose kernel shows no interface at all may be in use", NULL,
	  { FUNCTION("0000:01:00.0", "e1000e"), "sys/class/net/", ROUTES("") }, NO_INTERFACES },
	{ "also if the folder of interfaces is missing", NULL,
	  { FUNCTION("0000:01:00.0", "e1000e"), "sys/class/net->none", ROUTES("") }, NO_INTERFACES },
	{ "a kernel without networking shows none", NULL,
	  { "sys/class/net->none", ROUTES(""), FUNCTION("0000:01:00.0", "vfio-pci"),
	    "sys/bus/pci/devices/0000:01:00.0/vfio-dev/vfio0/",
	    "sys/devices/pci0000:00/0000:02:00.0/class=0x020000\n",
	    "sys/bus/pci/devices/0000:02:00.0->../../../devices/pci0000:00/0000:02:00.0",
	    "sys/devices/pci0000:00/0000:03:00.0/class=0x010802\n",
	    "sys/devices/pci0000:00/0000:03:00.0/driver->../../../bus/pci/drivers/nvme",
	    "sys/bus/pci/devices/0000:03:00.0->../../../devices/pci0000:00/0000:03:00.0" },
	  "" },
	{ "routes that reject or are down do not count", NULL,
	  { NIC("eno1", "0000:01:00.0"), "sys/devices/pci0000:00/0000:01:00.0/net/eno1/flags=0x1002",
	    ROUTES("eno1 00000000 010200C0 0200 0 0 0 00000000\n"
		   "eno1 00000000 010200C0 0201 0 0 0 00000000\n") },
	  "" },
	{ "routes that make no sense may lead anywhere", NULL,
	  { NIC("eno1", "0000:01:00.0"),
	    ROUTES("eno1 x 010200C0 0003 0 0 0 00000000\n"
		   "eno1 00000000\n"
		   "an-interface-name-too-long 00000000 010200C0 0003 0 0 0 00000000\n") },
	  UNKNOWN_NETWORK("Routes", "true", "3 lines of net/route have another form than expected") },
	{ "no table of routes is no answer", NULL,
	  { NIC("eno1", "0000:01:00.0") },
	  UNKNOWN_NETWORK("Routes", "true", "in the proc tree: open '1/net/route': No such file or directory") },
	{ "up and connected without an address: an uplink by a route that cannot be seen", NULL,
	  { NIC("eno1", "0000:01:00.0"), STATE("eno1", "0000:01:00.0", "up"), ROUTES("") },
	  USE("0000:01:00.0", "Unknown", "eno1 is up and connected, and may carry routes that cannot be "
	      "seen: take it down (ip link set eno1 down) if it does not") },
	{ "a driver that does not know its link is taken for connected", NULL,
	  { NIC("eno1", "0000:01:00.0"), STATE("eno1", "0000:01:00.0", "unknown"), ROUTES("") },
	  USE("0000:01:00.0", "Unknown", "eno1 is up and connected, and may carry routes that cannot be "
	      "seen: take it down (ip link set eno1 down) if it does not") },
	{ "up without a cable is free", NULL,
	  { NIC("eno1", "0000:01:00.0"), STATE("eno1", "0000:01:00.0", "down"), ROUTES("") },
	  "" },
	{ "also if the driver has never found one", NULL,
	  { NIC("eno1", "0000:01:00.0"), STATE("eno1", "0000:01:00.0", "down"), CARRIERS("eno1", "0000:01:00.0", "0"),
	    ROUTES("") },
	  "" },
	{ "without the cable that it had it may be an uplink again", NULL,
	  { NIC("eno1", "0000:01:00.0"), STATE("eno1", "0000:01:00.0", "down"), CARRIERS("eno1", "0000:01:00.0", "1"),
	    ROUTES("") },
	  USE("0000:01:00.0", "Unknown", "eno1 is up and has been connected, and may be an uplink again: take it "
	      "down (ip link set eno1 down) if it is not") },
	{ "unless it is down", NULL,
	  { NIC("eno1", "0000:01:00.0"), "sys/devices/pci0000:00/0000:01:00.0/net/eno1/flags=0x1002",
	    STATE("eno1", "0000:01:00.0", "down"), CARRIERS("eno1", "0000:01:00.0", "3"), ROUTES("") },
	  "" },
	{ "how often it had one cannot be read", NULL,
	  { NIC("eno1", "0000:01:00.0"), STATE("eno1", "0000:01:00.0", "down"),
	    "sys/devices/pci0000:00/0000:01:00.0/net/eno1/carrier_up_count/", ROUTES("") },
	  UNKNOWN_NETWORK("Interfaces", "true", "in /sys: read 'eno1/carrier_up_count': Is a directory") },
	{ "how often it had one is no number", NULL,
	  { NIC("eno1", "0000:01:00.0"), STATE("eno1", "0000:01:00.0", "down"), CARRIERS("eno1", "0000:01:00.0", "zz"),
	    ROUTES("") },
	  UNKNOWN_NETWORK("Interfaces", "true", "in /sys: 'class/net/eno1/carrier_up_count' says 'zz', which is no "
			  "number") },
	{ "the default route's interface does not need a cable", NULL,
	  { NIC("eno1", "0000:01:00.0"), STATE("eno1", "0000:01:00.0", "down"), ROUTES(DEFAULT("eno1")) },
	  USE("0000:01:00.0", "HostNetwork", "eno1 has the default route") },
	{ "nor does an address", NULL,
	  { NIC("eno1", "0000:01:00.0"), STATE("eno1", "0000:01:00.0", "down"), ROUTES(SUBNET("eno1")) },
	  USE("0000:01:00.0", "InterfaceUp", "eno1 is up and has an address") },
	{ "nor one of IPv6", NULL,
	  { NIC("eno1", "0000:01:00.0"), STATE("eno1", "0000:01:00.0", "down"), ROUTES(""), ROUTES6(LOCAL6("eno1")) },
	  USE("0000:01:00.0", "InterfaceUp", "eno1 is up and has an address") },
	{ "nor a part of a bond or bridge", NULL,
	  { NIC("eno1", "0000:01:00.0"), STATE("eno1", "0000:01:00.0", "lowerlayerdown"), VIRTUAL("bond0"),
	    UPPER("eno1", "0000:01:00.0", "bond0"), ROUTES("") },
	  USE("0000:01:00.0", "InterfaceUp", "eno1 is up under bond0") },
	{ "unless another table has a default route", NULL,
	  { NIC("eno1", "0000:01:00.0"), STATE("eno1", "0000:01:00.0", "down"), ROUTES(""),
	    TRIE("Main:\n" TRIE_DEFAULT "Local:\n" TRIE_DEFAULT "Id 100:\n" TRIE_DEFAULT) },
	  USE("0000:01:00.0", "Unknown", "eno1 is up, and the default route of table 100 may go through "
	      "it: take it down (ip link set eno1 down) if it does not") },
	{ "a default route that rejects leads nowhere", NULL,
	  { NIC("eno1", "0000:01:00.0"), STATE("eno1", "0000:01:00.0", "down"), ROUTES(""),
	    TRIE("Id 100:\n     |-- 0.0.0.0\n        /0 universe UNREACHABLE\n") },
	  "" },
	{ "a proc tree without the host's interfaces is not the host's", NULL,
	  { NIC("eno1", "0000:01:00.0"), ROUTES(DEFAULT("eth0")), DEV("eth0") },
	  UNKNOWN_BOTH("Mounts", "true", "process 1 of the proc tree does not have the interface eno1: it "
		       "is not the host's") },
	{ "the host's has them", NULL,
	  { NIC("eno1", "0000:01:00.0"), ROUTES(DEFAULT("eno1")), DEV("eno10") DEV_LINE("eno1") },
	  USE("0000:01:00.0", "HostNetwork", "eno1 has the default route") },
	{ "an interface in another network namespace leaves an empty folder", NULL,
	  { FUNCTION("0000:01:00.0", "igbvf"), "sys/devices/pci0000:00/0000:01:00.0/net/", ROUTES("") },
	  USE("0000:01:00.0", "InterfaceMoved", "its interface is in another network namespace, such as a "
	      "pod's") },
	{ "a folder of interfaces that cannot be read is no answer", NULL,
	  { FUNCTION("0000:01:00.0", "igbvf"), "sys/devices/pci0000:00/0000:01:00.0/net->net", ROUTES("") },
	  UNKNOWN_NETWORK("Interfaces", "true", "in /sys: read 'bus/pci/devices/0000:01:00.0/net': Too many "
			  "levels of symbolic links") },
	{ "so does one of virtio, below its child", NULL,
	  { FUNCTION("0000:01:00.0", "virtio-pci"),
	    "sys/devices/pci0000:00/0000:01:00.0/virtio3/net/",
	    "sys/bus/virtio/devices/virtio3->../../../devices/pci0000:00/0000:01:00.0/virtio3", ROUTES("") },
	  USE("0000:01:00.0", "InterfaceMoved", "its interface is in another network namespace, such as a "
	      "pod's") },
	{ "and an RDMA device", NULL,
	  { FUNCTION("0000:01:00.0", "mlx5_core"),
	    "sys/devices/pci0000:00/0000:01:00.0/infiniband/", ROUTES("") },
	  USE("0000:01:00.0", "InterfaceMoved", "its interface is in another network namespace, such as a "
	      "pod's") },
	{ "and one of a subfunction, whose device is on the auxiliary bus", NULL,
	  { FUNCTION("0000:01:00.0", "mlx5_core"), NIC("eno1", "0000:01:00.0"), ROUTES(""),
	    "sys/devices/pci0000:00/0000:01:00.0/net/eno1/flags=0x1002\n",
	    "sys/devices/pci0000:00/0000:01:00.0/mlx5_core.sf.4/net/",
	    "sys/bus/auxiliary/devices/mlx5_core.sf.4->../../../devices/pci0000:00/0000:01:00.0/mlx5_core.sf.4" },
	  USE("0000:01:00.0", "InterfaceMoved", "its interface is in another network namespace, such as a "
	      "pod's") },
	{ "one of a subfunction that the node has is the function's", NULL,
	  { NIC("eno1", "0000:01:00.0/mlx5_core.sf.4"), ROUTES(DEFAULT("eno1")) },
	  USE("0000:01:00.0", "HostNetwork", "eno1 has the default route") },
	{ "auxiliary devices of nothing that can be offered do not matter", NULL,
	  { "sys/devices/virtual/odd/odd.net.0/net/",
	    "sys/bus/auxiliary/devices/odd.net.0->../../../devices/virtual/odd/odd.net.0", ROUTES("") },
	  "" },
	{ "devices on the auxiliary bus that cannot be listed are no answer", NULL,
	  { "sys/bus/auxiliary/devices->devices", ROUTES("") },
	  UNKNOWN_NETWORK("Interfaces", "true", "in /sys: list 'bus/auxiliary/devices': Too many levels of "
			  "symbolic links") },
	{ "and one on USB", NULL,
	  { "sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/net/",
	    "sys/bus/usb/devices/2-1:1.0->../../../devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0",
	    ROUTES("") },
	  "{'kind':'use','pci':'0000:00:14.0','usb':'2-1','reason':'InterfaceMoved','detail':'its "
	  "interface is in another network namespace, such as a pod's'}\n" },
	{ "a card on a driver of UIO that has no node yet is nobody's", NULL,
	  { FUNCTION("0000:01:00.0", "uio_pci_generic"), ROUTES("") },
	  "" },
	{ "a card whose driver cannot be read may have any", NULL,
	  { FUNCTION("0000:01:00.0", TREE_UNREADABLE), ROUTES("") },
	  USE("0000:01:00.0", "Unknown", "its driver cannot be read") },
	{ "also one whose interface is in another network namespace", NULL,
	  { FUNCTION("0000:01:00.0", TREE_UNREADABLE), "sys/devices/pci0000:00/0000:01:00.0/net/", ROUTES("") },
	  USE("0000:01:00.0", "InterfaceMoved", "its interface is in another network namespace, such as a "
	      "pod's")
	  USE("0000:01:00.0", "Unknown", "its driver cannot be read") },
	{ "one that a program drives may be in use", NULL,
	  { FUNCTION("0000:01:00.0", "uio_pci_generic"),
	    "sys/devices/pci0000:00/0000:01:00.0/uio/uio3/dev=242:3\n", ROUTES("") },
	  USE("0000:01:00.0", "Unknown", "a program may use it through /dev/uio3: unbind its driver if none does") },
	{ "a virtual machine may have a vDPA device of it, although it shows an interface that is down", NULL,
	  { FUNCTION("0000:01:00.0", "mlx5_core"), NIC("eno1", "0000:01:00.0"),
	    "sys/devices/pci0000:00/0000:01:00.0/net/eno1/flags=0x1002\n",
	    "sys/devices/pci0000:00/0000:01:00.0/vdpa0/driver->../../../../bus/vdpa/drivers/vhost_vdpa",
	    "sys/bus/vdpa/devices/vdpa0->../../../devices/pci0000:00/0000:01:00.0/vdpa0", ROUTES("") },
	  USE("0000:01:00.0", "Unknown", "a program may have its vDPA device vdpa0: delete that (vdpa dev del "
	      "vdpa0) if none does") },
	{ "a vDPA device whose driver cannot be read may have any", NULL,
	  { FUNCTION("0000:01:00.0", "mlx5_core"), NIC("eno1", "0000:01:00.0"),
	    "sys/devices/pci0000:00/0000:01:00.0/net/eno1/flags=0x1002\n",
	    "sys/devices/pci0000:00/0000:01:00.0/vdpa0/driver->" TREE_UNREADABLE,
	    "sys/bus/vdpa/devices/vdpa0->../../../devices/pci0000:00/0000:01:00.0/vdpa0", ROUTES("") },
	  "{'kind':'unknown','question':'Interfaces','unread':true,'pciClasses':['02','0c03','0c04','0c06','0d'],"
	  "'usbClasses':['02','0a','e0','ff'],'detail':'in /sys: 'bus/vdpa/devices/vdpa0/driver' has more than 1023 "
	  "bytes'}\n" },
	{ "a vDPA device that nobody drives, or the host by an interface or a disk, is in nobody's hands", NULL,
	  { FUNCTION("0000:01:00.0", "mlx5_core"), FUNCTION("0000:02:00.0", "mlx5_core"),
	    "sys/devices/pci0000:00/0000:01:00.0/vdpa0/",
	    "sys/bus/vdpa/devices/vdpa0->../../../devices/pci0000:00/0000:01:00.0/vdpa0",
	    "sys/devices/pci0000:00/0000:02:00.0/vdpa1/driver->../../../../bus/vdpa/drivers/virtio_vdpa",
	    "sys/bus/vdpa/devices/vdpa1->../../../devices/pci0000:00/0000:02:00.0/vdpa1",
	    "sys/devices/vdpasim_net/vdpa2/driver->../../../bus/vdpa/drivers/vhost_vdpa",
	    "sys/bus/vdpa/devices/vdpa2->../../../devices/vdpasim_net/vdpa2", ROUTES("") },
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
	tree_add(&tree, PROC_MOUNTS);
	scan_tree(&tree, c->node_address, "use unknown", &lines);
	tree_done(&tree);
	assert_string_equal(str_cstr(&lines), c->lines);
}

/* As kernfs does it, a folder counts its subfolders, listed or not. On /dev/shm, since some file
 * systems do not count. */
static void interfaces_that_are_not_listed_are_counted(void **state)
{
	static const char *const entries[] = {
		FUNCTION("0000:01:00.0", "mlx4_core"),
		NIC("eno1", "0000:01:00.0"),
		"sys/devices/pci0000:00/0000:01:00.0/net/eno1/flags=0x1002\n",
		"sys/devices/pci0000:00/0000:01:00.0/net/.a/",
		"sys/devices/pci0000:00/0000:01:00.0/net/.b/",
		PROC_OF_HOST,
		NULL
	};
	auto_str struct str lines = STR_INIT;

	assert_int_equal(setenv("TMPDIR", "/dev/shm", 1), 0);
	scan_entries(entries, NULL, "use unknown", &lines);
	assert_int_equal(unsetenv("TMPDIR"), 0);
	assert_string_equal(str_cstr(&lines),
			    USE("0000:01:00.0", "InterfaceMoved",
				"2 of its interfaces are in other network namespaces, such as "
				"pods'"));
}

/* As while the kernel takes it away. */
static bool leaves_out_what_goes(void *arg)
{
	struct netlinks *links = netlinks_new(*(int *)arg);
	bool none = netlinks_len(links) == 0 && sysfs_failure()->code == 0;

	links = netlinks_free(links);
	return none;
}

static void an_interface_that_goes_is_none(void **state)
{
	static const char *const entries[] = { NIC("eno1", "0000:01:00.0"), NULL };
	struct netlinks *links;
	struct tree tree;
	int sysfs_fd;

	(void)state;
	tree_make(&tree, entries);
	sysfs_fd = sysfs_open_dir(tree.fd, "sys");
	links = netlinks_new(sysfs_fd);
	assert_int_equal(netlinks_len(links), 1);
	links = netlinks_free(links);
	assert_true(syscall_fails_for(SYS_read, EINVAL, leaves_out_what_goes, &sysfs_fd));
	close(sysfs_fd);
	tree_done(&tree);
}

/* As a driver that is about to take the card: its link is there before its interface. */
static void an_interface_that_comes_is_awaited(void **state)
{
	static const char *const entries[] = { FUNCTION("0000:01:00.0", "e1000e"), NULL };
	struct pci_functions functions = { 0 };
	struct tree tree;
	int sysfs_fd;
	pid_t child;

	(void)state;
	tree_make(&tree, entries);
	sysfs_fd = sysfs_open_dir(tree.fd, "sys");
	use_add_function(sysfs_fd, "0000:01:00.0", &functions);
	child = fork();
	if (child == 0) {
		(void)usleep(100 * 1000);
		_exit(mkdirat(sysfs_fd, "bus/pci/devices/0000:01:00.0/net", 0755) == 0 ? 0 : 1);
	}
	assert_true(use_network_await(sysfs_fd, &functions.items[0]));
	assert_null(use_network_unseen(sysfs_fd, &functions.items[0]));
	assert_int_equal(waitpid(child, NULL, 0), child);
	pci_functions_done(&functions);
	close(sysfs_fd);
	tree_done(&tree);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, uses_match_table);
	suite_add(&suite, "interfaces that are not listed are counted",
		  interfaces_that_are_not_listed_are_counted, NULL);
	suite_add(&suite, "an interface that goes is none", an_interface_that_goes_is_none, NULL);
	suite_add(&suite, "an interface that comes is awaited", an_interface_that_comes_is_awaited,
		  NULL);
	return suite_run(&suite, "use_network");
}
