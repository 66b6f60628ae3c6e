/* usb_claim_plan: the next step for one claim, for each state of device, claim and pod. */
#include "agent/usb/usb_claim_plan.h"

#include "agent/task/task_line.h"
#include "api/object.h"
#include "unit/usb/sticks.h"

#define OTHER "node1-0951-1666-001006"
#define NEW   CLAIM_OF(STICK, "", "")
#define READY(status, reason)                                                                     \
	",'conditions':[{'type':'Accepted','status':'" status "','reason':'" reason               \
	"','message':'m'},{'type':'Ready','status':'" status "','reason':'" reason "','message':" \
	"'m'}]"
#define WAITS(name, port, serial) CLAIM_OF(name, "", KNOWN(port, serial) READY("False", "InUse"))
#define DELETED \
	CLAIM_OF(STICK, "," MARKED ",'deletionTimestamp':'2026-01-01T00:00:00Z'", KNOWN("1-2", "A"))
#define PCI(meta)                                                                         \
	"{'metadata':{'name':'node1-000000140','uid':'p','resourceVersion':'1'" meta "}," \
	"'spec':{'nodeName':'node1'}}"
#define MOUNTED "{'kind':'use','usb':'1-2','reason':'Mounted','detail':'sdb1 is mounted at /mnt'}"
#define ROOTFS \
	"{'kind':'use','usb':'1-2','reason':'HostFilesystem','detail':'sdb1 is mounted at /'}"
#define UNSEEN    "{'kind':'use','usb':'1-2','reason':'Unknown','detail':'cannot look'}"
#define OVERRIDES "'annotations':{'hostdev.io/allow-host-critical':'true'}"
#define HUB \
	"{'kind':'usb','name':'1-2','bus':1,'device':5,'vendor':'0951','product':'1666','hub':true}"

static const struct task_outcome failed = { .result = TASK_FAILED,
					    .reason = (char[]){ "UnbindFailed" },
					    .message = (char[]){ "it is read-only" } };
static const struct task_outcome in_use = { .result = TASK_REFUSED,
					    .reason = (char[]){ "InUse" },
					    .message = (char[]){ "the host uses it" } };

