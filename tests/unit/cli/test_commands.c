/* What whole commands print, and their exit status, with answers from a script. */
#include "unit/suite.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/commands.h"
#include "fake/fake_client.h" /* the build looks for it */
#include "unit/captured.h"
#include "unit/cli/made.h"
#include "unit/cli/scene.h"

/* Run @command; the caller frees what it prints on standard output, or on standard error with
 * @errors. */
static char *printed(struct scene *scene, const struct command *command,
		     const struct command_settings *settings, const char *const *words, bool errors,
		     int *ret_status)
{
	struct command_run run = {
		.command = command,
		.settings = *settings,
		.session = scene->session,
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): no other cast drops const */
		.words = (char *const *)(uintptr_t)words,
	};
	struct captured captured;
	char *text;

	while (words[run.words_len])
		run.words_len++;
	(void)fflush(stdout);
	captured_begin_fd(&captured, errors ? STDERR_FILENO : STDOUT_FILENO);
	*ret_status = command->run(&run);
	(void)fflush(stdout);
	text = captured_end(&captured);
	str_done(&run.out.text);
	return text;
}

/* clang-format off */
#define DEVICE(name, address, more)                                                              \
	"{'metadata':{'name':'" name "'},'status':{'nodeName':'n','address':'" address "'," \
	"'resourceName':'x.com/y','iommuGroup':'1','iommuGroupMembers':['0000:01:00.0','0000:01:00.1']," \
	"'kernelDriverInUse':'nvme','conditions':[" more "}}"
#define FREE     DEVICE("a", "0000:01:00.0", MADE_CONDITION("Claimable", "True", "Available", "") "]")
#define SHARED(name, address) DEVICE(name, address, MADE_CONDITION("Claimable", "True", "GroupShared", "") "]")
#define BOTH     SHARED("a", "0000:01:00.0") "," SHARED("b", "0000:01:00.1")
#define CRITICAL DEVICE("a", "0000:01:00.0", MADE_CONDITION("Claimable", "False", "HostNetwork", "") "]")
#define IN_POD   DEVICE("a", "0000:01:00.0", MADE_CONDITION("Claimable", "True", "Available", "") \
	"],'allocations':[{'namespace':'t','pod':'p','container':'c'}]")
#define CLAIM    "{'metadata':{'name':'a'}}"
#define LIST(items) "{'metadata':{'resourceVersion':'1'},'items':[" items "]}"
#define DEVICES(items) { "/pcidevices?limit", 200, LIST(items) }
#define CLAIMS(items)  { "/pcideviceclaims?limit", 200, LIST(items) }
#define SAYS(status, message) { DRY_RUN, status, "{'kind':'Status','message':'" message "'}" }
#define DRY_RUN "/pcideviceclaims?fieldManager=kubectl-hostdev&dryRun=All"
#define CREATED { DRY_RUN, 201, CLAIM }
/* clang-format on */

/* --- plan ------------------------------------------------------------------------------------- */

/* clang-format off */
static struct plan_case {
	const char *name;
	bool release;
	struct scene_line lines[6];
	int status;
	const char *text; /* the beginning of what is printed */
} plans[] = {
	{ "a claim that would be accepted", false,
	  { DEVICES(FREE), CLAIMS(""), CREATED },
	  COMMAND_OK, "a: would be accepted\n" },
	{ "one that would wait for its group", false,
	  { DEVICES(BOTH), CLAIMS(""), CREATED, CREATED },
	  COMMAND_OK, "a: would wait: GroupShared\n" },
	{ "one that would wait until the node can spare the device", false,
	  { DEVICES(CRITICAL), CLAIMS(""), CREATED },
	  COMMAND_OK, "a: would wait: HostNetwork\n" },
	{ "one that would wait for a pod", false,
	  { DEVICES(IN_POD), CLAIMS(""), CREATED },
	  COMMAND_OK, "a: would wait\n  pod t/p has it: the agent waits until it ends\n" },
	{ "one that would be refused", false,
	  { DEVICES(FREE), CLAIMS(""), SAYS(403, "no") },
	  COMMAND_FAILED, "a: would be refused\n  no\n" },
	{ "one that nobody could check", false,
	  { DEVICES(FREE), CLAIMS(""), SAYS(500, "no webhook") },
	  COMMAND_FAILED, "a: could not be checked\n" },
	{ "a release that the API server refuses while a pod has the device", true,
	  { DEVICES(IN_POD), CLAIMS(CLAIM),
	    { "/pcideviceclaims/a?", 409, "{'kind':'Status','message':'pod t/p has it'}" } },
	  COMMAND_FAILED, "a: would wait\n  pod t/p has it\n" },
};
/* clang-format on */

