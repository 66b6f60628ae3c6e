/* network_card: the rules of SRIOVNetworkDevices. */
#include "unit/admission/cluster.h"

#define CARD "node1-000003000"
#define VF   "node1-000003100"

/* clang-format off */
#define NIC(meta, spec, status) \
	"{'metadata':{'name':'node1-eth3'" meta "},'spec':{'nodeName':'node1'," spec "},'status':{" status "}}"
#define VFS(n) NIC("", "'address':'0000:03:00.0','numVFs':" n, "")
#define NEEDED(n, more) NIC("", "'address':'0000:00:02.0','numVFs':" n more, "")
#define SET(what) ",'virtualFunctions':[{'index':0," what "}]"
#define CLAIM(name) OBJECT("PCIDeviceClaim", name, "")
#define SEEN(name, spec) OBJECT("SRIOVNetworkDevice", name, ",'spec':{" spec "}")
#define OTHER(name, node) SEEN(name, "'nodeName':'" node "','address':'0000:03:00.0','numVFs':0")
#define LABELLED(name) "{'kind':'SRIOVNetworkDevice','metadata':{'name':'" name "','labels':{'nodename':'node1'}},'spec':{'address':'0000:03:00.0'}}"
#define SAYS(type, reason) "'conditions':[{'type':'" type "','status':'False','reason':'" reason "'}]"
#define DELETING ",'deletionTimestamp':'2026-01-01T00:00:00Z'"

static struct cluster_case creations[] = {
	{ .name = "a card that can be divided", .object = VFS("7") },
	{ .name = "more than it can make", .object = VFS("8"),
	  .refused = "SRIOVNetworkDevice 'node1-eth3': spec.numVFs is 8, but 0000:03:00.0 supports 7 virtual functions" },
	{ .name = "a device that makes none", .object = NIC("", "'address':'0000:01:00.0','numVFs':1", ""),
	  .refused = "0000:01:00.0 does not support virtual functions" },
	{ .name = "a card that is not known", .object = NIC("", "'address':'0000:09:00.0','numVFs':1", "") },
	{ .name = "a card that is claimed", .more = CLAIM(CARD), .object = VFS("1"), .refused = "PCIDeviceClaim '" CARD "' passes the "
	"card itself through" },
	{ .name = "a card that has an object", .more = OTHER("node1-eth4", "node1"), .object = VFS("0"),
	  .refused = "SRIOVNetworkDevice 'node1-eth3': SRIOVNetworkDevice 'node1-eth4' is about the same card, 0000:03:00.0 of node node1: change that one" },
	{ .name = "one whose label names the node", .more = LABELLED("node1-eth4"), .object = VFS("0"), .refused = "'node1-eth4' is about the same card" },
	{ .name = "the label of this one names the node", .more = OTHER("node1-eth4", "node1"), .object = LABELLED("node1-eth3"), .refused = "'node1-eth4' is about" },
	{ .name = "the same address of another node", .more = OTHER("node2-eth4", "node2"), .object = VFS("0") },
	{ .name = "another card of the node", .more = SEEN("node1-eth4", "'nodeName':'node1','address':'0000:07:00.0'"), .object = VFS("0") },
	{ .name = "the name is there already, as the API server says", .more = OTHER("node1-eth3", "node1"), .object = VFS("0") },
	{ .name = "one that is being deleted", .object = VFS("0"),
	  .more = "{'kind':'SRIOVNetworkDevice','metadata':{'name':'node1-eth4'" DELETING "},'spec':{'nodeName':'node1','address':'0000:03:00.0'}}" },
	{ .name = "neither says which card it is about", .more = SEEN("node1-eth4", "'nodeName':'node1'"), .object = NIC("", "'numVFs':0", "") },
	{ .name = "settings of a function that there is not", .warned = "index 3, which has no effect with numVFs 2",
	  .object = NIC("", "'address':'0000:03:00.0','numVFs':2,'virtualFunctions':[{'index':1},{'index':3}]", "") },
};

