/* admission_audit: the line of the audit trail and the event of each request. */
#include "controller/admission/admission_audit.h"

#include "api/meta.h"
#include "kube/events.h"
#include "unit/admission/cluster.h"
#include "unit/captured.h"

#define NAME              "node1-000001000"
#define CLAIM(meta, spec) "{'metadata':{'name':'" NAME "'" meta "},'spec':{" spec "}}"
#define TEN               "0123456789"
#define MINE              "'userName':'alice','nodeName':'node1'"

/* kube/events.h without an API server. */
struct events {
	struct str said;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	char message[256];
	va_list ap;

	assert_null(strstr(fmt, "alice"));
	str_addf(&events->said, "%s %s %s %s %s: ", about->kind->kind, about->meta->name,
		 about->meta->uid, type == EVENTS_WARNING ? "Warning" : "Normal", reason);
	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	str_add(&events->said, message);
}

#define REFUSED(kind, name, action)                                                      \
	kind " " name " u-" name " Warning ClaimRefused: the webhook refused to " action \
	     ": the controller's log has the user and the cause"
#define DOUBTED "; it is not verified that an API server sent the request"
#define VM(device)                                                                            \
	"{'metadata':{'name':'web','namespace':'team'},'spec':{'template':{'spec':{'domain':" \
	"{'devices':{'hostDevices':[{" device "}]}}}}}}"
#define HELD                                                                               \
	"{'kind':'PCIDevice','metadata':{'name':'" NAME "','uid':'u-" NAME "'},'status':{" \
	"'address':'0000:01:00.0','nodeName':'node1','allocations':[{'namespace':'team-b','pod':'vm'}]}}"
#define HAS_CLAIM "{'kind':'PCIDeviceClaim','metadata':{'name':'" NAME "','uid':'c'}}"

