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

int main(void)
{
	struct suite suite = { .fixture = &scene_fixture };

	suite_rows(&suite, plans, plan_has_its_status);
	suite_rows(&suite, picks, pick_advises_by_rights);
	suite_rows(&suite, lacks, pod_is_warned_of_its_node);
	return suite_run(&suite, "commands");
}