static void plan_has_its_status(void **state)
{
	const struct plan_case *c = suite_row(state);
	const struct command_settings settings = { .release = c->release };
	struct scene *scene = *state;
	auto_free char *text = NULL;
	static const char *const words[] = { "a", NULL };
	int status = -1;

	scene_begin(scene, c->lines);
	text = printed(scene, &plan_command, &settings, words, false, &status);
	assert_memory_equal(text, c->text, strlen(c->text));
	assert_int_equal(status, c->status);
}

/* --- claim --resource ------------------------------------------------------------------------- */

#define RULES(verbs)                                                                               \
	{                                                                                          \
		"/selfsubjectrulesreviews", 201,                                                   \
			"{'status':{'incomplete':false,'resourceRules':["                          \
			"{'verbs':[" verbs                                                         \
			"],'apiGroups':['devices.harvesterhci.io'],'resources':['pcidevices']}]}}" \
	}

/* clang-format off */
static struct pick_case {
	const char *name;
	struct scene_line lines[6];
	const char *text; /* a part of what is printed on standard error */
} picks[] = {
	{ "a shared group, for a user who may claim groups",
	  { RULES("'claim','claim-group'"), DEVICES(BOTH), CLAIMS("") },
	  "\n  2 in a shared IOMMU group, which needs --include-group: a, b\n" },
	{ "for one who may not",
	  { RULES("'claim'"), DEVICES(BOTH), CLAIMS("") },
	  "\n  2 in a shared IOMMU group, which needs the verb claim-group: ask an administrator: a, b\n" },
	{ "if rights are not known",
	  { DEVICES(BOTH), CLAIMS("") },
	  "\n  2 in a shared IOMMU group, which needs --include-group: a, b\n" },
};
/* clang-format on */

static void pick_advises_by_rights(void **state)
{
	const struct pick_case *c = suite_row(state);
	static const char *const words[] = { NULL };
	char resource[] = "x.com/y";
	const struct command_settings settings = { .resource = resource, .no_wait = true };
	struct scene *scene = *state;
	auto_free char *text = NULL;
	int status = -1;

	scene_begin(scene, c->lines);
	text = printed(scene, &claim_command, &settings, words, true, &status);
	assert_non_null(strstr(text, c->text));
	assert_int_equal(status, COMMAND_FAILED);
}

/* --- why pod ---------------------------------------------------------------------------------- */

#define POD(node, phase)                                                     \
	{                                                                    \
		"/namespaces/t/pods/p", 200,                                 \
			"{'spec':{'nodeName':'" node                         \
			"','containers':[{'resources':{'limits':{'x.com/y':" \
			"'2'}}}]},'status':{'phase':'" phase "'}}"           \
	}
#define NODES(allocatable)                                                                    \
	{                                                                                     \
		"/nodes", 200,                                                                \
			LIST("{'metadata':{'name':'n'},'status':{'allocatable':{" allocatable \
			     "}}}")                                                           \
	}

/* clang-format off */
static struct lack_case {
	const char *name;
	struct scene_line lines[6];
	const char *warning; /* NULL: none */
} lacks[] = {
	{ "a node that lists none", { POD("n", "Pending"), DEVICES(FREE), NODES("'x.com/y':'0'") },
	  "\nWarning:  node 'n' lists 0 of it as allocatable, so its kubelet does not start the pod\n" },
	{ "a node that lists too few", { POD("n", "Failed"), DEVICES(FREE), NODES("'x.com/y':'1'") },
	  "\nWarning:  node 'n' lists 1 of it as allocatable, so its kubelet does not start the pod\n" },
	{ "a node that does not know it", { POD("n", "Pending"), DEVICES(FREE), NODES("'cpu':'1'") },
	  "\nWarning:  node 'n' does not list it as allocatable, so its kubelet does not start the pod\n" },
	{ "a node that has enough", { POD("n", "Pending"), DEVICES(FREE), NODES("'x.com/y':'2'") }, NULL },
	{ "a pod that has them already", { POD("n", "Running"), DEVICES(FREE), NODES("'x.com/y':'0'") }, NULL },
	{ "a pod without a node", { POD("", "Pending"), DEVICES(FREE), NODES("'x.com/y':'0'") }, NULL },
	{ "a node that may not be read", { POD("n", "Pending"), DEVICES(FREE) }, NULL },
};
/* clang-format on */

