#include "unit/suite.h"

#include <string.h>

#include "api/names.h"
#include "cli/claim_wait.h"
#include "cli/client/pod_facts.h"
#include "cli/command.h"
#include "unit/cli/made.h"

#define CLAIM(meta, status)                                                                               \
	"{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'PCIDeviceClaim','metadata':{'name':'a'," \
	"'uid':'u1'" meta "},'status':{" status "}}"
#define READY(status, reason, message) \
	"'conditions':[" MADE_CONDITION("Ready", status, reason, message) "]"

static struct progress_case {
	const char *name;
	enum claim_goal goal;
	const char *json; /* NULL: there is no claim */
	enum claim_progress progress;
	const char *line;
} cases[] = {
	{ "a claim that nobody has seen waits", CLAIM_READY, CLAIM("", ""), PROGRESS_WAITING,
	  "waiting for the agent of its node" },
	{ "and the agent that is waited for is named", CLAIM_READY,
	  "{'metadata':{'name':'a','uid':'u1'},'spec':{'nodeName':'vm1'}}", PROGRESS_WAITING,
	  "waiting for the agent of node vm1" },
	{ "what it waits for is said", CLAIM_READY,
	  CLAIM("", READY("False", "InUse", "eth0 is up")), PROGRESS_WAITING, "InUse: eth0 is up" },
	{ "the rest of a group is to be claimed, too, by a flag", CLAIM_READY,
	  CLAIM("", READY("False", "GroupShared",
			  "group 7 also holds 01:00.1: claim them too, or set "
			  "spec.includeIOMMUGroup")),
	  PROGRESS_SHARED,
	  "GroupShared: group 7 also holds 01:00.1: claim them too, or use --include-group" },
	{ "and who holds it", CLAIM_READY,
	  CLAIM("", "'holder':'pid 7'," READY("False", "Held", "in use")), PROGRESS_WAITING,
	  "Held: in use (pid 7)" },
	{ "but not twice", CLAIM_READY,
	  CLAIM("", "'holder':'pid 7'," READY("False", "Held", "pid 7 has it")), PROGRESS_WAITING,
	  "Held: pid 7 has it" },
	{ "Unknown is not ready", CLAIM_READY, CLAIM("", READY("Unknown", "Binding", "")),
	  PROGRESS_WAITING, "Binding" },
	{ "Ready of before a change is not the goal", CLAIM_READY,
	  CLAIM(",'generation':2", "'observedGeneration':1," READY("True", "Ready", "bound")),
	  PROGRESS_WAITING, "waiting for the agent of its node" },
	{ "Ready of after it is", CLAIM_READY,
	  CLAIM(",'generation':2", "'observedGeneration':2," READY("True", "Ready", "bound")),
	  PROGRESS_DONE, "" },
	{ "ready is the goal", CLAIM_READY, CLAIM("", READY("True", "Ready", "bound")),
	  PROGRESS_DONE, "" },
	{ "a claim that is deleted meanwhile is lost, even if it is ready", CLAIM_READY,
	  CLAIM(",'deletionTimestamp':'2026-01-02T03:00:00Z'", READY("True", "Ready", "")),
	  PROGRESS_LOST, "the claim was deleted" },
	{ "a driver that no agent allows is refused for good", CLAIM_READY,
	  CLAIM("", READY("False", "DriverNotAllowed", "evil is none")), PROGRESS_REFUSED,
	  "DriverNotAllowed: evil is none" },
	{ "so is one that is gone", CLAIM_READY, NULL, PROGRESS_LOST, "the claim was deleted" },
	{ "a node that is not well goes before all", CLAIM_READY,
	  CLAIM("",
		"'conditions':[" MADE_CONDITION("Ready", "False", "Binding", "") "," MADE_CONDITION(
			"NodeReachable", "False", "NodeGone", "no such node") "]"),
	  PROGRESS_WAITING, "NodeGone: no such node" },
	{ "gone is the other goal", CLAIM_GONE, NULL, PROGRESS_DONE, "" },
	{ "still there waits", CLAIM_GONE,
	  CLAIM(",'deletionTimestamp':'2026-01-02T03:00:00Z'", READY("False", "Held", "pod a/b")),
	  PROGRESS_WAITING, "Held: pod a/b" },
	{ "what was ready has yet to begin", CLAIM_GONE,
	  CLAIM(",'deletionTimestamp':'2026-01-02T03:00:00Z'", READY("True", "Ready", "bound")),
	  PROGRESS_WAITING, "waiting for the agent of its node" },
	{ "a finalizer of somebody else keeps it", CLAIM_GONE,
	  CLAIM(",'deletionTimestamp':'2026-01-02T03:00:00Z','finalizers':['a.com/keep']",
		READY("False", "Released", "the device was released")),
	  PROGRESS_KEPT,
	  "the device is released; the finalizer 'a.com/keep' keeps the claim. An administrator can "
	  "remove the finalizer: kubectl patch pcideviceclaim a --type=merge -p "
	  "'{\"metadata\":{\"finalizers\":null}}'" },
	{ "not while hostdev's is there, too", CLAIM_GONE,
	  CLAIM(",'deletionTimestamp':'2026-01-02T03:00:00Z','finalizers':['a.com/keep',"
		"'" NAMES_FINALIZER_HARVESTER_PCI "']",
		READY("False", "Held", "pod a/b")),
	  PROGRESS_WAITING, "Held: pod a/b" },
	{ "nor before it is deleted", CLAIM_GONE,
	  CLAIM(",'finalizers':['a.com/keep']", READY("False", "Held", "pod a/b")),
	  PROGRESS_WAITING, "Held: pod a/b" },
	{ "another claim of that name is not it", CLAIM_GONE,
	  "{'metadata':{'name':'a','uid':'u2'}}", PROGRESS_DONE, "" },
	{ "nor is it waited for", CLAIM_READY, "{'metadata':{'name':'a','uid':'u2'}}",
	  PROGRESS_LOST, "the claim was deleted" },
	{ "messages are cleaned", CLAIM_READY, CLAIM("", READY("False", "X", "a\\u001b[2Jb")),
	  PROGRESS_WAITING, "X: a\\x1b[2Jb" },
};

