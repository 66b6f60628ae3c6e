/* gpu_card, mig, vgpu: the rules of NVIDIA cards that are divided. */
#include "unit/admission/cluster.h"

#define GPU "node1-000001000"
#define VF  "node1-000003100"

/* clang-format off */
#define CARD(spec) "{'metadata':{'name':'" GPU "'},'spec':{'address':'0000:01:00.0','nodeName':'node1'," spec "}}"
#define ON         CARD("'enabled':true")
#define OFF        CARD("'enabled':false")
#define PART(name, meta, spec) "{'kind':'VGPUDevice','metadata':{'name':'" name "'" meta "},'spec':{" spec "}}"
#define BEHIND     "'nodeName':'node1','parentGPUDeviceAddress':'0000:01:00.0'"
#define LABEL      ",'labels':{'harvesterhci.io/parentSRIOVGPUDevice':'" GPU "'}"
#define CLAIM(name, meta) "{'kind':'PCIDeviceClaim','metadata':{'name':'" name "'" meta "}}"
#define SKIP       ",'annotations':{'pcidevices.harvesterhci.io/skip-vfio-binding':'true'}"
#define VM(name) \
	"{'kind':'VirtualMachine','metadata':{'name':'web','namespace':'default'},'spec':{" \
	"'template':{'spec':{'domain':{'devices':{'gpus':[{'name':'" name "'}]}}}}}}"
#define POD_HAS(name) PCI(name, "node1", "0000:03:10.0", "1", "", "nvidia", \
	"'allocations':[{'namespace':'default','pod':'launcher'}]," AVAILABLE)
#define MDEV_POD_HAS \
	"{'kind':'MediatedDevice','metadata':{'name':'node1-83b8f4f2-509f-382f-3c1e-e6bfe0fa1001'},'status':{'nodeName':" \
	"'node1','pciAddress':'0000:03:10.0','allocations':[{'namespace':'default','pod':'launcher'}]}}"

#define G .resource = "sriovgpudevices"
static struct cluster_case cards[] = {
	{ .name = "a card is divided", G, .old = OFF, .object = ON },
	{ .name = "a card that is lent as a whole is not", G, .more = CLAIM(GPU, ""), .old = OFF, .object = ON,
	  .refused = "SRIOVGPUDevice '" GPU "': PCIDeviceClaim '" GPU "' passes the whole card through" },
	{ .name = "a card is put together again", G, .old = ON, .object = OFF },
	{ .name = "a machine names a part, which is no hindrance", G, .more = PART(VF, "", BEHIND) VM(VF), .old = ON, .object = OFF,
	  .warned = "VGPUDevice '" VF "' is a part of it: a virtual machine names it" },
	{ .name = "a part may be known by its label", G, .more = PART(VF, LABEL, "'enabled':false") POD_HAS(VF), .old = ON, .object = OFF,
	  .refused = "VGPUDevice '" VF "'" },
	{ .name = "not while a pod has a part", G, .more = PART(VF, "", BEHIND) POD_HAS(VF), .old = ON, .object = OFF,
	  .refused = "pod default/launcher has it" },
	{ .name = "with a part that is enabled it waits", G, .more = PART(VF, LABEL, "'enabled':true"), .old = ON, .object = OFF,
	  .warned = "VGPUDevice '" VF "' is still enabled" },
	{ .name = "another card's parts do not matter", G, .more = PART(VF, "", "'nodeName':'node2','parentGPUDeviceAddress':'0000:01:00.0'") VM(VF),
	  .old = ON, .object = OFF },
	{ .name = "other changes do not matter", G, .more = CLAIM(GPU, ""), .old = ON, .object = ON },
};

static struct cluster_case card_deletions[] = {
	{ .name = "a card that is not divided may go", G, .old = OFF },
	{ .name = "one that is divided may not", G, .old = ON, .refused = "it is enabled: set spec.enabled to false first" },
	{ .name = "one that is divided may with its node", G, .old = "{'metadata':{'name':'x'},'spec':{'nodeName':'node3','enabled':true}}" },
};