static struct cluster_case updates[] = {
	{ .name = "none to some", .old = VFS("0"), .object = VFS("4") },
	{ .name = "some to none", .old = VFS("4"), .object = VFS("0") },
	{ .name = "none to too many", .old = VFS("0"), .object = VFS("70000"), .refused = "supports 7" },
	{ .name = "a number that was too large already may stay", .old = VFS("9"), .object = VFS("9") },
	{ .name = "some to none while one is claimed", .more = CLAIM(VF), .old = VFS("4"), .object = VFS("0"),
	  .refused = "PCIDeviceClaim '" VF "' has one of its virtual functions, and all of them would be removed: delete" },
	{ .name = "some to more while one is claimed", .more = CLAIM(VF), .old = VFS("4"), .object = VFS("5"),
	  .refused = "PCIDeviceClaim '" VF "'" },
	{ .name = "one whose device is away counts by the card's list", .more = CLAIM("away"),
	  .old = NIC("", "'address':'0000:03:00.0','numVFs':2", "'vfPCIDevices':['x','away']"), .object = VFS("0"),
	  .refused = "PCIDeviceClaim 'away'" },
	{ .name = "no change while one is claimed", .more = CLAIM(VF), .old = VFS("4"), .object = VFS("4") },
	{ .name = "another device is claimed", .more = CLAIM("node1-000001000"), .old = VFS("4"), .object = VFS("0") },
	{ .name = "a card that is claimed", .more = CLAIM(CARD), .old = VFS("0"), .object = VFS("1"), .refused = "passes the card itself through" },
	{ .name = "a card that the node needs", .old = NIC("", "'address':'0000:00:02.0','numVFs':1", ""),
	  .object = NIC("", "'address':'0000:00:02.0','numVFs':0", ""), .refused = "HostNetwork: eth0 has the default route" },
	{ .name = "a setting of a card that the node needs", .old = NEEDED("1", ""), .object = NEEDED("1", SET("'vlan':5")),
	  .refused = "HostNetwork: eth0 has the default route: the number of its virtual functions and their settings cannot be changed" },
	{ .name = "another setting of a card that the node needs", .old = NEEDED("1", SET("'trust':'off'")),
	  .object = NEEDED("1", SET("'trust':'on'")), .refused = "HostNetwork" },
	{ .name = "no other setting of a card that the node needs", .old = NEEDED("1", SET("'vlan':5")),
	  .object = "{'metadata':{'name':'node1-eth3','labels':{'a':'b'}},'spec':{'nodeName':'node1','address':'0000:00:02.0','numVFs':1" SET("'vlan':5") "}}" },
	{ .name = "a setting of a card that the node needs is taken back", .old = NEEDED("1", SET("'vlan':5")), .object = NEEDED("1", "") },
	{ .name = "a setting of another card", .old = VFS("1"), .object = VFS("1" SET("'vlan':5")) },
	{ .name = "a change to a card that has an object", .more = OTHER("node1-eth4", "node1"), .old = NIC("", "'address':'0000:09:00.0','numVFs':0", ""),
	  .object = VFS("0"), .refused = "'node1-eth4' is about the same card" },
	{ .name = "a change to a node whose card has an object", .more = OTHER("node1-eth4", "node1"),
	  .old = "{'metadata':{'name':'node1-eth3'},'spec':{'nodeName':'node2','address':'0000:03:00.0','numVFs':0}}", .object = VFS("0"),
	  .refused = "'node1-eth4' is about the same card" },
	{ .name = "one of two that are there already", .more = OTHER("node1-eth4", "node1"), .old = VFS("1"), .object = VFS("2") },
	{ .name = "one that is being deleted", .more = CLAIM(VF), .old = VFS("4"),
	  .object = NIC(DELETING, "'address':'0000:03:00.0','numVFs':0", "") },
};

static struct cluster_case deletions[] = {
	{ .name = "a card whose functions nobody has: they stay", .warned = "its 2 virtual functions stay on the card",
	  .old = NIC("", "'address':'0000:03:00.0','numVFs':2", "'vfAddresses':['0000:03:10.0','0000:03:10.2']") },
	{ .name = "a card without functions", .old = VFS("0") },
	{ .name = "a card with a claimed function", .more = CLAIM(VF), .old = VFS("4"),
	  .refused = "PCIDeviceClaim '" VF "' has one of its virtual functions: delete that claim first" },
	{ .name = "a second object of a card with a claimed function", .more = CLAIM(VF), .old = NIC("", "'address':'0000:03:00.0','numVFs':4", SAYS("Accepted", "Duplicate")) },
	{ .name = "one that is not Ready for that", .more = CLAIM(VF), .old = NIC("", "'address':'0000:03:00.0','numVFs':4", SAYS("Ready", "Duplicate")) },
	{ .name = "one that is not Ready for another reason", .more = CLAIM(VF), .old = NIC("", "'address':'0000:03:00.0','numVFs':4", SAYS("Ready", "Busy")),
	  .refused = "PCIDeviceClaim '" VF "'" },
	{ .name = "a card with a claimed function of a node that is gone", .more = CLAIM("away"),
	  .old = "{'metadata':{'name':'x'},'spec':{'nodeName':'node3'},'status':{'vfPCIDevices':['away']}}" },
};
/* clang-format on */

static void fill(struct cluster_case *rows, size_t len, enum admission_operation operation)
{
	for (size_t i = 0; i < len; i++) {
		rows[i].operation = operation;
		rows[i].resource = "sriovnetworkdevices";
	}
}

int main(void)
{
	struct suite suite = { 0 };

	fill(creations, ARRAY_LEN(creations), ADMISSION_CREATE);
	fill(updates, ARRAY_LEN(updates), ADMISSION_UPDATE);
	fill(deletions, ARRAY_LEN(deletions), ADMISSION_DELETE);
	suite_fixture(&suite, &cluster_fixture);
	suite_rows(&suite, creations, cluster_answers_as_the_table_says);
	suite_rows(&suite, updates, cluster_answers_as_the_table_says);
	suite_rows(&suite, deletions, cluster_answers_as_the_table_says);
	return suite_run(&suite, "network_card");
}
