/* pci_claim: each rule of PCIDeviceClaims, what it refuses and what it lets through. */
#include "unit/admission/cluster.h"

#define RESOURCE "pcideviceclaims"
#define NIC      "node1-000001000"
#define NIC2     "node2-000001000"
#define GPU      "node1-000002000"
#define AUDIO    "node1-000002001"
#define CARD     "node1-000003000"
#define VF       "node1-000003100"
#define HC       "node1-000000140"

/* clang-format off */
#define CLAIM(name, spec) OBJECT("PCIDeviceClaim", name, ",'spec':{" spec "}")
#define CLAIM_META(name, meta) "{'kind':'PCIDeviceClaim','metadata':{'name':'" name "'," meta "}}"
#define NOTE(name, key, value) CLAIM_META(name, "'annotations':{'" key "':'" value "'}")
#define OVERRIDE(name) NOTE(name, "hostdev.io/allow-host-critical", "true")
#define NAMED(name, resource) NOTE(name, "pcidevice.harvesterhci.io/override-resource-name", resource)
#define SKIP(name)     NOTE(name, "pcidevices.harvesterhci.io/skip-vfio-binding", "true")
#define OWNED(name, meta, user) "{'kind':'PCIDeviceClaim','metadata':{'name':'" name "'" meta "},'spec':{'userName':'" user "'}}"
#define DELETED ",'deletionTimestamp':'2026-01-01T00:00:00Z'"
#define MARKED  ",'finalizers':['wrangler.cattle.io/PCIDeviceClaimOnRemove']"
#define SKIPPED ",'annotations':{'pcidevices.harvesterhci.io/skip-vfio-binding':'true'}"
#define OWNER(kind, name, uid) \
	"'ownerReferences':[{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'" kind "','name':'" name \
	"','uid':'" uid "'}]"
#define VM(name, spec, devices) \
	"{'kind':'VirtualMachine','metadata':{'name':'" name "','namespace':'default'},'spec':{" spec \
	"'template':{'spec':{'domain':{'devices':{'hostDevices':[" devices "]}}}}}}"
#define GIVEN(text) \
	"{'kind':'VirtualMachine','metadata':{'name':'web','namespace':'default','annotations':{" \
	"'harvesterhci.io/deviceAllocationDetails':'" text "'}}}"
#define POD_HAS(name) PCI(name, "node1", "0000:01:00.0", "1", "'0000:01:00.0'", "vfio-pci", \
	"'allocations':[{'namespace':'default','pod':'launcher'}]," AVAILABLE)

#define WORDS50  "fifty bytes of the words that an agent may say now "
#define WORDS200 WORDS50 WORDS50 WORDS50 WORDS50
#define SAID(words) PCI(NIC, "node1", "0000:01:00.0", "1", "", "x", CLAIMABLE("False", "HostBridge", words))
#define MEMBER(n, driver) PCI("node1-00000a00" #n, "node1", "0000:0a:00." #n, "11", TEN, driver, SHARED)
#define TEN "'0000:0a:00.0','0000:0a:00.1','0000:0a:00.2','0000:0a:00.3','0000:0a:00.4'"
#define LONG_DRIVER "a_driver_of_forty_characters_is_no_wonder"
#define MANY MEMBER(0, "x") MEMBER(1, LONG_DRIVER) MEMBER(2, LONG_DRIVER) MEMBER(3, LONG_DRIVER) MEMBER(4, LONG_DRIVER)