static void pod_is_warned_of_its_node(void **state)
{
	static const char *const words[] = { "pod", "t/p", NULL };
	const struct lack_case *c = suite_row(state);
	const struct command_settings settings = { 0 };
	struct scene *scene = *state;
	auto_free char *text = NULL;
	int status = -1;

	scene_begin(scene, c->lines);
	text = printed(scene, &why_command, &settings, words, false, &status);
	assert_int_equal(status, COMMAND_OK);
	assert_non_null(
		strstr(text, "x.com/y: 2 requested, 0 of 1 devices with this name available\n"));
	if (c->warning)
		assert_non_null(strstr(text, c->warning));
	else
		assert_null(strstr(text, "Warning:"));
}

/* --- why pod, with ResourceClaims ------------------------------------------------------------- */

#define CLAIMING(entry, more)                                                                       \
	{                                                                                           \
		"/namespaces/t/pods/p", 200,                                                        \
			"{'metadata':{'namespace':'t','name':'p'},'spec':{'resourceClaims':[" entry \
			"]},'status':{'phase':'Pending'" more "}}"                                  \
	}
#define OF_NAME     "{'name':'x','resourceClaimName':'nic'}"
#define OF_TEMPLATE "{'name':'x','resourceClaimTemplateName':'temp'}"
#define SLICES                                                                         \
	{                                                                              \
		"/resourceslices?fieldSelector=spec.driver%3Dhostdev.io&", 200,        \
			LIST("{'metadata':{'name':'s'},'spec':{'driver':'hostdev.io'," \
			     "'nodeName':'n','pool':{'name':'n'},'devices':["          \
			     "{'name':'pci-0000-01-00-0'}]}}")                         \
	}
#define NO_SLICES                                 \
	{                                         \
		"/resourceslices?", 200, LIST("") \
	}
#define ALL_CLAIMS(items)                                                    \
	{                                                                    \
		"/apis/resource.k8s.io/v1/resourceclaims?", 200, LIST(items) \
	}
#define GET_CLAIM "/namespaces/t/resourceclaims/nic"
#define ASKS(request)                                                                                \
	{                                                                                            \
		GET_CLAIM, 200,                                                                      \
			"{'metadata':{'name':'nic','namespace':'t'},'spec':{'devices':{'requests':[" \
			"{'name':'r','exactly':{" request "}}]}}}"                                   \
	}
#define OF_CLASS "'deviceClassName':'pci.hostdev.io'"
#define CLASS(expression)                                                                     \
	{                                                                                     \
		"/deviceclasses/", 200,                                                       \
			"{'metadata':{'name':'c'},'spec':{'selectors':[{'cel':{'expression':" \
			"'" expression "'}}]}}"                                               \
	}
#define IS_PCI \
	"device.driver == \\'hostdev.io\\' && device.attributes[\\'hostdev.io\\'].type in [\\'pci\\']"
#define IS_USB "device.attributes[\\'hostdev.io\\'].type == \\'usb\\'"
#define LENT   DEVICE("a", "0000:01:00.0", MADE_CONDITION("Offered", "True", "Offered", "") "]")
#define HAS(ns, name)                                                                                 \
	"{'metadata':{'name':'" name "','namespace':'" ns "'},'status':{'allocation':{'devices':{"    \
	"'results':[{'request':'r','driver':'hostdev.io','pool':'n','device':'pci-0000-01-00-0'}]}}," \
	"'reservedFor':[{'resource':'pods','name':'q'}]}}"

#define HAS_ALONE(ns, name)                                                                        \
	"{'metadata':{'name':'" name "','namespace':'" ns "'},'status':{'allocation':{'devices':{" \
	"'results':[{'request':'r','driver':'hostdev.io','pool':'n','device':'pci-0000-01-00-0'}]}}}}"
/* Listed before "theirs". */
#define SEES(ns, name)                                                                             \
	"{'metadata':{'name':'" name "','namespace':'" ns "'},'status':{'allocation':{'devices':{" \
	"'results':[{'request':'r','driver':'hostdev.io','pool':'n','device':'pci-0000-01-00-0',"  \
	"'adminAccess':true}]}}}}"