static struct plan_case {
	const char *name;
	const char *plugged;
	const char *claims[2]; /* the first is read    */
	const char *line;      /* one more of the helper's  */
	const char *pci;       /* a PCIDeviceClaim          */
	const char *pod;       /* "": not known; NULL: none */
	bool fresh;
	bool taken;
	bool not_offered;
	bool out_of_reach;
	bool unlisted; /* the USBDevice is not at the API server yet */
	const char *step;
	const char *says[4];  /* parts of the body */
	const char *never[2]; /* not in it         */
	const char *event;    /* NULL: none        */
	const char *message;  /* NULL: any         */
	unsigned again_ms;
	uint64_t unproven_ms;
	bool acting;
	struct usb_rebind_state rebind;
} cases[] = {
	/* clang-format off */
	{ "a claim is marked first", "1-2=5:A", { NEW }, .step = "mark",
	  .says = { "wrangler.cattle.io/usbClaimClient-device-claim-remove", "\"ownerReferences\":[{\"apiVersion\":"
		    "\"devices.harvesterhci.io/v1beta1\"", "\"uid\":\"d1\"", "\"resourceVersion\":\"1\"" } },
	{ "harvester-api 2.5: an owner reference is not needed", "1-2=5:A", { CLAIM_OF(STICK, "," MARKED, "") },
	  .unlisted = true, .step = "tell", .says = { "\"portPath\":\"1-2\"" }, .event = "Normal Offered" },
	{ "an owner that the user gave is kept", "1-2=5:A", { CLAIM_OF(STICK, "," OWNED, "") }, .step = "mark",
	  .says = { "finalizers" }, .never = { "ownerReferences" } },
	{ "an owner of another kind is not the device", "1-2=5:A",
	  { CLAIM_OF(STICK, "," MARKED ",'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p','uid':'x'}]", "") },
	  .step = "mark", .says = { "\"kind\":\"Pod\"", "\"kind\":\"USBDevice\"" } },
	{ "others' finalizers stay", "1-2=5:A", { CLAIM_OF(STICK, ",'finalizers':['a.io/b']", "") }, .step = "mark",
	  .says = { "[\"a.io/b\",\"wrangler" } },
	{ "then it is reported which device it is for", "1-2.3=5:A", { CLAIM(STICK, "") }, .step = "tell",
	  .says = { "\"portPath\":\"1-2.3\"", "\"vendorID\":\"0951\",\"productID\":\"1666\",\"serialNumber\":\"A\"",
		    "\"nodeName\":\"node1\",\"pciAddress\":\"0000:00:14.0\"",
		    "port 1-2.3 is offered as kubevirt.io/node1-0951-1666-001005" },
	  .event = "Normal Offered" },
	{ "a device without a serial number is reported without one", "1-2=5", { CLAIM(STICK, "") }, .step = "tell",
	  .says = { "\"portPath\":\"1-2\"" }, .never = { "serialNumber" }, .event = "Normal Offered" },
	{ "what is reported already is not told again", "1-2=5:A",
	  { CLAIM(STICK, KNOWN("1-2", "A") ",'observedGeneration':1,'conditions':["
		  "{'type':'Accepted','status':'True','reason':'Accepted','message':'the device in port 1-2 may be claimed',"
		  "'observedGeneration':1,'lastTransitionTime':'2026-01-01T00:00:00Z'},"
		  "{'type':'Ready','status':'True','reason':'Ready','message':'port 1-2 is offered as kubevirt.io/" STICK "',"
		  "'observedGeneration':1,'lastTransitionTime':'2026-01-01T00:00:00Z'}]") },
	  .step = "rest" },
	{ "nor when its numbers are others", "1-2=99:A",
	  { CLAIM(STICK, KNOWN("1-2", "A") ",'observedGeneration':1,'conditions':["
		  "{'type':'Accepted','status':'True','reason':'Accepted','message':'the device in port 1-2 may be claimed',"
		  "'observedGeneration':1,'lastTransitionTime':'2026-01-01T00:00:00Z'},"
		  "{'type':'Ready','status':'True','reason':'Ready','message':'port 1-2 is offered as kubevirt.io/" STICK "',"
		  "'observedGeneration':1,'lastTransitionTime':'2026-01-01T00:00:00Z'}]") },
	  .step = "rest" },
	{ "a device that is not there is waited for, unmarked", "1-3=6:B", { NEW }, .step = "tell",
	  .says = { "DeviceNotFound" }, .never = { "portPath" }, .event = "Warning DeviceNotFound" },
	{ "what may be in use is refused", "1-2=5:A", { NEW }, UNSEEN, .step = "tell",
	  .says = { "\"reason\":\"UseUnknown\"", "cannot look" }, .never = { "finalizers" },
	  .event = "Warning UseUnknown" },
	{ "unless the claim overrides it", "1-2=5:A", { CLAIM_OF(STICK, "," OVERRIDES, "") }, UNSEEN,
	  .step = "mark", .says = { "finalizers" } },
	{ "what the node runs from cannot be overridden", "1-2=5:A", { CLAIM_OF(STICK, "," OVERRIDES, "") },
	  ROOTFS, .step = "tell", .says = { "\"reason\":\"HostFilesystem\"" }, .never = { "finalizers" },
	  .event = "Warning HostFilesystem" },
	{ "what the node runs from is refused", "1-2=5:A", { NEW }, ROOTFS, .step = "tell",
	  .says = { "\"reason\":\"HostFilesystem\"", "sdb1 is mounted at /", "\"portPath\":\"1-2\"" },
	  .never = { "finalizers" },
	  .event = "Warning HostFilesystem" },
	{ "what is mounted is refused", "1-2=5:A", { NEW }, MOUNTED, .step = "tell",
	  .says = { "\"reason\":\"InUse\"" }, .event = "Warning InUse" },
	{ "what was in use a moment ago is not taken at once", "1-2=5:A", { NEW }, .unproven_ms = 3000, .step = "rest",
	  .again_ms = 3000 },
	{ "nor by a claim that was refused for that", "1-2=5:A", { WAITS(STICK, "1-2", "A") }, .unproven_ms = 1,
	  .step = "rest", .again_ms = 1 },
	{ "nor is it told that it is offered again", "1-2=5:A", { CLAIM(STICK, KNOWN("1-2", "A") READY("False", "InUse")) },
	  .unproven_ms = 3000, .step = "rest", .again_ms = 3000 },
	{ "what else is wrong is reported at once", "", { NEW }, .unproven_ms = 3000, .step = "tell",
	  .says = { "DeviceNotFound" }, .event = "Warning DeviceNotFound" },
	{ "and a claim keeps what it has", "1-2=5:A", { CLAIM(STICK, KNOWN("1-2", "A")) }, .unproven_ms = 3000,
	  .step = "tell", .says = { "\"status\":\"True\"" }, .event = "Normal Offered" },
	{ "kubevirt-contract 1.4: a hub is refused", "", { NEW }, HUB, .step = "tell",
	  .says = { "\"reason\":\"Hub\"" }, .event = "Warning Hub" },
	{ "a device whose controller is claimed is refused", "1-2=5:A", { NEW }, .pci = PCI(""), .step = "tell",
	  .says = { "ControllerClaimed", "0000:00:14.0" }, .event = "Warning ControllerClaimed" },
	{ "a device that goes with its controller says so", "", { CLAIM(STICK, KNOWN("1-2", "A")) }, .pci = PCI(""),
	  .step = "tell", .says = { "ControllerClaimed" }, .event = "Warning ControllerClaimed" },
	{ "a device that a pod has by another resource is not claimed", "1-2=5:A", { NEW }, .pod = "pod default/vm",
	  .step = "tell", .says = { "\"reason\":\"InUse\"", "pod default/vm has the device: the claim waits until that pod is gone" },
	  .event = "Warning InUse" },
	{ "while nobody knows who has what, a new claim waits a moment", "1-2=5:A", { NEW }, .pod = "", .step = "rest",
	  .again_ms = 500 },
	{ "so does a device that has moved", "1-4=9:A", { CLAIM(STICK, KNOWN("1-2", "A")) }, .pod = "", .step = "rest",
	  .again_ms = 500 },
	{ "harvester-api 2.5: another device in the socket is not enabled by the claim", "1-2=5:B",
	  { CLAIM(STICK, KNOWN("1-2", "A")) }, .step = "tell",
	  .says = { "DifferentDevice", "serial number B" }, .never = { "\"portPath\":\"1-3\"", "\"serialNumber\":\"B\"" },
	  .event = "Warning DifferentDevice" },
	{ "an unplugged device is waited for, and stays the claim's", "", { CLAIM(STICK, KNOWN("1-2", "A")) },
	  .step = "tell", .says = { "DeviceGone" }, .never = { "\"portPath\":null" }, .event = "Warning DeviceGone" },
	{ "that is told of in an event once", "", { CLAIM(STICK, KNOWN("1-2", "A") READY("False", "DeviceGone")) },
	  .step = "tell" },
	{ "the device in another socket takes the claim along", "1-4=9:A", { CLAIM(STICK, KNOWN("1-2", "A")) },
	  .step = "tell", .says = { "\"portPath\":\"1-4\"" }, .event = "Normal Offered" },
	{ "but not while a pod has its unit", "1-4=9:A", { CLAIM(STICK, KNOWN("1-2", "A")) }, .pod = "pod default/vm",
	  .step = "tell", .says = { "DeviceGone" }, .never = { "1-4" }, .event = "Warning DeviceGone" },
	{ "another claim has the very device", "1-2=6:A",
	  { CLAIM_OF("node1-0951-1666-001006", "", ""), CLAIM(STICK, KNOWN("1-2", "A")) }, .step = "tell",
	  .says = { "DeviceNotFound" }, .event = "Warning DeviceNotFound" },

	{ "a refused claim says which device it waits for", "1-2=5:A", { NEW }, .pod = "pod default/vm", .step = "tell",
	  .says = { "\"reason\":\"InUse\"", "\"portPath\":\"1-2\",\"vendorID\":\"0951\",\"productID\":\"1666\"",
		    "\"serialNumber\":\"A\"" }, .event = "Warning InUse" },
	{ "but one with our finalizer would get it by that", "1-2=5:A", { CLAIM(STICK, "") }, .pod = "pod default/vm",
	  .step = "tell", .says = { "\"reason\":\"InUse\"" }, .never = { "portPath" }, .event = "Warning InUse" },
	{ "plugged in again, the device that a claim waits for is the claim's", "1-2=77:A", { WAITS(STICK, "1-2", "A") },
	  .step = "mark", .says = { "finalizers" } },
	{ "then it is told of", "1-2=77:A", { CLAIM(STICK, KNOWN("1-2", "A") READY("False", "InUse")) }, .step = "tell",
	  .says = { "offered as kubevirt.io/" STICK }, .event = "Normal Offered" },
	{ "plugged in again while the pod has it: it waits on", "1-2=77:A", { WAITS(STICK, "1-2", "A") },
	  .pod = "pod default/vm", .step = "tell", .says = { "\"reason\":\"InUse\"" }, .never = { "finalizers" } },
	{ "while nobody knows who has it, the claim that waits does so a moment more", "1-2=77:A",
	  { WAITS(STICK, "1-2", "A") }, .pod = "", .step = "rest", .again_ms = 500 },
	{ "the device that a claim waits for is unplugged", "", { WAITS(STICK, "1-2", "A") }, .step = "tell",
	  .says = { "DeviceGone" }, .never = { "\"portPath\":null" }, .event = "Warning DeviceGone" },
	{ "another one in the socket is not what it waits for", "1-2=5:B", { WAITS(STICK, "1-2", "A") }, .step = "tell",
	  .says = { "DifferentDevice", "serial number B" }, .never = { "\"serialNumber\":\"B\"" },
	  .event = "Warning DifferentDevice" },
	{ "what a claim waits for may be found in another socket", "1-4=9:A", { WAITS(STICK, "1-2", "A") }, .step = "mark" },
	{ "also while a pod has it", "1-4=9:A", { WAITS(STICK, "1-2", "A") }, .pod = "pod default/vm", .step = "tell",
	  .says = { "\"portPath\":\"1-4\"", "\"reason\":\"InUse\"" } },
	{ "a claim waits for the device of another, also when that is plugged in again", "1-2=77:A",
	  { WAITS(OTHER, "1-2", "A"), CLAIM(STICK, KNOWN("1-2", "A")) }, .step = "tell", .says = { "AlreadyClaimed", STICK },
	  .event = "Warning AlreadyClaimed" },
	{ "and gets it when that is gone", "1-2=77:A", { WAITS(OTHER, "1-2", "A") }, .step = "mark" },
	{ "of two claims that wait for one device the first by name gets it", "1-2=77:A",
	  { WAITS(STICK, "1-2", "A"), WAITS(OTHER, "1-2", "A") }, .step = "mark" },
	{ "and not the other", "1-2=77:A", { WAITS(OTHER, "1-2", "A"), WAITS(STICK, "1-2", "A") }, .step = "tell",
	  .says = { "AlreadyClaimed", STICK }, .event = "Warning AlreadyClaimed" },
	{ "an accepted claim without our finalizer gets that back, whatever a pod has", "1-2=5:A",
	  { CLAIM_OF(STICK, "", KNOWN("1-2", "A") READY("True", "Accepted")) }, .pod = "pod default/vm", .step = "mark" },
	{ "a claim that waited for its controller says so while the device is gone", "", { WAITS(STICK, "1-2", "A") },
	  .pci = PCI(""), .step = "tell", .says = { "ControllerClaimed" }, .event = "Warning ControllerClaimed" },

	{ "a name that claimed devices of another kind have", "1-2=5:A", { CLAIM(STICK, KNOWN("1-2", "A")) }, .taken = true,
	  .step = "tell", .says = { "\"type\":\"Accepted\",\"status\":\"True\"", "\"reason\":\"NameTaken\"",
				    "kubevirt.io/" STICK }, .event = "Warning NameTaken" },
	{ "a resource that the Node does not list yet is not ready", "1-2=5:A", { CLAIM(STICK, KNOWN("1-2", "A")) },
	  .not_offered = true, .step = "tell", .says = { "\"type\":\"Accepted\",\"status\":\"True\"", "\"reason\":\"NotOffered\"",
						      "does not list kubevirt.io/" STICK } },
	{ "and stays so", "1-2=5:A", { CLAIM(STICK, KNOWN("1-2", "A") READY("False", "NotOffered")) }, .not_offered = true,
	  .step = "tell", .says = { "\"reason\":\"NotOffered\"" } },
	{ "until it is listed", "1-2=5:A", { CLAIM(STICK, KNOWN("1-2", "A") READY("False", "NotOffered")) }, .step = "tell",
	  .says = { "\"reason\":\"Ready\"" }, .event = "Normal Offered" },
	{ "a claim that was ready stays so while the kubelet restarts", "1-2=5:A",
	  { CLAIM(STICK, KNOWN("1-2", "A") READY("True", "Ready")) }, .not_offered = true, .step = "tell",
	  .never = { "NotOffered" } },
	{ "a node whose owner cannot be changed away", "1-2=5:A", { CLAIM(STICK, KNOWN("1-2", "A")) }, .out_of_reach = true,
	  .step = "tell", .says = { "\"type\":\"Accepted\",\"status\":\"True\"", "\"reason\":\"NodeNotWritable\"",
				    "/dev/bus/usb/001/005 cannot be given to QEMU", "manifests/components/usb" },
	  .event = "Warning NodeNotWritable" },
	{ "a device that is gone says that first", "", { CLAIM(STICK, KNOWN("1-2", "A")) }, .taken = true, .step = "tell",
	  .says = { "DeviceGone" }, .never = { "NameTaken" }, .event = "Warning DeviceGone" },

	{ "a deleted claim that was never marked is nobody's business", "1-2=5:A",
	  { CLAIM_OF(STICK, ",'finalizers':['a.io/b'],'deletionTimestamp':'2026-01-01T00:00:00Z'", "") }, .step = "rest" },
	{ "a deleted claim is read again before it is released", "1-2=5:A", { DELETED }, .step = "read" },
	{ "then what pods have passed on of the device is ended", "1-2=5:A", { DELETED }, .fresh = true, .step = "rebind" },
	{ "then it is released", "1-2=5:A", { DELETED }, .fresh = true, .rebind = { .done = true }, .step = "unmark",
	  .says = { "\"finalizers\":[]", "\"uid\":\"u\"" }, .event = "Normal Released" },
	{ "what has moved to another socket has been unplugged, which ends all", "1-4=9:A", { DELETED }, .fresh = true,
	  .step = "unmark", .event = "Normal Released" },
	{ "what the node has mounted is not pulled away", "1-2=5:A", { DELETED }, MOUNTED, .fresh = true, .step = "unmark",
	  .event = "Normal Released", .message = "the device in port 1-2 is the node's again; the node uses it, so it was "
						 "not taken from processes that have it open" },
	{ "nor what it has mounted since, as the helper says", "1-2=5:A", { DELETED }, .fresh = true,
	  .rebind = { .failure = &in_use, .hold_ms = 1000 }, .step = "unmark", .event = "Normal Released" },
	{ "nor what it may use", "1-2=5:A", { DELETED }, UNSEEN, .fresh = true, .step = "unmark", .event = "Normal Released" },
	{ "unless the claim says that it does not", "1-2=5:A",
	  { CLAIM_OF(STICK, "," MARKED "," OVERRIDES ",'deletionTimestamp':'2026-01-01T00:00:00Z'", KNOWN("1-2", "A")) },
	  UNSEEN, .fresh = true, .step = "rebind" },
	{ "a claim that was never told its device never offered one", "1-2=5:A",
	  { CLAIM_OF(STICK, "," MARKED ",'deletionTimestamp':'2026-01-01T00:00:00Z'", "") }, .fresh = true, .step = "unmark" },
	{ "the status shows a helper that failed", "1-2=5:A", { DELETED }, .rebind = { .failure = &failed, .hold_ms = 1000 },
	  .step = "tell", .says = { "\"reason\":\"UnbindFailed\"", "it is read-only" }, .event = "Warning UnbindFailed" },
	{ "and waited for", "1-2=5:A",
	  { CLAIM_OF(STICK, "," MARKED ",'deletionTimestamp':'2026-01-01T00:00:00Z'",
		     KNOWN("1-2", "A") ",'observedGeneration':1,'conditions':[{'type':'Ready','status':'False','reason':"
		     "'UnbindFailed','message':'it is read-only','observedGeneration':1,"
		     "'lastTransitionTime':'2026-01-01T00:00:00Z'}]") },
	  .rebind = { .failure = &failed, .hold_ms = 1000 }, .step = "rest", .again_ms = 1000 },
	{ "then it is tried again", "1-2=5:A", { DELETED }, .fresh = true, .rebind = { .failure = &failed }, .step = "rebind" },
	{ "unless the device is gone by then", "", { DELETED }, .fresh = true,
	  .rebind = { .failure = &failed, .hold_ms = 1000 }, .step = "unmark", .event = "Normal Released" },
	{ "the status shows a helper that is stuck", "1-2=5:A", { DELETED }, .fresh = true, .rebind = { .stuck = (char[]){ "it sleeps" } },
	  .step = "tell", .says = { "\"reason\":\"Stuck\"", "it sleeps; the device is released when it ends" },
	  .event = "Warning Stuck" },
	{ "the status shows one that takes long, without an event", "1-2=5:A", { DELETED }, .acting = true, .step = "tell",
	  .says = { "\"reason\":\"Releasing\"" } },
	{ "also when the device is gone", "", { DELETED }, .fresh = true, .step = "unmark", .event = "Normal Released" },
	{ "also when another one is in the socket", "1-2=5:B", { DELETED }, .fresh = true, .step = "unmark",
	  .event = "Normal Released" },
	{ "while a pod has the device that is reported", "1-2=5:A", { DELETED }, .pod = "pod default/vm", .fresh = true,
	  .step = "tell", .says = { "\"holder\":\"pod default/vm\"", "\"reason\":\"Held\"" }, .event = "Warning Held" },
	{ "while nobody knows who has it, it waits a moment", "1-2=5:A", { DELETED }, .pod = "", .step = "rest",
	  .again_ms = 500 },
	/* clang-format on */
};