static struct cluster_case creations[] = {
	{ "what the agent says is told whole", SAID(WORDS200), ADMISSION_CREATE, RESOURCE, CLAIM(NIC, ""), NULL, NULL, false,
	  WORDS200 ": claim a device behind it instead", NULL },
	{ "of what is too long the way out is told", SAID(WORDS200 WORDS200), ADMISSION_CREATE, RESOURCE, CLAIM(NIC, ""), NULL,
	  NULL, false, "...: claim a device behind it instead", NULL },
	{ "one with virtual functions says itself what to do", PCI(NIC, "node1", "0000:01:00.0", "1", "", "x",
	  CLAIMABLE("False", "VirtualFunctionsActive", "4 exist: set it to 0")), ADMISSION_CREATE, RESOURCE, CLAIM(NIC, ""), NULL, NULL,
	  false, "VirtualFunctionsActive: 4 exist: set it to 0", NULL },
	{ "a claim that exists already has no warnings: it is not created", CLAIM_META("node1-000002000", "'uid':'c'"),
	  ADMISSION_CREATE, RESOURCE, CLAIM("node1-000002000", ""), NULL, NULL, false, NULL, NULL },
	{ "of a long list likewise", MANY, ADMISSION_CREATE, RESOURCE, CLAIM("node1-00000a000", ""), NULL, NULL, false, NULL,
	  "...: claim them too, or set spec.includeIOMMUGroup" },
	{ "a claim with the name of a device is allowed", NULL, ADMISSION_CREATE, RESOURCE, CLAIM(NIC, ""), NULL,
	  NULL, false, NULL, NULL },
	{ "a name that is no device's is refused", NULL, ADMISSION_CREATE, RESOURCE, CLAIM("nic1", ""), NULL,
	  NULL, false, "PCIDeviceClaim 'nic1': there is no PCIDevice of this name", NULL },
	{ "a USB device is no PCI device", OBJECT("USBDevice", "node1-stick", ",'status':{'nodeName':'node1'}"), ADMISSION_CREATE,
	  RESOURCE, CLAIM("node1-stick", ""), NULL, NULL, false, "is a USBDevice: create a USBDeviceClaim", NULL },
	{ "its address and node may be said", NULL, ADMISSION_CREATE, RESOURCE,
	  CLAIM(NIC, "'address':'0000:01:00.0','nodeName':'node1'"), NULL, NULL, false, NULL, NULL },
	{ "another address is refused", NULL, ADMISSION_CREATE, RESOURCE, CLAIM(NIC, "'address':'0000:09:00.0'"),
	  NULL, NULL, false, "spec.address is '0000:09:00.0', but the PCIDevice of this name has '0000:01:00.0'", NULL },
	{ "another node is refused", NULL, ADMISSION_CREATE, RESOURCE, CLAIM(NIC, "'nodeName':'node2'"), NULL,
	  NULL, false, "spec.nodeName is 'node2'", NULL },
	{ "a driver that its agent may not allow is told", NULL, ADMISSION_CREATE, RESOURCE, CLAIM(NIC, "'driver':'vfio-pcj'"),
	  NULL, NULL, false, NULL, "spec.driver is 'vfio-pcj' in place of vfio-pci: the claim is refused with the reason "
	  "DriverNotAllowed unless the agent of node node1 has --vfio-driver vfio-pcj" },
	{ "the one that all agents allow is not", NULL, ADMISSION_CREATE, RESOURCE, CLAIM(NIC, "'driver':'vfio-pci'"),
	  NULL, NULL, false, NULL, NULL },
	{ "a name for its resource that a kubelet takes is allowed", NULL, ADMISSION_CREATE, RESOURCE,
	  NAMED(NIC, "vendor.com/NIC"), NULL, NULL, false, NULL, NULL },
	{ "one that is no name is refused, with what a name looks like", NULL, ADMISSION_CREATE, RESOURCE,
	  NAMED(NIC, "not a name!!"), NULL, NULL, false,
	  "override-resource-name is 'not a name!!', but kubelets refuse that resource name: it must be DOMAIN/NAME", NULL },
	{ "so is one that is a resource of the kubelet itself", NULL, ADMISSION_CREATE, RESOURCE, NAMED(NIC, "cpu"), NULL,
	  NULL, false, "is 'cpu', but kubelets refuse", NULL },
	{ "so is one of KubeVirt's", NULL, ADMISSION_CREATE, RESOURCE, NAMED(NIC, "devices.kubevirt.io/kvm"), NULL,
	  NULL, false, "devices.kubevirt.io is KubeVirt's own domain", NULL },
	{ "its device may be its owner", NULL, ADMISSION_CREATE, RESOURCE,
	  CLAIM_META(NIC, OWNER("PCIDevice", NIC, "u-" NIC)), NULL, NULL, false, NULL, NULL },
	{ "another owner is refused", NULL, ADMISSION_CREATE, RESOURCE,
	  CLAIM_META(NIC, OWNER("PCIDevice", NIC2, "u-" NIC2)), NULL, NULL, false,
	  "ownerReferences names PCIDevice '" NIC2 "'", NULL },
	{ "an owner of an earlier time is refused", NULL, ADMISSION_CREATE, RESOURCE,
	  CLAIM_META(NIC, OWNER("PCIDevice", NIC, "old")), NULL, NULL, false, "the uid of an earlier PCIDevice", NULL },
	{ "what the node needs is refused", NULL, ADMISSION_CREATE, RESOURCE, CLAIM("node1-000000020", ""), NULL,
	  NULL, false, "HostNetwork: eth0 has the default route: claim another device; a user with the verb 'override'", NULL },
	{ "and is allowed with the annotation", NULL, ADMISSION_CREATE, RESOURCE, OVERRIDE("node1-000000020"), NULL,
	  NULL, false, NULL, "the node loses the device with this claim, and needs it: HostNetwork: eth0 has the default route" },
	{ "a value that is not \"true\" is no override", NULL, ADMISSION_CREATE, RESOURCE,
	  NOTE("node1-000000020", "hostdev.io/allow-host-critical", "yes"), NULL, NULL, false,
	  "HostNetwork: eth0 has the default route",
	  "the annotation hostdev.io/allow-host-critical is 'yes' and has no effect: set it to \"true\"" },
	{ "an annotation of ours that is not known is told", NULL, ADMISSION_CREATE, RESOURCE,
	  NOTE(NIC, "hostdev.io/allow-host-critcal", "true"), NULL, NULL, false, NULL,
	  "the annotation hostdev.io/allow-host-critcal has no effect: did you mean hostdev.io/allow-host-critical?" },
	{ "so is one of Harvester's domain for a device", NULL, ADMISSION_CREATE, RESOURCE,
	  NOTE(NIC, "pcidevice.harvesterhci.io/overide-resource-name", "vendor.com/NIC"), NULL, NULL, false, NULL,
	  "the annotation pcidevice.harvesterhci.io/overide-resource-name has no effect: did you mean pcidevice.harvesterhci.io/override-resource-name?" },
	{ "and of its domain for devices", NULL, ADMISSION_CREATE, RESOURCE,
	  NOTE(NIC, "pcidevices.harvesterhci.io/skip-vfio-bindng", "true"), NULL, NULL, false, NULL,
	  "the annotation pcidevices.harvesterhci.io/skip-vfio-bindng has no effect: did you mean pcidevices.harvesterhci.io/skip-vfio-binding?" },
	{ "one that is like none of them is told", NULL, ADMISSION_CREATE, RESOURCE, NOTE(NIC, "hostdev.io/x", "true"), NULL, NULL,
	  false, NULL, "the annotation hostdev.io/x has no effect: hostdev has no such annotation of a claim" },
	{ "another one of Harvester's is not", NULL, ADMISSION_CREATE, RESOURCE,
	  NOTE(NIC, "harvesterhci.io/description", "x"), NULL, NULL, false, NULL, NULL },
	{ "one of somebody else is not", NULL, ADMISSION_CREATE, RESOURCE, NOTE(NIC, "example.com/x", "yes"), NULL, NULL,
	  false, NULL, NULL },
	{ "one of ours with another domain is told, with the right one", NULL, ADMISSION_CREATE, RESOURCE,
	  NOTE(NIC, "pcidevices.harvesterhci.io/override-resource-name", "vendor.com/NIC"), NULL, NULL, false, NULL,
	  "override-resource-name has no effect: set pcidevice.harvesterhci.io/override-resource-name" },
	{ "one that counts with any value is told, if it looks as if it did not", NULL, ADMISSION_CREATE, RESOURCE,
	  NOTE(NIC, "pcidevices.harvesterhci.io/skip-vfio-binding", "false"), NULL, NULL, false, NULL,
	  "skip-vfio-binding is 'false' and has its effect nevertheless: remove it" },
	{ "an empty name of a resource is told", NULL, ADMISSION_CREATE, RESOURCE,
	  NOTE(NIC, "pcidevice.harvesterhci.io/override-resource-name", ""), NULL, NULL, false, NULL,
	  "the annotation pcidevice.harvesterhci.io/override-resource-name is empty and has no effect: set a resource name" },
	{ "with \"true\" it is not", NULL, ADMISSION_CREATE, RESOURCE, SKIP(NIC), NULL, NULL, false, NULL, NULL },
	{ "what KubeVirt cannot parse is refused", PCI(NIC, "node1", "10000:01:00.0", "1", "", "x",
	  CLAIMABLE("False", "WideDomain", "its PCI domain 10000")), ADMISSION_CREATE, RESOURCE, CLAIM(NIC, ""), NULL, NULL,
	  false, "WideDomain: its PCI domain 10000: claim another device; a user with the verb 'override'", NULL },
	{ "and is allowed with the annotation, without a word of the node", PCI(NIC, "node1", "10000:01:00.0", "1", "", "x",
	  CLAIMABLE("False", "WideDomain", "its PCI domain 10000")), ADMISSION_CREATE, RESOURCE, OVERRIDE(NIC), NULL, NULL,
	  false, NULL, "no virtual machine can have the device: WideDomain" },
	{ "what is in no group is refused", NULL, ADMISSION_CREATE, RESOURCE, CLAIM("node1-000005000", ""), NULL,
	  NULL, false, "NoIOMMU: no IOMMU", NULL },
	{ "no annotation makes a group", NULL, ADMISSION_CREATE, RESOURCE, OVERRIDE("node1-000005000"), NULL,
	  NULL, false, "NoIOMMU", NULL },
	{ "what is in no group is refused without a condition too", NULL, ADMISSION_CREATE, RESOURCE,
	  CLAIM("node1-000006000", ""), NULL, NULL, false, "0000:06:00.0 is in no IOMMU group: switch the IOMMU on", NULL },
	{ "a reason that is not known refuses", PCI(NIC, "node1", "0000:01:00.0", "1", "", "x",
	  CLAIMABLE("False", "Haunted", "by ghosts")), ADMISSION_CREATE, RESOURCE, OVERRIDE(NIC), NULL, NULL, false,
	  "Haunted: by ghosts", NULL },
	{ "what is in use is waited for", NULL, ADMISSION_CREATE, RESOURCE, CLAIM("node1-000004000", ""), NULL,
	  NULL, false, NULL, "waits until this ends: nvme0n1 is mounted at /mnt" },
	{ "a USB device of the controller is claimed", OBJECT("USBDeviceClaim", STICK, ""), ADMISSION_CREATE,
	  RESOURCE, CLAIM(HC, ""), NULL, NULL, false, "USBDeviceClaim '" STICK "' has a device of", NULL },
	{ "a claim whose USB device is away counts by its status", OBJECT("USBDeviceClaim", "gone",
	  ",'status':{'nodeName':'node1','pciAddress':'0000:00:14.0'}"), ADMISSION_CREATE, RESOURCE, CLAIM(HC, ""),
	  NULL, NULL, false, "USBDeviceClaim 'gone'", NULL },
	{ "the same address of another node does not", OBJECT("USBDeviceClaim", "gone",
	  ",'status':{'nodeName':'node2','pciAddress':'0000:00:14.0'}"), ADMISSION_CREATE, RESOURCE, CLAIM(HC, ""),
	  NULL, NULL, false, NULL, NULL },
	{ "a group with a USB controller of claimed devices", OBJECT("USBDeviceClaim", STICK, ""), ADMISSION_CREATE,
	  RESOURCE, CLAIM("node1-000000142", "'includeIOMMUGroup':true"), NULL, NULL, false, "USB controller 0000:00:14.0", NULL },
	{ "its neighbour alone is no controller", OBJECT("USBDeviceClaim", STICK, ""), ADMISSION_CREATE, RESOURCE,
	  CLAIM("node1-000000142", ""), NULL, NULL, false, NULL, "GroupShared" },
	{ "a virtual function of it is claimed", CLAIM(VF, ""), ADMISSION_CREATE, RESOURCE, CLAIM(CARD, ""), NULL,
	  NULL, false, "PCIDeviceClaim '" VF "' has 0000:03:10.0, a virtual function", NULL },
	{ "the card of a virtual function is claimed", CLAIM(CARD, ""), ADMISSION_CREATE, RESOURCE, CLAIM(VF, ""),
	  NULL, NULL, false, "PCIDeviceClaim '" CARD "' has 0000:03:00.0, the physical function of this device", NULL },
	{ "a card that is to be divided", OBJECT("SRIOVNetworkDevice", "node1-eth3",
	  ",'spec':{'address':'0000:03:00.0','nodeName':'node1','numVFs':4}"), ADMISSION_CREATE, RESOURCE,
	  CLAIM(CARD, ""), NULL, NULL, false, "SRIOVNetworkDevice 'node1-eth3' divides it into 4", NULL },
	{ "a card that is not divided", OBJECT("SRIOVNetworkDevice", "node1-eth3",
	  ",'spec':{'address':'0000:03:00.0','nodeName':'node1','numVFs':0}"), ADMISSION_CREATE, RESOURCE,
	  CLAIM(CARD, ""), NULL, NULL, false, NULL, NULL },
	{ "a GPU that is divided", OBJECT("SRIOVGPUDevice", NIC, ",'spec':{'enabled':true}"), ADMISSION_CREATE,
	  RESOURCE, CLAIM(NIC, ""), NULL, NULL, false, "SRIOVGPUDevice '" NIC "' divides it", NULL },
	{ "a GPU of which a vGPU is enabled", OBJECT("VGPUDevice", VF,
	  ",'spec':{'enabled':true,'nodeName':'node1','parentGPUDeviceAddress':'0000:01:00.0'}"), ADMISSION_CREATE,
	  RESOURCE, CLAIM(NIC, ""), NULL, NULL, false, "VGPUDevice '" VF "' is a part of it", NULL },
	{ "a GPU of which a vGPU is off", OBJECT("VGPUDevice", VF,
	  ",'spec':{'enabled':false,'nodeName':'node1','parentGPUDeviceAddress':'0000:01:00.0'}"), ADMISSION_CREATE,
	  RESOURCE, CLAIM(NIC, ""), NULL, NULL, false, NULL, NULL },
	{ "a function that is a vGPU", OBJECT("VGPUDevice", VF, ",'spec':{'enabled':true}"), ADMISSION_CREATE, RESOURCE,
	  CLAIM(VF, ""), NULL, NULL, false, "VGPUDevice '" VF "' is enabled, and creates its claim itself", NULL },
	{ "its own claim is marked", OBJECT("VGPUDevice", VF, ",'spec':{'enabled':true}"), ADMISSION_CREATE, RESOURCE,
	  SKIP(VF), NULL, NULL, false, NULL, NULL },
	{ "one of a group waits for the others", NULL, ADMISSION_CREATE, RESOURCE, CLAIM(GPU, ""), NULL, NULL, false,
	  NULL, "GroupShared: IOMMU group 2 also holds 0000:02:00.1 (snd_hda_intel): claim them too" },
	{ "the last of a group waits for nothing", CLAIM(AUDIO, ""), ADMISSION_CREATE, RESOURCE, CLAIM(GPU, ""), NULL,
	  NULL, false, NULL, NULL },
	{ "a claim of the whole group waits for nothing", NULL, ADMISSION_CREATE, RESOURCE,
	  CLAIM(GPU, "'includeIOMMUGroup':true"), NULL, NULL, false, NULL, NULL },
	{ "another's claim stands for the group", CLAIM(AUDIO, "'includeIOMMUGroup':true"), ADMISSION_CREATE, RESOURCE,
	  CLAIM(GPU, ""), NULL, NULL, false, NULL, NULL },
	{ "a claim that leaves the driver stands for nothing", SKIP(AUDIO), ADMISSION_CREATE, RESOURCE, CLAIM(GPU, ""),
	  NULL, NULL, false, NULL, "GroupShared" },
	{ "a group of one user", OWNED(AUDIO, "", "bob"), ADMISSION_CREATE, RESOURCE, OWNED(GPU, "", "bob"), NULL, NULL,
	  false, NULL, NULL },
	{ "a group has no two users", OWNED(AUDIO, "", "bob"), ADMISSION_CREATE, RESOURCE, OWNED(GPU, "", "alice"), NULL,
	  NULL, false, "PCIDeviceClaim '" GPU "': GroupShared: IOMMU group 2 also holds 0000:02:00.1, which 'bob' has claimed: "
	  "whoever has one function of a group can use all of them. Ask 'bob' to release it, or an administrator to claim both "
	  "for one user", NULL },
	{ "also in a dry run", OWNED(AUDIO, "", "bob"), ADMISSION_CREATE, RESOURCE, OWNED(GPU, "", "alice"), NULL, NULL, true,
	  "which 'bob' has claimed", NULL },
	{ "nor has one that a claim takes whole", OWNED(AUDIO, "", "bob"), ADMISSION_CREATE, RESOURCE,
	  CLAIM(GPU, "'userName':'alice','includeIOMMUGroup':true"), NULL, NULL, false, "which 'bob' has claimed", NULL },
	{ "nor one that another's claim has taken whole", CLAIM(AUDIO, "'userName':'bob','includeIOMMUGroup':true"),
	  ADMISSION_CREATE, RESOURCE, OWNED(GPU, "", "alice"), NULL, NULL, false, "which 'bob' has claimed", NULL },
	{ "a claim without owner is not everybody's", CLAIM(AUDIO, ""), ADMISSION_CREATE, RESOURCE, OWNED(GPU, "", "alice"), NULL,
	  NULL, false, "also holds 0000:02:00.1, whose claim names no owner", NULL },
	{ "nor does it join anybody's", OWNED(AUDIO, "", "bob"), ADMISSION_CREATE, RESOURCE, CLAIM(GPU, ""), NULL, NULL, false,
	  "which 'bob' has claimed", NULL },
	{ "what is being deleted may still be with a pod", OWNED(AUDIO, DELETED MARKED, "bob"), ADMISSION_CREATE, RESOURCE,
	  OWNED(GPU, "", "alice"), NULL, NULL, false, "which 'bob' has claimed", NULL },
	{ "unless the agent has released it", OWNED(AUDIO, DELETED ",'finalizers':['a.io/b']", "bob"), ADMISSION_CREATE,
	  RESOURCE, OWNED(GPU, "", "alice"), NULL, NULL, false, NULL, "claim them too" },
	{ "what another's claim leaves to its driver is not his", OWNED(AUDIO, SKIPPED, "bob"), ADMISSION_CREATE, RESOURCE,
	  OWNED(GPU, "", "alice"), NULL, NULL, false, NULL, "claim them too" },
	{ "nor does such a claim take anything", OWNED(AUDIO, "", "bob"), ADMISSION_CREATE, RESOURCE,
	  OWNED(GPU, SKIPPED, "alice"), NULL, NULL, false, NULL, NULL },
	{ "a group of another node has the same number", OWNED("node2-000002001", "", "bob"), ADMISSION_CREATE, RESOURCE,
	  OWNED(GPU, "", "alice"), NULL, NULL, false, NULL, "claim them too" },
	{ "a dry run tells what would be bound", NULL, ADMISSION_CREATE, RESOURCE, CLAIM(NIC, ""), NULL, NULL, true,
	  NULL, "bind 0000:01:00.0 to vfio-pci; goes back to e1000e" },
	{ "and to which driver", NULL, ADMISSION_CREATE, RESOURCE, CLAIM(NIC, "'driver':'igb_vfio'"), NULL, NULL, true,
	  NULL, "bind 0000:01:00.0 to igb_vfio, if the agent's --vfio-driver allows that; goes back to e1000e" },
	{ "vfio-pci is always allowed", NULL, ADMISSION_CREATE, RESOURCE, CLAIM(NIC, "'driver':'vfio-pci'"), NULL, NULL, true,
	  NULL, "bind 0000:01:00.0 to vfio-pci; goes back" },
	{ "and that it goes with its group", NULL, ADMISSION_CREATE, RESOURCE, CLAIM(GPU, "'includeIOMMUGroup':true"),
	  NULL, NULL, true, NULL, "bind 0000:02:00.1 to vfio-pci; goes back to snd_hda_intel" },
	{ "and that it waits", NULL, ADMISSION_CREATE, RESOURCE, CLAIM(GPU, ""), NULL, NULL, true, NULL, "GroupShared" },
	{ "and what goes back to nothing", NULL, ADMISSION_CREATE, RESOURCE,
	  CLAIM("node1-000000142", ""), NULL, NULL, true, NULL, "bind 0000:00:14.2 to vfio-pci; goes back to no driver" },
	{ "and who has it", POD_HAS(NIC), ADMISSION_CREATE, RESOURCE, CLAIM(NIC, ""), NULL, NULL, true, NULL,
	  "Held: pod default/launcher has the device" },
	{ "a dry run is refused like any", NULL, ADMISSION_CREATE, RESOURCE, CLAIM("node1-000000020", ""), NULL, NULL,
	  true, "HostNetwork", NULL },
};