static void claim_stands_so(void **state)
{
	const struct progress_case *c = *state;
	auto_free char *json = c->json ? made_json(c->json) : NULL;
	auto_str struct str line = STR_INIT;

	assert_int_equal(claim_progress(c->goal, DEVICE_PCI, json, "u1", &line), c->progress);
	assert_string_equal(str_cstr(&line), c->line);
}

static struct refusal_case {
	const char *name;
	const char *refusal;
	const char *ns; /* NULL: no pod is named */
	const char *pod;
} refusals[] = {
	{ "a pod in a refusal", "PCIDeviceClaim 'a': pod default/try has it: delete the pod",
	  "default", "try" },
	{ "a claim that is called so", "PCIDeviceClaim 'pod a': pod b/c has it", "b", "c" },
	{ "no pod", "PCIDeviceClaim 'a': it is used", NULL, NULL },
	{ "a pod without a namespace", "pod x has it", NULL, NULL },
	{ "the end", "pod ", NULL, NULL },
};

static void refusal_names_a_pod(void **state)
{
	const struct refusal_case *c = *state;
	auto_free char *ns = NULL;
	auto_free char *pod = NULL;

	assert_int_equal(claim_wait_pod(c->refusal, &ns, &pod), c->ns != NULL);
	if (c->ns) {
		assert_string_equal(ns, c->ns);
		assert_string_equal(pod, c->pod);
	}
}

#define LEFT(name_)                                    \
	{                                              \
		.target = {.name = (char[]){ name_ } } \
	}
#define DENIED(name_)                                                   \
	{                                                               \
		.target = { .name = (char[]){ name_ } }, .denied = true \
	}
#define KEPT(name_)                                                   \
	{                                                             \
		.target = { .name = (char[]){ name_ } }, .kept = true \
	}
#define GONE(name_)                                                   \
	{                                                             \
		.target = { .name = (char[]){ name_ } }, .done = true \
	}