static const char *const steps[] = {
	[USB_CLAIM_REST] = "rest",         [USB_CLAIM_ADD_FINALIZER] = "mark",
	[USB_CLAIM_PATCH_STATUS] = "tell", [USB_CLAIM_READ] = "read",
	[USB_CLAIM_REBIND] = "rebind",     [USB_CLAIM_REMOVE_FINALIZER] = "unmark",
};

static const char *name_of(const struct plan_case *row)
{
	return strstr(row->claims[0], OTHER) ? OTHER : STICK;
}

static void open_case(struct sticks *node, const struct plan_case *row)
{
	sticks_plug_all(node, row->plugged);
	if (row->line)
		sticks_line(node, row->line);
	for (size_t i = 0; i < ARRAY_LEN(row->claims) && row->claims[i]; i++)
		sticks_claim(node, row->claims[i]);
	if (row->pci)
		sticks_put(node->pci_claims, &pcideviceclaim_kind, row->pci);
	sticks_scan(node);
}

static void assert_body(const struct plan_case *row, const json_t *body)
{
	auto_free char *text = body ? json_map_text(body) : xstrdup("");

	for (size_t i = 0; i < ARRAY_LEN(row->says) && row->says[i]; i++) {
		if (!strstr(text, row->says[i]))
			fail_msg("no %s in %s", row->says[i], text);
	}
	for (size_t i = 0; i < ARRAY_LEN(row->never) && row->never[i]; i++) {
		if (strstr(text, row->never[i]))
			fail_msg("%s in %s", row->never[i], text);
	}
}

