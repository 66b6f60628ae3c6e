/* vm, vm_move: the rules of VirtualMachines, and the move of their gpus. */
#include "unit/admission/cluster.h"

#define NIC   "node1-000001000"
#define NIC2  "node2-000001000"
#define AUDIO "node1-000002001"

/* clang-format off */
#define FULL(name, ns, spec, host, gpus) \
	"{'kind':'VirtualMachine','metadata':{'name':'" name "','namespace':'" ns "'},'spec':{" spec \
	"'template':{'spec':{'nodeSelector':{'kubernetes.io/hostname':'node1'},'domain':{'devices':{'hostDevices':[" host \
	"],'gpus':[" gpus "]}}}}}}"
#define VM(host)      FULL("web", "default", "", host, "")
#define OFF(host)     FULL("web", "default", "'running':false,", host, "")
#define OTHER(spec, host) FULL("db", "default", spec, host, "")
#define DEVICE(name, resource) "{'name':'" name "','deviceName':'" resource "'}"
#define EVIL(spec, host) FULL("evil", "bob", spec, host, "")
#define MANUAL(host)  FULL("web", "default", "'runStrategy':'Manual',", host, "")
#define RUNS(name, ns, spec, host) \
	"{'kind':'VirtualMachine','metadata':{'name':'" name "','namespace':'" ns "'},'status':{'created':true},'spec':{" spec \
	"'template':{'spec':{'domain':{'devices':{'hostDevices':[" host "]}}}}}}"
#define POD_HAS(ns, pod) PCI(NIC, "node1", "0000:01:00.0", "1", "'0000:01:00.0'", "e1000e", \
	"'allocations':[{'namespace':'" ns "','pod':'" pod "'}]," AVAILABLE)
#define MINE          DEVICE(NIC, "x.com/e1000e")
#define CLAIMS        OBJECT("PCIDeviceClaim", NIC, "") OBJECT("PCIDeviceClaim", NIC2, "") OBJECT("PCIDeviceClaim", AUDIO, "")
#define FREE(host, more) \
	"{'metadata':{'name':'web','namespace':'default'},'spec':{'template':{'spec':{" more "'domain':{'devices':{'hostDevices':[" host "]}}}}}}"