static struct cluster_case updates[] = {
	{ "an update that changes nothing", NULL, ADMISSION_UPDATE, RESOURCE, CLAIM("node1-000000020", ""),
	  CLAIM("node1-000000020", ""), NULL, false, NULL, NULL },
	{ "a claim whose device is away", NULL, ADMISSION_UPDATE, RESOURCE, CLAIM("away", "'disableResourcePooling':true"),
	  CLAIM("away", ""), NULL, false, NULL, NULL },
	{ "an annotation that has no effect is told", NULL, ADMISSION_UPDATE, RESOURCE,
	  NOTE("away", "hostdev.io/identify-by-address", "yes"), CLAIM("away", ""), NULL, false, NULL,
	  "the annotation hostdev.io/identify-by-address is 'yes' and has no effect: set it to \"true\"" },
	{ "also an empty one", NULL, ADMISSION_UPDATE, RESOURCE,
	  NOTE("away", "pcidevice.harvesterhci.io/override-resource-name", ""), CLAIM("away", ""), NULL, false, NULL,
	  "override-resource-name is empty and has no effect" },
	{ "once", NULL, ADMISSION_UPDATE, RESOURCE, NOTE(NIC, "hostdev.io/identify-by-address", "yes"),
	  NOTE(NIC, "hostdev.io/identify-by-address", "yes"), NULL, false, NULL, NULL },
	{ "a name for its resource that is none is refused", NULL, ADMISSION_UPDATE, RESOURCE, NAMED(NIC, "cpu"),
	  CLAIM(NIC, ""), NULL, false, "is 'cpu', but kubelets refuse", NULL },
	{ "one that is there already is nobody's hindrance", NULL, ADMISSION_UPDATE, RESOURCE, NAMED(NIC, "cpu"),
	  NAMED(NIC, "cpu"), NULL, false, NULL, NULL },
	{ "the right address is filled in", NULL, ADMISSION_UPDATE, RESOURCE, CLAIM(NIC, "'address':'0000:01:00.0'"),
	  CLAIM(NIC, ""), NULL, false, NULL, NULL },
	{ "a wrong one is refused", NULL, ADMISSION_UPDATE, RESOURCE, CLAIM(NIC, "'address':'0000:01:00.1'"),
	  CLAIM(NIC, ""), NULL, false, "spec.address is '0000:01:00.1'", NULL },
	{ "one that is being deleted may lose its finalizer", NULL, ADMISSION_UPDATE, RESOURCE,
	  CLAIM_META(NIC, "'deletionTimestamp':'2026-01-01T00:00:00Z'"), CLAIM(NIC, "'address':'0000:01:00.1'"), NULL,
	  false, NULL, NULL },
	{ "the group is taken along later", NULL, ADMISSION_UPDATE, RESOURCE, CLAIM(GPU, "'includeIOMMUGroup':true"),
	  CLAIM(GPU, ""), NULL, true, NULL, "bind 0000:02:00.1" },
	{ "not one of another user", OWNED(AUDIO, "", "bob"), ADMISSION_UPDATE, RESOURCE,
	  CLAIM(GPU, "'userName':'alice','includeIOMMUGroup':true"), OWNED(GPU, "", "alice"), NULL, false,
	  "which 'bob' has claimed", NULL },
	{ "an owner is filled in", OWNED(AUDIO, "", "bob"), ADMISSION_UPDATE, RESOURCE, OWNED(GPU, "", "bob"), CLAIM(GPU, ""),
	  NULL, false, NULL, NULL },
	{ "not another one than the group has", OWNED(AUDIO, "", "bob"), ADMISSION_UPDATE, RESOURCE, OWNED(GPU, "", "alice"),
	  CLAIM(GPU, ""), NULL, false, "which 'bob' has claimed", NULL },
	{ "what was left to its driver is taken", OWNED(AUDIO, "", "bob"), ADMISSION_UPDATE, RESOURCE, OWNED(GPU, "", "alice"),
	  OWNED(GPU, SKIPPED, "alice"), NULL, false, "which 'bob' has claimed", NULL },
	{ "a group that two users have from before hinders no other change", OWNED(AUDIO, "", "bob"), ADMISSION_UPDATE, RESOURCE,
	  CLAIM(GPU, "'userName':'alice','disableResourcePooling':true"), OWNED(GPU, "", "alice"), NULL, false, NULL, NULL },
	{ "not one with a USB controller whose devices are claimed", OBJECT("USBDeviceClaim", STICK, ""), ADMISSION_UPDATE,
	  RESOURCE, CLAIM("node1-000000142", "'includeIOMMUGroup':true"), CLAIM("node1-000000142", ""), NULL, false,
	  "USBDeviceClaim", NULL },
};