#define V .resource = "vgpudevices"
#define VGPU(spec, types) "{'metadata':{'name':'" VF "'},'spec':{'nodeName':'node1'," spec "},'status':{'availableTypes':{" types "}}}"
#define A2 "'NVIDIA A2-4C':'1146','NVIDIA A2-2B':'1145'"
static struct cluster_case vgpus[] = {
	{ .name = "a type that is available", V, .old = VGPU("'enabled':false", A2), .object = VGPU("'enabled':true,'vGPUTypeName':'NVIDIA A2-4C'", "") },
	{ .name = "a type that is not", V, .old = VGPU("'enabled':false", A2), .object = VGPU("'enabled':true,'vGPUTypeName':'NVIDIA A2-8C'", A2),
	  .refused = "VGPUDevice '" VF "': spec.vGPUTypeName 'NVIDIA A2-8C' is not available: set it to one of 'NVIDIA A2-2B', 'NVIDIA A2-4C'" },
	{ .name = "what the new object lists does not count", V, .old = VGPU("'enabled':false", A2),
	  .object = VGPU("'enabled':true,'vGPUTypeName':'x'", "'x':'1'"), .refused = "'x' is not available" },
	{ .name = "no type", V, .old = VGPU("'enabled':false", A2), .object = VGPU("'enabled':true", A2), .refused = "spec.vGPUTypeName is missing" },
	{ .name = "no room for any", V, .old = VGPU("'enabled':false", ""), .object = VGPU("'enabled':true,'vGPUTypeName':'NVIDIA A2-4C'", ""),
	  .refused = "no type is available now" },
	{ .name = "the function is claimed itself", V, .more = CLAIM(VF, ""), .old = VGPU("'enabled':false", A2),
	  .object = VGPU("'enabled':true,'vGPUTypeName':'NVIDIA A2-4C'", ""), .refused = "PCIDeviceClaim '" VF "' passes the virtual "
	  "function itself through" },
	{ .name = "its own claim does not matter", V, .more = CLAIM(VF, SKIP), .old = VGPU("'enabled':false", A2),
	  .object = VGPU("'enabled':true,'vGPUTypeName':'NVIDIA A2-4C'", "") },
	{ .name = "it is switched off", V, .old = VGPU("'enabled':true,'vGPUTypeName':'a'", ""), .object = VGPU("'enabled':false", "") },
	{ .name = "not while a pod has it", V, .more = POD_HAS(VF), .old = VGPU("'enabled':true,'vGPUTypeName':'a'", ""),
	  .object = VGPU("'enabled':false", ""), .refused = "pod default/launcher has it" },
	{ .name = "nor while a pod has the mediated device that it is", V, .more = PCI(VF, "node1", "0000:03:10.0", "1", "", "nvidia", AVAILABLE)
	  MDEV_POD_HAS, .old = VGPU("'enabled':true,'vGPUTypeName':'a'", ""), .object = VGPU("'enabled':false", ""),
	  .refused = "pod default/launcher has it" },
	{ .name = "nor is it given another type then", V, .more = POD_HAS(VF), .old = VGPU("'enabled':true,'vGPUTypeName':'a'", A2),
	  .object = VGPU("'enabled':true,'vGPUTypeName':'NVIDIA A2-4C'", A2), .refused = "pod default/launcher has it" },
	{ .name = "other changes do not matter", V, .more = POD_HAS(VF), .old = VGPU("'enabled':true,'vGPUTypeName':'a'", ""),
	  .object = VGPU("'enabled':true,'vGPUTypeName':'a'", "") },
	{ .name = "a type for later may be anything", V, .old = VGPU("'enabled':false", A2), .object = VGPU("'enabled':false,'vGPUTypeName':'x'", A2) },
};

static struct cluster_case vgpu_deletions[] = {
	{ .name = "a vGPU that nobody has may go", V, .old = VGPU("'enabled':true", "") },
	{ .name = "one that a machine names may", V, .more = VM(VF), .old = VGPU("'enabled':true", ""), .warned = "a virtual machine names it" },
	{ .name = "one that a pod has may not", V, .more = POD_HAS(VF), .old = VGPU("'enabled':true", ""), .refused = "pod default/launcher has it" },
	{ .name = "it may with its node", V, .more = VM(VF) POD_HAS(VF), .old = "{'metadata':{'name':'" VF "'},'spec':{'nodeName':'node3'}}" },
};