static void assert_event(const struct plan_case *row, const struct usb_claim_decision *decision)
{
	auto_free char *event = NULL;

	if (!decision->event_reason) {
		assert_null(row->event);
		return;
	}
	event = xasprintf("%s %s", decision->warning ? "Warning" : "Normal",
			  decision->event_reason);
	assert_non_null(decision->event_message);
	assert_string_equal(event, row->event ? row->event : "");
	if (row->message)
		assert_string_equal(decision->event_message, row->message);
}

static void is_planned(void **state)
{
	const struct plan_case *row = suite_row(state);
	struct api_meta owner = { 0 };
	struct usb_claim_decision decision;
	struct sticks *node = *state;

	owner.name = xstrdup(STICK);
	owner.uid = xstrdup("d1");
	open_case(node, row);
	usb_claim_plan(&(struct usb_claim_case){ .node_name = "node1",
						 .claim = store_object(node->claims, name_of(row)),
						 .fresh = row->fresh,
						 .inventory = node->world.inventory,
						 .claims = node->claims,
						 .pci_claims = node->pci_claims,
						 .owner = row->unlisted ? NULL : &owner,
						 .held = row->pod,
						 .holder = row->pod && *row->pod ? row->pod : NULL,
						 .taken = row->taken,
						 .not_offered = row->not_offered,
						 .out_of_reach = row->out_of_reach,
						 .unproven_ms = row->unproven_ms,
						 .acting = row->acting,
						 .rebind = row->rebind,
						 .now_wall_ms = 1000 },
		       &decision);
	assert_string_equal(steps[decision.step], row->step);
	assert_body(row, decision.body);
	assert_event(row, &decision);
	assert_int_equal(decision.again_ms, row->again_ms);
	usb_claim_decision_done(&decision);
	free(owner.name);
	free(owner.uid);
}