static struct cluster_case deletions[] = {
	{ "a claim that nobody uses", NULL, ADMISSION_DELETE, RESOURCE, NULL, CLAIM(NIC, ""), NULL, false, NULL, NULL },
	{ "a pod has the device", POD_HAS(NIC), ADMISSION_DELETE, RESOURCE, NULL, CLAIM(NIC, ""), NULL, false,
	  "PCIDeviceClaim '" NIC "': pod default/launcher has it: delete the pod", NULL },
	{ "a machine names it, which is nobody's hindrance", VM("web", "", "{'name':'" NIC "'}"), ADMISSION_DELETE, RESOURCE,
	  NULL, CLAIM(NIC, ""), NULL, false, NULL, "a virtual machine names it, and does not have it" },
	{ "a machine that is off names it", VM("web", "'running':false,", "{'name':'" NIC "'}"), ADMISSION_DELETE, RESOURCE,
	  NULL, CLAIM(NIC, ""), NULL, false, NULL, "a virtual machine names it" },
	{ "a machine names it, and a pod has it", POD_HAS(NIC) VM("web", "", "{'name':'" NIC "'}"), ADMISSION_DELETE, RESOURCE,
	  NULL, CLAIM(NIC, ""), NULL, false, "pod default/launcher has it", NULL },
	{ "a machine names another", VM("web", "", "{'name':'" NIC2 "'}"), ADMISSION_DELETE, RESOURCE, NULL,
	  CLAIM(NIC, ""), NULL, false, NULL, NULL },
	{ "a machine says that it was given it", GIVEN("{\\'hostdevices\\':{\\'r\\':[\\'" NIC "\\']}}"), ADMISSION_DELETE,
	  RESOURCE, NULL, CLAIM(NIC, ""), NULL, false, NULL, "a virtual machine names it, and does not have it" },
	{ "as a GPU", GIVEN("{\\'gpus\\':{\\'r\\':[\\'x\\',\\'" NIC "\\']}}"), ADMISSION_DELETE, RESOURCE, NULL,
	  CLAIM(NIC, ""), NULL, false, NULL, "a virtual machine names it" },
	{ "what a machine was given is nonsense", GIVEN("{\\'hostdevices\\':[\\'" NIC "\\'],\\'gpus\\':{\\'r\\':\\'" NIC "\\'}}"),
	  ADMISSION_DELETE, RESOURCE, NULL, CLAIM(NIC, ""), NULL, false, NULL, NULL },
	{ "what a machine was given is no JSON", GIVEN("{" NIC), ADMISSION_DELETE, RESOURCE, NULL, CLAIM(NIC, ""), NULL,
	  false, NULL, NULL },
	{ "the node is gone", POD_HAS("node3-000001000"), ADMISSION_DELETE, RESOURCE, NULL,
	  CLAIM("node3-000001000", "'nodeName':'node3'"), NULL, false, NULL, NULL },
	{ "the node is being deleted", POD_HAS(NIC) "{'kind':'Node','metadata':{'name':'node1','deletionTimestamp':'x'}}",
	  ADMISSION_DELETE, RESOURCE, NULL, CLAIM(NIC, "'nodeName':'node1'"), NULL, false, NULL, NULL },
	{ "it is being deleted already", POD_HAS(NIC), ADMISSION_DELETE, RESOURCE, NULL,
	  CLAIM_META(NIC, "'deletionTimestamp':'2026-01-01T00:00:00Z'"), NULL, false, NULL, NULL },
	{ "it belongs to a vGPU", OBJECT("VGPUDevice", VF, ",'spec':{'enabled':true}"), ADMISSION_DELETE, RESOURCE, NULL,
	  CLAIM_META(VF, OWNER("VGPUDevice", VF, "u-" VF)), NULL, false, "it belongs to VGPUDevice '" VF "'", NULL },
	{ "it belongs to no vGPU, whatever its user has written", OBJECT("VGPUDevice", VF, ",'spec':{'enabled':true}"),
	  ADMISSION_DELETE, RESOURCE, NULL, CLAIM_META(NIC, OWNER("VGPUDevice", VF, "u-" VF)), NULL, false, NULL, NULL },
	{ "it belongs to a vGPU that is off", OBJECT("VGPUDevice", VF, ",'spec':{'enabled':false}"), ADMISSION_DELETE,
	  RESOURCE, NULL, CLAIM_META(VF, OWNER("VGPUDevice", VF, "u-" VF)), NULL, false, NULL, NULL },
	{ "Harvester deletes what it made", OBJECT("VGPUDevice", VF, ",'spec':{'enabled':true}"), ADMISSION_DELETE, RESOURCE,
	  NULL, CLAIM_META(VF, OWNER("VGPUDevice", VF, "u-" VF)),
	  "system:serviceaccount:harvester-system:harvester-pcidevices-controller", false, NULL, NULL },
	{ "the garbage collector does its work", POD_HAS(NIC), ADMISSION_DELETE, RESOURCE, NULL, CLAIM(NIC, ""),
	  "system:serviceaccount:kube-system:generic-garbage-collector", false, NULL, NULL },
	{ "our own agent too", POD_HAS(NIC), ADMISSION_DELETE, RESOURCE, NULL, CLAIM(NIC, ""),
	  "system:serviceaccount:hostdev-system:hostdev-agent", false, NULL, NULL },
	{ "a namesake in another namespace does not", POD_HAS(NIC), ADMISSION_DELETE, RESOURCE, NULL, CLAIM(NIC, ""),
	  "system:serviceaccount:default:hostdev-agent", false, "pod default/launcher", NULL },
	{ "what is on vfio-pci already stays there", PCI(NIC, "node1", "0000:01:00.0", "1", "", "vfio-pci", AVAILABLE),
	  ADMISSION_CREATE, RESOURCE, CLAIM(NIC, ""), NULL, NULL, true, NULL,
	  "0000:01:00.0 is bound to vfio-pci already, and stays on it" },
	{ "a dry run tells what it goes back to", PCI(NIC, "node1", "0000:01:00.0", "1", "", "vfio-pci", AVAILABLE),
	  ADMISSION_DELETE, RESOURCE, NULL,
	  "{'metadata':{'name':'" NIC "'},'spec':{},'status':{'kernelDriverToUnbind':'e1000e','passthroughEnabled':true}}",
	  NULL, true, NULL, "release 0000:01:00.0 from vfio-pci to e1000e" },
	{ "or that it had no driver", PCI(NIC, "node1", "0000:01:00.0", "1", "", "vfio-pci", AVAILABLE),
	  ADMISSION_DELETE, RESOURCE, NULL,
	  "{'metadata':{'name':'" NIC "'},'spec':{},'status':{'kernelDriverToUnbind':'','passthroughEnabled':true}}",
	  NULL, true, NULL, "release 0000:01:00.0 from vfio-pci to no driver" },
	{ "or that it stays where it was", PCI(NIC, "node1", "0000:01:00.0", "1", "", "vfio-pci", AVAILABLE),
	  ADMISSION_DELETE, RESOURCE, NULL, CLAIM(NIC, ""), NULL, true, NULL,
	  "0000:01:00.0 stays on vfio-pci, where it was before the claim" },
	{ "or that there is nothing to release", NULL, ADMISSION_DELETE, RESOURCE, NULL, CLAIM(NIC, ""), NULL, true,
	  NULL, "nothing to release: 0000:01:00.0 is on e1000e" },
};
/* clang-format on */