/* clang-format off */
static struct audit_case {
	struct cluster_case request;
	const char *line; /* NULL: none */
	const char *event; /* NULL: it is a request that the rules refuse or not */
} cases[] = {
	{ { .name = "a claim", .operation = ADMISSION_CREATE, .resource = "pcideviceclaims", .object = CLAIM("", MINE) },
	  "level=info msg=audit action=claim result=Done user=alice owner=alice kind=PCIDevice device=" NAME " node=node1 "
	  "reason=Claimed message=\"a claim of the device was created\" verified=true\n",
	  "" },
	{ { .name = "a claim for another", .operation = ADMISSION_CREATE, .resource = "pcideviceclaims", .user = "boss",
	    .object = CLAIM("", MINE) },
	  "action=claim result=Done user=boss owner=alice ", "" },
	{ { .name = "a refused claim says why, its event does not", .operation = ADMISSION_CREATE,
	    .resource = "pcideviceclaims", .object = CLAIM("", MINE), .refused = "pod team-b/vm has it" },
	  "level=warn msg=audit action=claim result=Refused user=alice owner=alice kind=PCIDevice device=" NAME " node=node1 "
	  "reason=ClaimRefused message=\"pod team-b/vm has it\" verified=true\n",
	  REFUSED("PCIDevice", NAME, "create a claim of the device") },
	{ { .name = "a review that anybody may have sent says so", .operation = ADMISSION_CREATE,
	    .resource = "pcideviceclaims", .object = CLAIM("", MINE) },
	  "reason=Claimed message=\"a claim of the device was created\" verified=false\n", "" },
	{ { .name = "also if it is refused, and so does the event", .operation = ADMISSION_CREATE,
	    .resource = "pcideviceclaims", .object = CLAIM("", MINE), .refused = "no" },
	  "reason=ClaimRefused message=no verified=false\n",
	  REFUSED("PCIDevice", NAME, "create a claim of the device") DOUBTED },
	{ { .name = "a claim of what is not there has no event", .operation = ADMISSION_CREATE,
	    .resource = "pcideviceclaims", .object = "{'metadata':{'name':'x'}}", .refused = "no such device" },
	  "action=claim result=Refused user=alice kind=PCIDevice device=x reason=ClaimRefused", "" },
	{ { .name = "a changed spec", .operation = ADMISSION_UPDATE, .resource = "pcideviceclaims",
	    .object = CLAIM("", MINE ",'driver':'x'"), .old = CLAIM("", MINE) },
	  "action=change result=Done ", "" },
	{ { .name = "and what is changed", .operation = ADMISSION_UPDATE, .resource = "pcideviceclaims",
	    .object = CLAIM("", MINE ",'driver':'x','includeIOMMUGroup':true,'disableResourcePooling':false"),
	    .old = CLAIM("", MINE ",'release':'y','disableResourcePooling':true") },
	  "message=\"the claim of the device was changed: spec.driver is \\\"x\\\", spec.includeIOMMUGroup is true, "
	  "spec.disableResourcePooling is false, spec.release is removed\" verified=true\n", "" },
	{ { .name = "a changed annotation", .operation = ADMISSION_UPDATE, .resource = "pcideviceclaims",
	    .object = CLAIM(",'annotations':{'hostdev.io/allow-host-critical':'true'}", MINE), .old = CLAIM("", MINE) },
	  "action=change result=Done user=alice owner=alice kind=PCIDevice device=" NAME " node=node1 reason=ClaimChanged "
	  "message=\"the claim of the device was changed: allow-host-critical is \\\"true\\\"\" verified=true\n", "" },
	{ { .name = "another one", .operation = ADMISSION_UPDATE, .resource = "pcideviceclaims",
	    .object = CLAIM(",'annotations':{'pcidevice.harvesterhci.io/override-resource-name':'x.com/y'}", MINE),
	    .old = CLAIM(",'annotations':{'hostdev.io/allow-host-critical':'true'}", MINE) },
	  "was changed: allow-host-critical is removed, override-resource-name is \\\"x.com/y\\\"\" verified", "" },
	{ { .name = "one that is not ours", .operation = ADMISSION_UPDATE, .resource = "pcideviceclaims",
	    .object = CLAIM(",'annotations':{'a':'b'}", MINE), .old = CLAIM("", MINE) },
	  "message=\"the claim of the device was changed\" verified=true\n", "" },
	{ { .name = "long and dirty values", .operation = ADMISSION_UPDATE, .resource = "pcideviceclaims", .old = CLAIM("", MINE),
	    .object = CLAIM("", MINE ",'driver':'\\n" TEN TEN TEN TEN TEN TEN TEN "'") },
	  "spec.driver is \\\"\\\\x0a" TEN TEN TEN TEN TEN TEN "012...\\\"\" verified", "" },
	{ { .name = "many fields", .operation = ADMISSION_UPDATE, .resource = "pcideviceclaims", .old = CLAIM("", MINE),
	    .object = CLAIM("", MINE ",'a':1,'b':2,'c':3,'d':4,'e':5,'f':6,'g':7,'h':{},'i':9,'j':10") },
	  "spec.g is 7, spec.h is changed, and more\" verified", "" },
	{ { .name = "a claim of what the node needs", .operation = ADMISSION_CREATE, .resource = "pcideviceclaims",
	    .object = CLAIM(",'annotations':{'hostdev.io/allow-host-critical':'true'}",
			    MINE ",'address':'0000:01:00.0','includeIOMMUGroup':true,'disableResourcePooling':false") },
	  "message=\"a claim of the device was created: allow-host-critical is \\\"true\\\", spec.includeIOMMUGroup is true\" ", "" },
	{ { .name = "a finalizer is no change", .operation = ADMISSION_UPDATE, .resource = "pcideviceclaims",
	    .object = CLAIM(",'finalizers':['a']", MINE), .old = CLAIM("", MINE) }, NULL, "" },
	{ { .name = "a deletion", .operation = ADMISSION_DELETE, .resource = "pcideviceclaims", .old = CLAIM("", MINE) },
	  "action=unclaim result=Done user=alice ", "" },
	{ { .name = "a deletion before the pod is gone is refused, and nothing is wrong", .operation = ADMISSION_DELETE,
	    .resource = "pcideviceclaims", .old = CLAIM("", MINE), .more = HELD, .refused = "conflict: pod team-b/vm has it" },
	  "level=info msg=audit action=unclaim result=Refused user=alice owner=alice kind=PCIDevice device=" NAME " node=node1 "
	  "reason=ClaimRefused message=\"conflict: pod team-b/vm has it\" verified=true\n",
	  "PCIDevice " NAME " u-" NAME " Normal ClaimRefused: its claim was not deleted: a pod has the device" },
	{ { .name = "one that is refused for another reason is a warning", .operation = ADMISSION_DELETE,
	    .resource = "pcideviceclaims", .old = CLAIM("", MINE), .more = HELD, .refused = "no" },
	  "level=warn msg=audit action=unclaim result=Refused ", REFUSED("PCIDevice", NAME, "delete the claim of the device") },
	{ { .name = "and so is a conflict without a pod", .operation = ADMISSION_DELETE, .resource = "pcideviceclaims",
	    .old = CLAIM("", MINE), .refused = "conflict: a vGPU's" },
	  "level=warn msg=audit action=unclaim result=Refused ", REFUSED("PCIDevice", NAME, "delete the claim of the device") },
	{ { .name = "a claim that exists already is not created", .operation = ADMISSION_CREATE,
	    .resource = "pcideviceclaims", .object = CLAIM("", MINE), .more = HAS_CLAIM }, NULL, "" },
	{ { .name = "but its refusal is told", .operation = ADMISSION_CREATE, .resource = "pcideviceclaims",
	    .object = CLAIM("", MINE), .more = HAS_CLAIM, .refused = "no" }, "result=Refused ",
	  REFUSED("PCIDevice", NAME, "create a claim of the device") },
	{ { .name = "a dry run is not told", .operation = ADMISSION_CREATE, .resource = "pcideviceclaims",
	    .object = CLAIM("", MINE), .dry_run = true }, NULL, "" },
	{ { .name = "a claim of a USB device", .operation = ADMISSION_CREATE, .resource = "usbdeviceclaims",
	    .object = "{'metadata':{'name':'" STICK "'}}" },
	  "action=claim result=Done user=alice kind=USBDevice device=" STICK " node=node1 ", "" },
	{ { .name = "the settings of a card", .operation = ADMISSION_UPDATE, .resource = "sriovnetworkdevices",
	    .object = "{'metadata':{'name':'node1-eth0'},'spec':{'numVFs':2,'nodeName':'node1'}}",
	    .old = "{'metadata':{'name':'node1-eth0'},'spec':{'numVFs':0,'nodeName':'node1'}}" },
	  "action=configure result=Done user=alice kind=SRIOVNetworkDevice device=node1-eth0 node=node1 "
	  "message=\"spec.numVFs is 2\" verified=true\n", "" },
	{ { .name = "the refused deletion of a device", .operation = ADMISSION_DELETE, .resource = "pcidevices", .more = HAS_CLAIM,
	    .old = "{'metadata':{'name':'" NAME "'},'status':{'nodeName':'node1'}}" },
	  "level=warn msg=audit action=delete result=Refused user=alice kind=PCIDevice device=" NAME " node=node1 message=\"PCIDevice '"
	  NAME "': PCIDeviceClaim '" NAME "' would be deleted with it", NULL },
	{ { .name = "a refused virtual machine", .operation = ADMISSION_CREATE, .resource = "virtualmachines",
	    .object = VM("'name':'" NAME "','deviceName':'x.com/no'") },
	  "level=warn msg=audit action=use result=Refused user=alice kind=PCIDevice device=" NAME " node=node1 resource=x.com/no "
	  "message=\"VirtualMachine 'team/web': device '" NAME "' requests resource", NULL },
	{ { .name = "and which one", .operation = ADMISSION_CREATE, .resource = "virtualmachines",
	    .object = VM("'name':'" NAME "','deviceName':'x.com/no'") }, " vm=team/web verified=true\n", NULL },
	{ { .name = "one that names no device of ours", .operation = ADMISSION_CREATE, .resource = "virtualmachines",
	    .object = VM("'name':'gpu1','deviceName':'x.com/no'") }, "user=alice resource=x.com/no message=", NULL },
	{ { .name = "a virtual machine that is admitted", .operation = ADMISSION_CREATE, .resource = "virtualmachines",
	    .object = VM("'name':'" NAME "','deviceName':'x.com/e1000e'") }, NULL, NULL },
	{ { .name = "a dry run of a refused one", .operation = ADMISSION_CREATE, .resource = "virtualmachines", .dry_run = true,
	    .object = VM("'name':'" NAME "','deviceName':'x.com/no'") }, NULL, NULL },
	{ { .name = "a refused pod", .operation = ADMISSION_CREATE, .resource = "pods",
	    .object = "{'metadata':{'name':'web-1','namespace':'team'},'spec':{'nodeName':'node2','containers':[{'name':'c',"
		      "'resources':{'limits':{'x.com/igb':'1'}}}]}}" },
	  "action=use result=Refused user=alice node=node2 pod=team/web-1 resource=x.com/igb message=", NULL },
	{ { .name = "a device's own object is no claim", .operation = ADMISSION_DELETE, .resource = "pcidevices",
	    .old = "{'metadata':{'name':'" NAME "'}}" }, NULL, "" },
};
/* clang-format on */