#define BY_CLAIM                                     \
	DEVICE("a", "0000:01:00.0",                  \
	       MADE_CONDITION(                       \
		       "Offered", "True", "Offered", \
		       "") "],'allocations':[{'namespace':'t','pod':'p','container':'c','resourceClaim':'nic'}]")

/* clang-format off */
static struct claims_case {
	const char *name;
	struct scene_line lines[8];
	const char *text; /* a part of what is printed */
} claims_cases[] = {
	{ "a pod without anything", { { "/namespaces/t/pods/p", 200, "{'spec':{}}" } },
	  "\nIt requests no resource that devices are offered as, and has no ResourceClaim.\n" },
	{ "a claim that is not there", { CLAIMING(OF_NAME, ""), NO_SLICES },
	  "\nResourceClaim t/nic, x in the pod:\n  there is no such ResourceClaim: create it\n" },
	{ "a claim that may not be read", { CLAIMING(OF_NAME, ""), { GET_CLAIM, 403, "{}" } },
	  "\n  you may not read it (403 forbidden)\n" },
	{ "a template that is not there", { CLAIMING(OF_TEMPLATE, "") },
	  "\nResourceClaim x in the pod:\n  there is no ResourceClaimTemplate 'temp': create it\n" },
	{ "a claim that is not made yet",
	  { CLAIMING(OF_TEMPLATE, ""), { "/resourceclaimtemplates/temp", 200, "{'metadata':{'name':'temp'}}" } },
	  "\n  it has not been made from the ResourceClaimTemplate 'temp' yet: does kube-controller-manager run?\n" },
	{ "the claim of a template",
	  { CLAIMING(OF_TEMPLATE, ",'resourceClaimStatuses':[{'name':'y','resourceClaimName':'no'},"
		"{'name':'x','resourceClaimName':'nic'}]"), ASKS(OF_CLASS) },
	  "\nResourceClaim t/nic, x in the pod:\n  request 'r' asks for 1 device of the DeviceClass pci.hostdev.io: "
	  "there is no DeviceClass of that name: kubectl get deviceclasses lists them\n" },
	{ "another driver's class", { CLAIMING(OF_NAME, ""), ASKS("'deviceClassName':'gpu.x'"), CLASS("true") },
	  ": neither the class nor the request names hostdev.io, so its devices are another driver's\n" },
	{ "no device is offered", { CLAIMING(OF_NAME, ""), NO_SLICES, ASKS(OF_CLASS), CLASS(IS_PCI) },
	  ": DRA offers no such device: an entry of the HostDeviceConfig with dra: {mode: Claimed} does, for claimed "
	  "devices, and one with {mode: OnDemand} for free PCI functions\n" },
	{ "none of that type",
	  { CLAIMING(OF_NAME, ""), DEVICES(LENT), SLICES, ALL_CLAIMS(""), ASKS(OF_CLASS), CLASS(IS_USB) },
	  ": DRA offers no such device: " },
	{ "which are offered is not known",
	  { CLAIMING(OF_NAME, ""), DEVICES(LENT), { "/resourceslices?", 403, "{}" }, ASKS(OF_CLASS), CLASS(IS_PCI) },
	  ": which devices DRA offers is not known: you may not list ResourceSlices\n" },
	{ "too few are free",
	  { CLAIMING(OF_NAME, ""), DEVICES(LENT), SLICES, ALL_CLAIMS(HAS("u", "theirs")), ASKS(OF_CLASS), CLASS(IS_PCI) },
	  ": DRA offers 1, and 0 of these are free\n"
	  "DEVICE   NODE   STATE    RESOURCECLAIM   POD\n"
	  "a        n      in use   u/theirs        -\n" },
	{ "enough are free, but not those",
	  { CLAIMING(OF_NAME, ""), DEVICES(LENT), SLICES, ALL_CLAIMS(""),
	    ASKS(OF_CLASS ",'selectors':[{'cel':{'expression':'a == b'}}]"), CLASS(IS_PCI) },
	  ": DRA offers 1, and 1 of these is free; which of them the request accepts, only the scheduler evaluates: "
	  "a == b\n" },
	{ "who has them is not known",
	  { CLAIMING(OF_NAME, ""), DEVICES(LENT), SLICES, { "/v1/resourceclaims?", 403, "{}" },
	    ASKS(OF_CLASS ",'count':2"), CLASS(IS_PCI) },
	  "\n  request 'r' asks for 2 devices of the DeviceClass pci.hostdev.io: DRA offers 1, and at most 1 of these is "
	  "free\n" },
	{ "a class that may not be read",
	  { CLAIMING(OF_NAME, ""), DEVICES(LENT), SLICES, ALL_CLAIMS(""), ASKS(OF_CLASS ",'allocationMode':'All'"),
	    { "/deviceclasses/", 403, "{}" } },
	  "\n  request 'r' asks for all devices of the DeviceClass pci.hostdev.io: DRA offers 1, and 1 of these is "
	  "free\n" },
	{ "alternatives", { CLAIMING(OF_NAME, ""), ASKS("") },
	  "\n  request 'r' is a list of alternatives, which is not looked at\n" },
	{ "it is allocated",
	  { CLAIMING(OF_NAME, ""), DEVICES(LENT), SLICES, ALL_CLAIMS(""), { GET_CLAIM, 200, HAS("t", "nic") } },
	  "\n  a is allocated to it, but not prepared yet: if that fails, events of the pod say why "
	  "(FailedPrepareDynamicResources)\n  reserved for pod t/q\n"
	  "DEVICE   NODE   STATE    RESOURCECLAIM   POD\n"
	  "a        n      in use   t/nic           -\n" },
	{ "it has access beside the claim that has the device",
	  { CLAIMING(OF_NAME, ""), DEVICES(LENT), SLICES, ALL_CLAIMS(HAS("u", "theirs")),
	    { GET_CLAIM, 200, SEES("t", "nic") } },
	  "\n  request 'r' has adminAccess, which hostdev.io does not support: it is never prepared\n" },
	{ "an API server without DRA's kinds of today", { CLAIMING(OF_NAME, ""), DEVICES(LENT) },
	  "\n  the API server does not have resource.k8s.io/v1, which hostdev needs: update the cluster to Kubernetes "
	  "1.34\n" },
};
/* clang-format on */