static struct cluster_case creations[] = {
	{ .name = "a machine without devices", .object = "{'metadata':{'name':'web','namespace':'default'},'spec':{}}" },
	{ .name = "a device of a resource that there is", .more = CLAIMS, .object = VM(MINE) },
	{ .name = "by any name", .object = VM(DEVICE("nic1", "x.com/e1000e")) },
	{ .name = "a resource that nodes offer by others", .object = VM(DEVICE("thing", "other.com/thing")) },
	{ .name = "a resource that nobody has", .object = VM(DEVICE("gpu1", "nvidia.com/A2")),
	  .refused = "VirtualMachine 'default/web': device 'gpu1' requests resource 'nvidia.com/A2', which no device has and no node offers" },
	{ .name = "a GPU of a resource that nobody has", .object = FULL("web", "default", "", "", DEVICE("g", "nvidia.com/A2")), .refused = "'nvidia.com/A2'" },
	{ .name = "a device of the DRA kind has no resource", .object = VM("{'name':'x','claimName':'c'}") },
	{ .name = "a device that nobody has claimed", .object = VM(MINE), .warned = "device '" NIC "' is not claimed: it starts once there is a PCIDeviceClaim" },
	{ .name = "a USB device likewise", .object = VM(DEVICE(STICK, "kubevirt.io/" STICK)), .warned = "there is a USBDeviceClaim" },
	{ .name = "a device that is lent as something else", .more = CLAIMS, .object = VM(DEVICE(NIC, "x.com/igb")), .warned = "has "
	"another resource than it requests: x.com/e1000e" },
	{ .name = "two devices of one node", .more = CLAIMS, .object = VM(MINE "," DEVICE(AUDIO, "x.com/snd_hda_intel")) },
	{ .name = "two devices of two nodes", .more = CLAIMS, .object = VM(MINE "," DEVICE(NIC2, "x.com/e1000e")),
	  .refused = "device '" NIC "' is on node node1, but '" NIC2 "' on node node2" },
	{ .name = "one of them a GPU", .more = CLAIMS, .object = FULL("web", "default", "", MINE, DEVICE(NIC2, "x.com/e1000e")), .refused = "on node node2" },
	{ .name = "one device twice", .more = CLAIMS, .object = VM(MINE "," MINE), .refused = "it names device '" NIC "' twice" },
	{ .name = "a name of no device twice is KubeVirt's business", .object = VM(DEVICE("a", "x.com/igb") "," DEVICE("a", "x.com/igb")) },
	{ .name = "another machine has it", .more = CLAIMS OTHER("", MINE), .object = VM(MINE), .refused = "virtual machine default/db names device '" NIC "' too" },
	{ .name = "another machine that is off has it", .more = CLAIMS OTHER("'runStrategy':'Halted',", MINE), .object = VM(MINE),
	  .warned = "virtual machine default/db names device '" NIC "' too: only one of them can have it" },
	{ .name = "this one is off", .more = CLAIMS OTHER("", MINE), .object = OFF(MINE), .warned = "only one of them can have it" },
	{ .name = "another of the same name in another namespace only names it", .more = CLAIMS FULL("web", "prod", "", MINE, ""), .object = VM(MINE),
	  .warned = "a virtual machine of another namespace names device '" NIC "' too: only one of them can have it" },
	{ .name = "another that is started by hand, and was not", .more = CLAIMS OTHER("'runStrategy':'Manual',", MINE), .object = VM(MINE), .warned = "default/db names" },
	{ .name = "another that was started by hand", .more = CLAIMS RUNS("db", "default", "'runStrategy':'Manual',", MINE), .object = VM(MINE), .refused = "default/db names" },
	{ .name = "another that is going down", .more = CLAIMS RUNS("db", "default", "'runStrategy':'Halted',", MINE), .object = VM(MINE), .refused = "default/db names" },
	{ .name = "this one is started by hand, later", .more = CLAIMS OTHER("", MINE), .object = MANUAL(MINE), .warned = "default/db names" },
	{ .name = "in another namespace one that has it", .more = CLAIMS POD_HAS("bob", "virt-launcher-evil-x7k2p") EVIL("", MINE), .object = VM(MINE),
	  .refused = "VirtualMachine 'default/web': a virtual machine of another namespace names device '" NIC "' too: remove it from that one, or halt that one first" },
	{ .name = "in another namespace one whose namesake has it", .more = CLAIMS POD_HAS("prod", "virt-launcher-evil-x7k2p") EVIL("", MINE), .object = VM(MINE),
	  .warned = "a virtual machine of another namespace names" },
	{ .name = "in another namespace one that a pod of its namespace has", .more = CLAIMS POD_HAS("bob", "virt-launcher-good-x7k2p") EVIL("", MINE), .object = VM(MINE),
	  .warned = "a virtual machine of another namespace names" },
	{ .name = "one that only names it does not hide one of the same namespace", .more = CLAIMS EVIL("", MINE) OTHER("", MINE), .object = VM(MINE),
	  .refused = "default/db names" },
	{ .name = "itself, as it was seen already", .more = CLAIMS VM(MINE), .object = VM(MINE) },
	{ .name = "nothing keeps it on its node", .more = CLAIMS, .object = FREE(MINE, ""), .warned = "nodeSelector kubernetes.io/hostname: node1 keeps it where '" NIC "' is" },
	{ .name = "its selector wants another node", .more = CLAIMS, .object = FREE(MINE, "'nodeSelector':{'kubernetes.io/hostname':'node2'},"),
	  .warned = "its nodeSelector selects node node2, but device '" NIC "' is on node node1" },
	{ .name = "a list that is none passes, unchecked", .object = "{'metadata':{'name':'web'},'spec':{'template':{'spec':{'domain':{'devices':{'hostDevices':7}}}}}}",
	  .warned = "not checked: VirtualMachine 'web': spec.template.spec.domain.devices.hostDevices: expected a list" },
};

static struct cluster_case updates[] = {
	{ .name = "a change of something else is not judged", .old = VM(DEVICE("g", "gone.com/x")), .object = FULL("web", "default", "'runStrategy':'Always',", DEVICE("g", "gone.com/x"), "") },
	{ .name = "a device is added", .old = VM(""), .object = VM(DEVICE("g", "gone.com/x")), .refused = "'gone.com/x'" },
	{ .name = "a device is taken away", .more = CLAIMS OTHER("", MINE), .old = VM(MINE), .object = VM("") },
	{ .name = "it is switched on while another has its device", .more = CLAIMS OTHER("", MINE) OFF(MINE), .old = OFF(MINE), .object = VM(MINE),
	  .refused = "virtual machine default/db names device '" NIC "' too" },
	{ .name = "it is switched on while a machine elsewhere names it", .more = CLAIMS EVIL("", MINE) OFF(MINE), .old = OFF(MINE), .object = VM(MINE),
	  .warned = "a virtual machine of another namespace names" },
	{ .name = "it is switched off", .more = CLAIMS OTHER("", MINE), .old = VM(MINE), .object = OFF(MINE) },
	{ .name = "one that is being deleted is not judged", .old = VM(""),
	  .object = "{'metadata':{'name':'web','deletionTimestamp':'2026-01-01T00:00:00Z'},'spec':{'template':{'spec':{'domain':{'devices':{'hostDevices':[" DEVICE("g", "gone.com/x") "]}}}}}}" },
};