static struct ours_case {
	const char *name;
	const char *claim;
	bool is;
} ours[] = {
	/* clang-format off */
	{ "a claim by a name of the node", NEW, true },
	{ "one that says the node", CLAIM_OF("anything", "", "'nodeName':'node1'"), true },
	{ "harvester-api 2.5: a claim of another node is left alone, whatever its name",
	  CLAIM_OF(STICK, "", "'nodeName':'node2'"), false },
	{ "a claim by another node's name", CLAIM_OF("node2-0951-1666-001005", "", ""), false },
	/* clang-format on */
};

static void is_ours(void **state)
{
	const struct ours_case *row = *state;
	auto_json json_t *json = object_json(row->claim);
	void *claim = NULL;

	assert_int_equal(api_object_decode(&usbdeviceclaim_kind, json, &claim, NULL), 0);
	assert_int_equal(usb_claim_is_ours("node1", claim), row->is);
	api_object_free(&usbdeviceclaim_kind, claim);
}

/* However a claim begins, with an API server that obeys it comes to rest. */
static void a_claim_comes_to_rest(void **state)
{
	struct sticks *node = *state;
	struct usb_claim_decision decision = { 0 };
	int writes = 0;

	sticks_plug_all(node, "1-2=5:A");
	sticks_claim(node, NEW);
	sticks_scan(node);
	for (;;) {
		struct usb_claim_case c = { .node_name = "node1",
					    .claim = store_object(node->claims, STICK),
					    .inventory = node->world.inventory,
					    .claims = node->claims,
					    .pci_claims = node->pci_claims,
					    .now_wall_ms = 1000 + writes };
		auto_json json_t *object = api_object_encode(&usbdeviceclaim_kind, c.claim);
		auto_free char *text = NULL;

		usb_claim_plan(&c, &decision);
		if (decision.step == USB_CLAIM_REST)
			break;
		object_merge(object, decision.body);
		text = json_map_text(object);
		sticks_claim(node, text);
		usb_claim_decision_done(&decision);
		assert_true(writes++ < 4);
	}
	assert_int_equal(writes, 2);
	assert_true(usbdeviceclaim_is_offered(store_object(node->claims, STICK)));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, ours, is_ours);
	suite_fixture(&suite, &sticks_fixture);
	suite_rows(&suite, cases, is_planned);
	suite_add(&suite, "a claim comes to rest after two writes", a_claim_comes_to_rest, NULL);
	return suite_run(&suite, "usb_claim_plan");
}