static void claims_of_a_pod_read_so(void **state)
{
	static const char *const words[] = { "pod", "t/p", NULL };
	const struct claims_case *c = suite_row(state);
	const struct command_settings settings = { 0 };
	struct scene *scene = *state;
	auto_free char *text = NULL;
	int status = -1;

	scene_begin(scene, c->lines);
	text = printed(scene, &why_command, &settings, words, false, &status);
	assert_int_equal(status, COMMAND_OK);
	if (!strstr(text, c->text))
		fail_msg("no '%s' in %s", c->text, text);
}

/* --- who, with ResourceClaims ----------------------------------------------------------------- */

/* clang-format off */
static struct who_case {
	const char *name;
	struct scene_line lines[6];
	const char *parts[3]; /* of what is printed */
	bool asks;            /* for all ResourceClaims */
} who_cases[] = {
	{ "a device that a claim has, before its pod starts",
	  { DEVICES(LENT), SLICES, ALL_CLAIMS(HAS("t", "nic")) }, { "in use", " t/q ", " t/nic\n" }, true },
	{ "a device that a claim has, and another one has access to",
	  { DEVICES(LENT), SLICES, ALL_CLAIMS(SEES("s", "all") "," HAS("t", "nic")) },
	  { "in use", " t/q ", " t/nic\n" }, true },
	{ "a device that a claim has, and no pod",
	  { DEVICES(LENT), SLICES, ALL_CLAIMS(HAS_ALONE("t", "nic")) },
	  { "in use", " ResourceClaim t/nic ", " t/nic\n" }, true },
	{ "a device that a pod has by a claim that may not be read",
	  { DEVICES(BY_CLAIM), SLICES, { "/v1/resourceclaims?", 403, "{}" } }, { " t/p ", " c ", " t/nic\n" }, true },
	{ "a device of a cluster without DRA", { DEVICES(IN_POD), NO_SLICES }, { " t/p ", " c " }, false },
	{ "a device of a cluster that is too old for it", { DEVICES(IN_POD) }, { " t/p ", " c " }, false },
};
/* clang-format on */