#define DEVICES "/spec/template/spec/domain/devices"
#define GPU(name) DEVICE(name, "x.com/nouveau")
static struct move_case {
	const char *name;
	const char *devices;
	const char *patch; /* "" for none */
} moves[] = {
	{ "no gpus", "'hostDevices':[" MINE "]", "" },
	{ "no devices at all", "", "" },
	{ "one gpu", "'gpus':[" GPU("a") "]", "[{'op':'add','path':'" DEVICES "/hostDevices','value':[" GPU("a") "]},{'op':'remove','path':'" DEVICES "/gpus'}]" },
	{ "three gpus beside a device", "'gpus':[" GPU("a") "," GPU("b") "," GPU("c") "],'hostDevices':[" MINE "]",
	  "[{'op':'add','path':'" DEVICES "/hostDevices','value':[" MINE "," GPU("a") "," GPU("b") "," GPU("c") "]},{'op':'remove','path':'" DEVICES "/gpus'}]" },
	{ "null is no list", "'gpus':[" GPU("a") "],'hostDevices':null",
	  "[{'op':'add','path':'" DEVICES "/hostDevices','value':[" GPU("a") "]},{'op':'remove','path':'" DEVICES "/gpus'}]" },
	{ "what has display options stays", "'gpus':[" GPU("a") ",{'name':'b','deviceName':'x.com/nouveau','virtualGPUOptions':{}}]",
	  "[{'op':'add','path':'" DEVICES "/hostDevices','value':[" GPU("a") "]},{'op':'replace','path':'" DEVICES
	  "/gpus','value':[{'name':'b','deviceName':'x.com/nouveau','virtualGPUOptions':{}}]}]" },
	{ "others' resources stay", "'gpus':[" DEVICE("a", "nvidia.com/A2") "]", "" },
	{ "items that are none stay", "'gpus':[7,null,'x',{},{'name':3,'deviceName':'x.com/nouveau'}]", "" },
	{ "a list that is none stays", "'gpus':{'name':'a'}", "" },
	{ "beside a list that is none all stays", "'gpus':[" GPU("a") "],'hostDevices':7", "" },
};
/* clang-format on */

static void gpus_move_as_the_table_says(void **state)
{
	const struct move_case *row = suite_row(state);
	auto_free char *object = xasprintf("{'metadata':{'name':'web'},'spec':{'template':{'spec':{"
					   "'domain':{'devices':{%s}}}}}}",
					   row->devices);
	auto_json json_t *patch = *row->patch ? cluster_json(row->patch) : NULL;
	struct admission_answer answer;
	struct cluster *cluster = *state;
	struct cluster_case ask = { .operation = ADMISSION_UPDATE,
				    .resource = "virtualmachines",
				    .object = object };

	cluster_ask(cluster, &ask, rules_mutate, &answer);
	assert_true(answer.allowed);
	if (patch && !json_equal(patch, answer.patch)) {
		auto_free char *text = answer.patch ? json_map_text(answer.patch) : NULL;

		fail_msg("%s", text ? text : "no patch");
	}
	if (!patch)
		assert_null(answer.patch);
	admission_answer_done(&answer);
}

static void too_many_devices_are_refused(void **state)
{
	struct cluster_case row = { .operation = ADMISSION_CREATE,
				    .resource = "virtualmachines",
				    .refused = "it requests 257 devices: at most 256 are allowed" };
	auto_str struct str object = STR_INIT;
	struct admission_answer answer;
	struct cluster *cluster = *state;

	str_add(&object, "{'metadata':{'name':'web'},'spec':{'template':{'spec':{'domain':{"
			 "'devices':{'hostDevices':[{}");
	for (int i = 0; i < 256; i++)
		str_add(&object, ",{}");
	str_add(&object, "]}}}}}}");
	row.object = object.buf;
	cluster_ask(cluster, &row, rules_validate, &answer);
	cluster_check(&answer, &row);
	admission_answer_done(&answer);
}

static void fill(struct cluster_case *rows, size_t len, enum admission_operation operation)
{
	for (size_t i = 0; i < len; i++) {
		rows[i].operation = operation;
		rows[i].resource = "virtualmachines";
	}
}

int main(void)
{
	struct suite suite = { 0 };

	fill(creations, ARRAY_LEN(creations), ADMISSION_CREATE);
	fill(updates, ARRAY_LEN(updates), ADMISSION_UPDATE);
	suite_fixture(&suite, &cluster_fixture);
	suite_rows(&suite, creations, cluster_answers_as_the_table_says);
	suite_rows(&suite, updates, cluster_answers_as_the_table_says);
	suite_rows(&suite, moves, gpus_move_as_the_table_says);
	suite_add(&suite, "too many devices are refused", too_many_devices_are_refused, NULL);
	return suite_run(&suite, "vm");
}