#define M .resource = "migconfigurations"
#define MIG(spec, status) "{'metadata':{'name':'" GPU "'},'spec':{'gpuAddress':'0000:01:00.0','nodeName':'node1'," spec "},'status':{" status "}}"
#define WANT(n) "'profileSpec':[{'name':'MIG 1g.5gb','id':19,'requested':" n "},{'name':'MIG 3g.20gb','id':9,'requested':1}]"
#define HAS "'profileStatus':[{'name':'MIG 1g.5gb','id':19,'available':4,'total':7},{'name':'MIG 3g.20gb','id':9,'available':1,'total':2}]"
static struct cluster_case migs[] = {
	{ .name = "profiles that are available", M, .old = MIG("'enabled':false", HAS), .object = MIG("'enabled':true," WANT("4"), HAS) },
	{ .name = "more than are available", M, .old = MIG("'enabled':false," WANT("5"), HAS), .object = MIG("'enabled':true," WANT("5"), HAS),
	  .refused = "MigConfiguration '" GPU "': spec.profileSpec requests 5 of 'MIG 1g.5gb', but 4 are available" },
	{ .name = "a profile that the card does not have", M, .old = MIG("'enabled':false", HAS),
	  .object = MIG("'enabled':true,'profileSpec':[{'name':'MIG 9g','requested':1}]", HAS), .refused = "requests 'MIG 9g' (id -1), which the card does not have" },
	{ .name = "a profile by its name", M, .old = MIG("'enabled':false", HAS),
	  .object = MIG("'enabled':true,'profileSpec':[{'name':'MIG 1g.5gb','requested':4}]", HAS) },
	{ .name = "none of a profile that it does not have", M, .old = MIG("'enabled':false", HAS),
	  .object = MIG("'enabled':true,'profileSpec':[{'name':'MIG 9g','requested':0}]", HAS) },
	{ .name = "a card that lists nothing yet", M, .old = MIG("'enabled':false", ""), .object = MIG("'enabled':true," WANT("4"), "") },
	{ .name = "profiles change while instances exist", M, .old = MIG("'enabled':true," WANT("1"), "'status':'synced'"),
	  .object = MIG("'enabled':true," WANT("2"), "'status':'synced'"), .refused = "cannot change while its instances exist (status.status is 'synced')" },
	{ .name = "the same out of sync", M, .old = MIG("'enabled':true," WANT("1"), "'status':'out-of-sync'"),
	  .object = MIG("'enabled':true," WANT("2"), ""), .refused = "cannot change while its instances exist" },
	{ .name = "profiles change before there are any", M, .old = MIG("'enabled':true," WANT("1"), ""), .object = MIG("'enabled':true," WANT("2"), "") },
	{ .name = "it is switched off", M, .old = MIG("'enabled':true", "'status':'synced'"), .object = MIG("'enabled':false", "") },
	{ .name = "not while a vGPU of the card is enabled", M, .more = PART(VF, "", BEHIND ",'enabled':true"), .old = MIG("'enabled':true", ""),
	  .object = MIG("'enabled':false", ""), .refused = "VGPUDevice '" VF "' is enabled on this card" },
	{ .name = "a vGPU that is off does not matter", M, .more = PART(VF, LABEL, BEHIND), .old = MIG("'enabled':true", ""), .object = MIG("'enabled':false", "") },
};
/* clang-format on */

#define ADD(suite, rows, operation_)                                        \
	do {                                                                \
		for (size_t i_ = 0; i_ < ARRAY_LEN(rows); i_++)             \
			(rows)[i_].operation = (operation_);                \
		suite_rows(suite, rows, cluster_answers_as_the_table_says); \
	} while (0)

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &cluster_fixture);
	ADD(&suite, cards, ADMISSION_UPDATE);
	ADD(&suite, card_deletions, ADMISSION_DELETE);
	ADD(&suite, vgpus, ADMISSION_UPDATE);
	ADD(&suite, vgpu_deletions, ADMISSION_DELETE);
	ADD(&suite, migs, ADMISSION_UPDATE);
	return suite_run(&suite, "gpu_card");
}