/* clang-format off */
/* A SATA controller of a chipset, with the bridge and the SMBus beside it. */
#define MEMBERS "'0000:00:1f.0','0000:00:1f.2','0000:00:1f.3'"
#define BRIDGE(driver) PCI("node1-0000001f0", "node1", "0000:00:1f.0", "9", MEMBERS, driver, "'classId':'0601'," \
	CLAIMABLE("False", "HostFunction", "a bridge of the machine itself"))
#define CHIPSET(driver) BRIDGE(driver) PCI("node1-0000001f2", "node1", "0000:00:1f.2", "9", MEMBERS, "ahci", SHARED) \
	PCI("node1-0000001f3", "node1", "0000:00:1f.3", "9", MEMBERS, "", AVAILABLE)
#define SATA CLAIM("node1-0000001f2", "'includeIOMMUGroup':true")

static struct chipset_case {
	const char *name;
	const char *driver; /* of the bridge, "lpc_ich" or "" */
	const char *claim;
	const char *warned; /* all warnings, one after the other */
} chipsets[] = {
	{ "functions without a driver do not go along", "", SATA, "bind 0000:00:1f.2 to vfio-pci; goes back to ahci" },
	{ "a bridge that has one keeps the group back", "lpc_ich", SATA,
	  "bind 0000:00:1f.2 to vfio-pci; goes back to ahci|"
	  "waits, HostFunction: IOMMU group 9 also holds 0000:00:1f.0: a bridge of the machine itself" },
	{ "which the claim of another function does not override", "lpc_ich",
	  "{'kind':'PCIDeviceClaim','metadata':{'name':'node1-0000001f2',"
	  "'annotations':{'hostdev.io/allow-host-critical':'true'}},'spec':{'includeIOMMUGroup':true}}",
	  "bind 0000:00:1f.2 to vfio-pci; goes back to ahci|"
	  "waits, HostFunction: IOMMU group 9 also holds 0000:00:1f.0: a bridge of the machine itself" },
};
/* clang-format on */