static const struct audit_case *asked;
static struct events events;

static void ask(const struct known *known, const struct admission_request *request,
		struct admission_answer *answer)
{
	const struct admission_trail trail = { .events = &events };

	if (!asked->event)
		rules_validate(known, request, answer);
	if (asked->request.refused)
		admission_answer_refuse(
			answer, strncmp(asked->request.refused, "conflict", 8) == 0 ? 409 : 403,
			"%s", asked->request.refused);
	admission_audit_refusal(known, &trail, request, answer);
	admission_audit(known, &trail, request, answer);
}

static void the_request_is_told(void **state)
{
	struct admission_answer answer;
	struct captured captured;
	struct cluster cluster;
	auto_free char *text = NULL;

	asked = *state;
	cluster_open(&cluster);
	cluster.known.refuse_pinned = true;
	cluster.unverified = asked->line && strstr(asked->line, "verified=false");
	if (asked->request.more)
		cluster_put_all(&cluster, asked->request.more);
	captured_begin(&captured);
	cluster_ask(&cluster, &asked->request, ask, &answer);
	text = captured_end(&captured);
	if (!asked->line)
		assert_string_equal(text, "");
	else if (!strstr(text, asked->line))
		fail_msg("no '%s' in '%s'", asked->line, text);
	assert_string_equal(str_cstr(&events.said), asked->event ? asked->event : "");
	str_done(&events.said);
	admission_answer_done(&answer);
	cluster_close(&cluster);
}

int main(void)
{
	struct suite suite = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		suite_add(&suite, cases[i].request.name, the_request_is_told, &cases[i]);
	return suite_run(&suite, "admission_audit");
}