static void who_knows_resource_claims(void **state)
{
	static const char *const words[] = { NULL };
	const struct who_case *c = suite_row(state);
	struct scene *scene = *state;
	struct command_run run = {
		.command = &who_command,
		.out.format = OUT_WIDE,
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): no other cast drops const */
		.words = (char *const *)(uintptr_t)words,
	};
	struct captured captured;
	auto_free char *text = NULL;

	scene_begin(scene, c->lines);
	run.session = scene->session;
	(void)fflush(stdout);
	captured_begin_fd(&captured, STDOUT_FILENO);
	assert_int_equal(who_command.run(&run), COMMAND_OK);
	(void)fflush(stdout);
	text = captured_end(&captured);
	str_done(&run.out.text);
	for (size_t i = 0; i < ARRAY_LEN(c->parts) && c->parts[i]; i++) {
		if (!strstr(text, c->parts[i]))
			fail_msg("no '%s' in %s", c->parts[i], text);
	}
	assert_int_equal(strstr(scene->log.buf, "/v1/resourceclaims?") != NULL, c->asks);
}

/* --- tree, with ResourceClaims ---------------------------------------------------------------- */

#define WAITS                                                                                     \
	"{'metadata':{'name':'more','namespace':'t'},'spec':{'devices':{'requests':[{'name':'r'," \
	"'exactly':{" OF_CLASS "}}]}}}"
#define ALL_CLASSES                                                                    \
	{                                                                              \
		"/deviceclasses?", 200, LIST("{'metadata':{'name':'pci.hostdev.io'}}") \
	}
#define TREE_WAITS                                                                                  \
	"\nt/more          ~ pending         asks for 1 device of the DeviceClass pci.hostdev.io: " \
	"DRA offers 1, and "

/* clang-format off */
static struct tree_case {
	const char *name;
	struct scene_line lines[6];
	const char *ns;
	const char *text; /* a part of what is printed */
	bool asks;        /* for ResourceClaims and DeviceClasses */
} tree_cases[] = {
	{ "a claim that waits", { DEVICES(LENT), SLICES, ALL_CLAIMS(WAITS), ALL_CLASSES }, NULL,
	  TREE_WAITS "1 of these is free\n", true },
	{ "a claim that waits, and one that has the device",
	  { DEVICES(LENT), SLICES, ALL_CLAIMS(WAITS "," HAS("s", "nic")), ALL_CLASSES }, NULL,
	  TREE_WAITS "0 of these are free\n", true },
	{ "of a namespace, with the device of another one",
	  { DEVICES(LENT), SLICES, ALL_CLAIMS(WAITS "," HAS("s", "nic")), ALL_CLASSES }, "t",
	  TREE_WAITS "0 of these are free\n", true },
	{ "the device of a namespace's claim",
	  { DEVICES(LENT), SLICES, ALL_CLAIMS(HAS("s", "nic")), ALL_CLASSES }, "s",
	  "ResourceClaim s/nic   ~ pending: Allocated ", true },
	{ "no ResourceSlices", { DEVICES(LENT), NO_SLICES }, NULL, "0000:01:00.0 ", false },
	{ "a cluster that is too old", { DEVICES(LENT) }, NULL, "0000:01:00.0 ", false },
};
/* clang-format on */

static void tree_knows_resource_claims(void **state)
{
	const struct tree_case *c = suite_row(state);
	struct scene *scene = *state;
	struct command_run run = {
		.command = &tree_command,
		.out.format = OUT_TABLE,
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): no other cast drops const */
		.settings.ns = (char *)(uintptr_t)c->ns,
	};
	struct captured captured;
	auto_free char *text = NULL;

	scene_begin(scene, c->lines);
	run.session = scene->session;
	(void)fflush(stdout);
	captured_begin_fd(&captured, STDOUT_FILENO);
	assert_int_equal(tree_command.run(&run), COMMAND_OK);
	(void)fflush(stdout);
	text = captured_end(&captured);
	str_done(&run.out.text);
	if (!strstr(text, c->text))
		fail_msg("no '%s' in %s", c->text, text);
	assert_int_equal(strstr(scene->log.buf, "/v1/resourceclaims?") != NULL, c->asks);
	assert_int_equal(strstr(scene->log.buf, "/deviceclasses?") != NULL, c->asks);
}

int main(void)
{
	struct suite suite = { .fixture = &scene_fixture };

	suite_rows(&suite, plans, plan_has_its_status);
	suite_rows(&suite, picks, pick_advises_by_rights);
	suite_rows(&suite, lacks, pod_is_warned_of_its_node);
	suite_rows(&suite, claims_cases, claims_of_a_pod_read_so);
	suite_rows(&suite, who_cases, who_knows_resource_claims);
	suite_rows(&suite, tree_cases, tree_knows_resource_claims);
	return suite_run(&suite, "commands");
}