static void chipset_is_advised_as_the_table_says(void **state)
{
	static const char subject[] = "PCIDeviceClaim 'node1-0000001f2': ";
	const struct chipset_case *row = suite_row(state);
	struct cluster_case ask = { .operation = ADMISSION_CREATE,
				    .resource = RESOURCE,
				    .object = row->claim,
				    .dry_run = true };
	auto_str struct str said = STR_INIT;
	struct admission_answer answer;
	struct cluster *cluster = *state;

	cluster_put_all(cluster, *row->driver ? CHIPSET("lpc_ich") : CHIPSET(""));
	cluster_ask(cluster, &ask, rules_validate, &answer);
	for (size_t i = 0; i < answer.warnings.len; i++)
		str_addf(&said, "%s%s", i ? "|" : "", answer.warnings.items[i] + strlen(subject));
	assert_string_equal(str_cstr(&said), row->warned);
	assert_true(answer.allowed);
	admission_answer_done(&answer);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &cluster_fixture);
	suite_rows(&suite, creations, cluster_answers_as_the_table_says);
	suite_rows(&suite, updates, cluster_answers_as_the_table_says);
	suite_rows(&suite, deletions, cluster_answers_as_the_table_says);
	suite_rows(&suite, chipsets, chipset_is_advised_as_the_table_says);
	return suite_run(&suite, "pci_claim");
}