static struct late_case {
	const char *name;
	enum claim_goal goal;
	struct claim_wait waits[3];
	size_t len;
	const char *text;
} lates[] = {
	{ "one that is being released",
	  CLAIM_GONE,
	  { LEFT("a"), GONE("b") },
	  2,
	  "Timed out (--timeout): 1 device is not released: a. It will be once the reason above is "
	  "resolved." },
	{ "two",
	  CLAIM_GONE,
	  { LEFT("a"), LEFT("b") },
	  2,
	  "Timed out (--timeout): 2 devices are not released: a, b. They will be once the reason "
	  "above is resolved." },
	{ "one whose claim is not deleted will not be",
	  CLAIM_GONE,
	  { DENIED("a") },
	  1,
	  "Timed out (--timeout): 1 device is not released: a." },
	{ "one of both",
	  CLAIM_GONE,
	  { DENIED("a"), LEFT("b"), GONE("c") },
	  3,
	  "Timed out (--timeout): 2 devices are not released: a, b. Those whose claim is deleted will "
	  "be once the reason above is resolved." },
	{ "one whose claim a finalizer keeps",
	  CLAIM_GONE,
	  { KEPT("a"), GONE("b") },
	  2,
	  "Timed out (--timeout): 1 device is released, but its claim is not deleted: a." },
	{ "and one that is being released",
	  CLAIM_GONE,
	  { KEPT("a"), LEFT("b") },
	  2,
	  "Timed out (--timeout): 2 devices are not released: a, b. They will be once the reason "
	  "above is resolved." },
	{ "claims stay",
	  CLAIM_READY,
	  { LEFT("a"), LEFT("b") },
	  2,
	  "Timed out (--timeout): 2 claims are not ready: a, b. They stay; `kubectl hostdev why` shows "
	  "what it waits for, `kubectl hostdev release` deletes them." },
};

static void late_is_told(void **state)
{
	const struct late_case *c = *state;
	auto_free char *text = claim_wait_late(c->goal, c->waits, c->len);

	assert_string_equal(text, c->text);
}

static struct facts_case {
	const char *name;
	const char *json;
	const char *machine; /* "" for NULL */
	const char *started;
	bool deleted;
} facts[] = {
	{ "a machine by its label",
	  "{'metadata':{'labels':{'vm.kubevirt.io/name':'m'}},'status':{'startTime':'t'}}", "m",
	  "t", false },
	{ "a machine by its owner",
	  "{'metadata':{'ownerReferences':[{'kind':'X','name':'x'},"
	  "{'kind':'VirtualMachineInstance','name':'m'}]}}",
	  "m", "", false },
	{ "a pod of no machine", "{'metadata':{'ownerReferences':[{'kind':'Job','name':'x'}]}}", "",
	  "", false },
	{ "what is no pod", "[]", "", "", false },
	{ "a pod that is being deleted",
	  "{'metadata':{'deletionTimestamp':'2026-01-02T03:00:00Z'},'status':{'phase':'Running'}}",
	  "", "", true },
	{ "a pod that has ended", "{'status':{'phase':'Succeeded'}}", "", "", true },
	{ "a pod that runs", "{'status':{'phase':'Running'}}", "", "", false },
};

SUITE_CLOSING(pod_facts, struct pod_facts, pod_facts_done);

static void pod_has_facts(void **state)
{
	const struct facts_case *c = suite_row(state);
	auto_free char *json = made_json(c->json);
	struct pod_facts *found = *state;

	assert_int_equal(pod_facts_parse(json, strlen(json), found, NULL), 0);
	assert_string_equal(found->machine ? found->machine : "", c->machine);
	assert_string_equal(found->started ? found->started : "", c->started);
	assert_int_equal(found->deleted, c->deleted);
}

static void worse_is_an_interrupt_then_a_refusal_then_a_wait(void **state)
{
	assert_int_equal(claim_worse(COMMAND_OK, COMMAND_OK), COMMAND_OK);
	assert_int_equal(claim_worse(COMMAND_OK, COMMAND_LATE), COMMAND_LATE);
	assert_int_equal(claim_worse(COMMAND_FAILED, COMMAND_LATE), COMMAND_FAILED);
	assert_int_equal(claim_worse(COMMAND_LATE, COMMAND_FAILED), COMMAND_FAILED);
	assert_int_equal(claim_worse(COMMAND_FAILED, COMMAND_INTERRUPTED), COMMAND_INTERRUPTED);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, claim_stands_so);
	suite_rows(&suite, refusals, refusal_names_a_pod);
	suite_rows(&suite, lates, late_is_told);
	suite_add(&suite, "worse is an interrupt, then a refusal, then a wait",
		  worse_is_an_interrupt_then_a_refusal_then_a_wait, NULL);
	suite_fixture(&suite, &pod_facts_fixture);
	suite_rows(&suite, facts, pod_has_facts);
	return suite_run(&suite, "claim_wait");
}
