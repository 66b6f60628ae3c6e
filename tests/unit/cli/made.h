/* made: a cluster out of objects that a test writes down, as JSON with ' for ". */
#pragma once

#include <string.h>

#include "api/json_map.h"
#include "api/object.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/model/cluster.h"
#include "cli/print/out_json.h"
#include "unit/made_json.h"

static inline void made_put(struct cluster *cluster, enum cluster_kind kind, const char *text)
{
	auto_free char *json = made_json(text);
	auto_json json_t *value = NULL;
	void *object = NULL;

	assert_int_equal(json_map_load(json, strlen(json), &value, NULL), 0);
	assert_int_equal(api_object_decode(cluster_kind(kind), value, &object, NULL), 0);
	cluster_put(cluster, kind, object);
}

/* clang-format off */
#define MADE_CONDITION(type, status, reason, message) \
	"{'type':'" type "','status':'" status "','reason':'" reason "','message':'" message "'," \
	"'lastTransitionTime':'2026-01-02T03:00:00Z'}"
#define MADE_PCI(name, node, address, more) \
	"{'metadata':{'name':'" name "'},'status':{'nodeName':'" node "','address':'" address "'," more "}}"

/* vm1: a NIC that the node needs, a card with a virtual function that a pod has, one of two
 * functions in a group, the other one, a USB controller with a hub and a stick that is claimed;
 * vm2: the same address as one of vm1, and a claim of what is not there. */
static const struct { enum cluster_kind kind; const char *json; } made_objects[] = {
	{ CLUSTER_PCIDEVICE, MADE_PCI("vm1-000000020", "vm1", "0000:00:02.0",
		"'iommuGroup':'1','kernelDriverInUse':'virtio-pci','description':'Virtio network device','conditions':["
		MADE_CONDITION("Claimable", "False", "HostNetwork", "eth0 has the default route") "]") },
	{ CLUSTER_PCIDEVICE, MADE_PCI("vm1-0000001f0", "vm1", "0000:00:1f.0",
		"'iommuGroup':'2','kernelDriverInUse':'xhci_hcd','description':'USB controller','conditions':["
		MADE_CONDITION("Claimable", "True", "Available", "") "]") },
	{ CLUSTER_PCIDEVICE, MADE_PCI("vm1-000003000", "vm1", "0000:03:00.0",
		"'iommuGroup':'5','kernelDriverInUse':'igb','description':'82576','role':'PhysicalFunction',"
		"'iommuGroupMembers':['0000:03:00.0','0000:03:00.1'],'conditions':["
		MADE_CONDITION("Claimable", "True", "GroupShared", "0000:03:00.1 must be claimed with it") "]") },
	{ CLUSTER_PCIDEVICE, MADE_PCI("vm1-000003001", "vm1", "0000:03:00.1",
		"'iommuGroup':'5','kernelDriverInUse':'igb','description':'82576',"
		"'iommuGroupMembers':['0000:03:00.0','0000:03:00.1'],'conditions':["
		MADE_CONDITION("Claimable", "True", "GroupShared", "0000:03:00.0 must be claimed with it") "]") },
	{ CLUSTER_PCIDEVICE, MADE_PCI("vm1-000003100", "vm1", "0000:03:10.0",
		"'iommuGroup':'7','kernelDriverInUse':'vfio-pci','description':'82576 VF','role':'VirtualFunction',"
		"'physicalFunction':'0000:03:00.0','resourceName':'intel.com/VF',"
		"'allocations':[{'namespace':'default','pod':'vm-a','container':'compute'}]") },
	{ CLUSTER_PCICLAIM, "{'metadata':{'name':'vm1-000003100','uid':'u1','creationTimestamp':'2026-01-02T03:00:00Z'},"
		"'spec':{'userName':'alice'},'status':{'conditions':["
		MADE_CONDITION("Ready", "True", "Ready", "lent as intel.com/VF") "]}}" },
	{ CLUSTER_USBDEVICE, "{'metadata':{'name':'vm1-1d6b-0002-001001'},'status':{'nodeName':'vm1','hub':true,"
		"'pciAddress':'0000:00:1f.0','portPath':'1-2','description':'Hub'}}" },
	{ CLUSTER_USBDEVICE, "{'metadata':{'name':'vm1-0951-1666-001005'},'status':{'nodeName':'vm1',"
		"'pciAddress':'0000:00:1f.0','portPath':'1-2.3','description':'Stick','interfaces':[{'class':'08',"
		"'subclass':'06','protocol':'50','driver':'usb-storage'}]}}" },
	{ CLUSTER_USBCLAIM, "{'metadata':{'name':'vm1-0951-1666-001005'},'status':{'conditions':["
		MADE_CONDITION("Ready", "False", "Held", "pid 7 uses it") "]}}" },
	{ CLUSTER_MDEV, "{'metadata':{'name':'vm1-11111111-2222-3333-4444-555555555555'},'status':{'nodeName':'vm1',"
		"'uuid':'11111111-2222-3333-4444-555555555555','parent':'mtty','typeName':'Dual','createdByHostdev':true}}" },
	{ CLUSTER_PCIDEVICE, MADE_PCI("vm2-000003000", "vm2", "0000:03:00.0", "'description':'82576'") },
	{ CLUSTER_PCICLAIM, "{'metadata':{'name':'vm2-000009000'},'spec':{'nodeName':'vm2','address':'0000:09:00.0'}}" },
	{ CLUSTER_SRIOV, "{'metadata':{'name':'vm1-eth3'},'spec':{'address':'0000:03:00.0','nodeName':'vm1','numVFs':1},"
		"'status':{'conditions':[" MADE_CONDITION("Ready", "False", "VFsInUse", "vm1-000003100 is claimed") "]}}" },
};
/* clang-format on */

/* Two devices of vm1 that DRA offers, a name that is no device's, and another driver's slice. */
#define MADE_SLICE                                                                                  \
	"{'metadata':{'name':'vm1-hostdev.io-pci'},'spec':{'driver':'hostdev.io','nodeName':'vm1'," \
	"'pool':{'name':'vm1'},'devices':[{'name':'pci-0000-03-10-0'},{'name':'pci-0000-03-00-1'}," \
	"{'name':'pci-0000-ff-00-0'}]}}"
#define MADE_OTHER_SLICE                                                          \
	"{'metadata':{'name':'other'},'spec':{'driver':'gpu.x','nodeName':'vm1'," \
	"'pool':{'name':'vm1'},'devices':[{'name':'pci-0000-03-00-0'}]}}"
/* @results: of MADE_RESULT(). */
#define MADE_RESOURCE_CLAIM(ns, name, results, more)                                               \
	"{'metadata':{'name':'" name "','namespace':'" ns "'},'status':{'allocation':{'devices':{" \
	"'results':[" results "]}}" more "}}"
#define MADE_RESULT(driver, pool, device) \
	"{'request':'a','driver':'" driver "','pool':'" pool "','device':'" device "'}"

static inline struct cluster *made_cluster(void)
{
	struct cluster *cluster = cluster_new();

	for (size_t i = 0; i < ARRAY_LEN(made_objects); i++)
		made_put(cluster, made_objects[i].kind, made_objects[i].json);
	return cluster;
}

SUITE_OBJECT(cluster, made_cluster(), cluster_free);
