/* What commands ask the API server for, with answers from a script. */
#include "unit/suite.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "cli/claim_wait.h"
#include "cli/client/claims.h"
#include "cli/client/lists.h"
#include "cli/client/session.h"
#include "cli/command.h"
#include "cli/target.h"
#include "fake/fake_client.h" /* the build looks for it */
#include "unit/captured.h"
#include "unit/cli/made.h"
#include "unit/cli/scene.h"

static int scene_read(struct scene *scene, const struct lists_want *want)
{
	return lists_read(scene->session, want, scene->cluster, &scene->missing, &scene->err);
}

static int scene_read_claim(struct scene *scene, const char *name)
{
	return lists_read_one(scene->session, CLUSTER_PCICLAIM, name, scene->cluster, &scene->err);
}

/* The device that @word means: one with @name, that @user has ("": no user). */
static void scene_finds(struct scene *scene, const char *word, const char *name, const char *user)
{
	auto_free char *copy = xstrdup(word);
	char *words[] = { copy, NULL };
	struct command command = { .word = "test" };
	struct command_run run = {
		.command = &command,
		.session = scene->session,
		.words = words,
		.words_len = 1,
	};
	auto_targets struct targets targets;

	assert_int_equal(targets_find(&run, 0, &targets), 0);
	assert_int_equal(targets.len, 1);
	assert_string_equal(targets.devices[0]->name, name);
	assert_string_equal(targets.devices[0]->user, user);
}

static size_t scene_count(const struct scene *scene, enum cluster_kind kind)
{
	return cluster_count(scene->cluster, kind);
}

#define PAGE(next, items) \
	"{'metadata':{'resourceVersion':'1','continue':'" next "'},'items':[" items "]}"
#define DEVICE(name) \
	"{'metadata':{'name':'" name "'},'status':{'nodeName':'n','address':'0000:01:00.0'}}"

static void pages_are_read_to_the_end(void **state)
{
	static const struct scene_line lines[] = {
		{ "/pcidevices?limit=500&continue=t1", 200, PAGE("", DEVICE("c")) },
		{ "/pcidevices?limit=500", 200, PAGE("t1", DEVICE("a") "," DEVICE("b")) },
		{ NULL, 0, NULL },
	};
	struct lists_want want = { .kinds = CLUSTER_SET(CLUSTER_PCIDEVICE) };
	struct scene *scene = *state;

	scene_begin(scene, lines);
	assert_int_equal(lists_read(scene->session, &want, scene->cluster, NULL, NULL), 0);
	assert_int_equal(scene_count(scene, CLUSTER_PCIDEVICE), 3);
}

static void one_node_is_asked_for_by_its_label(void **state)
{
	static const struct scene_line lines[] = {
		{ "labelSelector=nodename%3Dn1", 200, PAGE("", DEVICE("a")) },
		{ "/pcideviceclaims", 200, PAGE("", "") },
		{ NULL, 0, NULL },
	};
	struct lists_want want = {
		.kinds = CLUSTER_SET(CLUSTER_PCIDEVICE) | CLUSTER_SET(CLUSTER_PCICLAIM),
		.node = "n1",
	};
	struct scene *scene = *state;

	scene_begin(scene, lines);
	assert_int_equal(scene_read(scene, &want), 0);
	assert_int_equal(scene_count(scene, CLUSTER_PCIDEVICE), 1);
	assert_null(strstr(scene->log.buf, "pcideviceclaims?labelSelector"));
}

static void nodes_are_known_once_they_are_read(void **state)
{
	static const struct scene_line lines[] = {
		{ "/api/v1/nodes?fieldSelector=metadata.name%3Dn1", 200,
		  PAGE("", "{'metadata':{'name':'n1'}}") },
		{ "/api/v1/nodes?", 403, "{}" },
		{ NULL, 0, NULL },
	};
	struct lists_want want = {
		.kinds = CLUSTER_SET(CLUSTER_NODE),
		.optional = CLUSTER_SET(CLUSTER_NODE),
		.node = "n1",
	};
	struct scene *scene = *state;

	scene_begin(scene, lines);
	assert_int_equal(scene_read(scene, &want), 0);
	assert_true(cluster_nodes_known(scene->cluster));
	assert_null(cluster_node_fault(scene->cluster, "n1").reason);
	want.node = NULL;
	cluster_free(scene->cluster);
	scene->cluster = cluster_new();
	assert_int_equal(scene_read(scene, &want), 0);
	assert_int_equal(scene->missing.forbidden, CLUSTER_SET(CLUSTER_NODE));
	assert_false(cluster_nodes_known(scene->cluster));
	assert_null(cluster_node_fault(scene->cluster, "n1").reason);
}

static void labels_are_the_servers_to_judge(void **state)
{
	static const struct scene_line lines[] = {
		{ "/pcidevices?labelSelector=nodename%3Dn%2Ca%3Db%2Cc%21%3Dd&limit=500", 200,
		  PAGE("", DEVICE("a")) },
		{ "/devicepools?labelSelector=a%3Db%2Cc%21%3Dd&limit=500", 200, PAGE("", "") },
		{ "/pcideviceclaims?limit=500", 200,
		  PAGE("", "{'metadata':{'name':'a'}},{'metadata':{'name':'b'}}") },
		{ NULL, 0, NULL },
	};
	struct lists_want want = {
		.kinds = CLUSTER_SET(CLUSTER_PCIDEVICE) | CLUSTER_SET(CLUSTER_PCICLAIM) |
			 CLUSTER_SET(CLUSTER_POOL),
		.node = "n",
		.selector = "a=b,c!=d",
	};
	struct scene *scene = *state;

	scene_begin(scene, lines);
	assert_int_equal(scene_read(scene, &want), 0);
	/* It is not known whether the selector matches the device of the other claim. */
	assert_int_equal(scene_count(scene, CLUSTER_PCICLAIM), 1);
	assert_non_null(cluster_get(scene->cluster, CLUSTER_PCICLAIM, "a"));
}

#define BUSY(path)              \
	{                       \
		path, 429, "{}" \
	}

static void who_is_asked_to_come_again_does(void **state)
{
	static const struct scene_line lines[] = {
		BUSY("/pcidevices?limit=500"),
		{ "/pcidevices?limit=500", 200, PAGE("t1", DEVICE("a")) },
		BUSY("/pcidevices?limit=500&continue=t1"),
		{ "/pcidevices?limit=500", 200, PAGE("t1", DEVICE("a")) },
		{ "/pcidevices?limit=500&continue=t1", 200, PAGE("", DEVICE("b")) },
		BUSY("/pcideviceclaims/a"),
		{ "/pcideviceclaims/a", 200, "{'metadata':{'name':'a'}}" },
		{ NULL, 0, NULL },
	};
	struct lists_want want = { .kinds = CLUSTER_SET(CLUSTER_PCIDEVICE) };
	struct scene *scene = *state;

	scene_begin(scene, lines);
	assert_int_equal(scene_read(scene, &want), 0);
	assert_int_equal(scene_count(scene, CLUSTER_PCIDEVICE), 2);
	assert_int_equal(scene_read_claim(scene, "a"), 0);
}

static void who_is_asked_again_and_again_gives_up(void **state)
{
	static const struct scene_line lines[] = {
		BUSY("/pcideviceclaims/a"), BUSY("/pcideviceclaims/a"), BUSY("/pcideviceclaims/a"),
		BUSY("/pcideviceclaims/a"), BUSY("/pcideviceclaims/a"), BUSY("/pcideviceclaims/a"),
		BUSY("/pcideviceclaims/a"), BUSY("/pcideviceclaims/a"), BUSY("/pcideviceclaims/a"),
		BUSY("/pcideviceclaims/a"), BUSY("/pcideviceclaims/a"), BUSY("/pcideviceclaims/a"),
		{ NULL, 0, NULL },
	};
	struct scene *scene = *state;

	scene_begin(scene, lines);
	assert_int_equal(scene_read_claim(scene, "a"), -EAGAIN);
	/* Asked once, and ten times more. */
	assert_true(scene->used[10]);
	assert_false(scene->used[11]);
}

static void who_is_nobody_is_told_so(void **state)
{
	static const struct scene_line lines[] = {
		{ "/pcidevices", 401, "{'kind':'Status','message':'Unauthorized'}" },
		{ NULL, 0, NULL },
	};
	struct lists_want want = {
		.kinds = CLUSTER_SET(CLUSTER_PCIDEVICE),
		.optional = CLUSTER_SET(CLUSTER_PCIDEVICE),
	};
	struct scene *scene = *state;

	scene_begin(scene, lines);
	assert_int_equal(scene_read(scene, &want), -EACCES);
}

static struct check_case {
	const char *name;
	unsigned kinds;
	unsigned forbidden;
	bool good;
} checks[] = {
	{ "all kinds were read", 0, 0, true },
	{ "one kind alone is forbidden", CLUSTER_SET(CLUSTER_PCIDEVICE),
	  CLUSTER_SET(CLUSTER_PCIDEVICE), true },
	{ "all kinds are forbidden", CLUSTER_DEVICES, CLUSTER_DEVICES, false },
	{ "all but claims are forbidden",
	  CLUSTER_SET(CLUSTER_PCIDEVICE) | CLUSTER_SET(CLUSTER_USBDEVICE) |
		  CLUSTER_SET(CLUSTER_MDEV),
	  CLUSTER_DEVICES, false },
	{ "hostdev is not there", CLUSTER_SET(CLUSTER_PCIDEVICE), 0, false },
	{ "claims are not there", CLUSTER_SET(CLUSTER_PCICLAIM), 0, false },
	{ "claims are forbidden", CLUSTER_SET(CLUSTER_PCICLAIM), CLUSTER_SET(CLUSTER_PCICLAIM),
	  true },
	{ "an older hostdev is there", CLUSTER_SET(CLUSTER_MDEV), 0, true },
};

static void lists_say_something_or_not(void **state)
{
	const struct check_case *c = *state;
	struct lists_missing missing = { .kinds = c->kinds, .forbidden = c->forbidden };

	assert_int_equal(lists_check(&missing, NULL) == 0, c->good);
}

static void what_is_refused_or_not_served_is_told(void **state)
{
	static const struct scene_line lines[] = {
		{ "/pcidevices", 200, PAGE("", DEVICE("a") ",{'metadata':{}}") },
		{ "/usbdevices", 403, "{}" },
		{ "/pcideviceclaims", 404, "{}" },
		{ NULL, 0, NULL },
	};
	struct lists_want want = {
		.kinds = CLUSTER_DEVICES,
		.optional = CLUSTER_DEVICES & ~CLUSTER_SET(CLUSTER_PCIDEVICE),
	};
	struct scene *scene = *state;

	scene_begin(scene, lines);
	assert_int_equal(scene_read(scene, &want), 0);
	assert_int_equal(scene->missing.kinds, want.optional);
	assert_int_equal(scene->missing.forbidden, CLUSTER_SET(CLUSTER_USBDEVICE));
	assert_int_equal(scene_count(scene, CLUSTER_PCIDEVICE), 1);
}

static void what_must_be_there_is_an_error(void **state)
{
	static const struct scene_line lines[] = { { NULL, 0, NULL } };
	struct lists_want want = { .kinds = CLUSTER_SET(CLUSTER_PCIDEVICE) };
	struct scene *scene = *state;

	scene_begin(scene, lines);
	assert_int_equal(scene_read(scene, &want), -ENOENT);
	assert_non_null(strstr(scene->err.msg, "knows no pcidevices: is hostdev installed there"));
}

static void a_name_narrows_what_is_listed(void **state)
{
	static const struct scene_line lines[] = {
		{ "/pcidevices/a", 200, DEVICE("a") },
		{ "/pcidevices?labelSelector=nodename%3Dn", 200, PAGE("", DEVICE("a")) },
		{ NULL, 0, NULL },
	};
	struct scene *scene = *state;

	scene_begin(scene, lines);
	scene_finds(scene, "a", "a", "");
}

static void who_may_list_nothing_gets_along_with_names(void **state)
{
	static const struct scene_line lines[] = {
		{ "/pcidevices/a", 200, DEVICE("a") },
		{ "/pcideviceclaims/a", 200, "{'metadata':{'name':'a'},'spec':{'userName':'u'}}" },
		{ "/pcidevices?", 403, "{}" },
		{ "/pcideviceclaims?", 403, "{}" },
		{ NULL, 0, NULL },
	};
	struct scene *scene = *state;

	scene_begin(scene, lines);
	scene_finds(scene, "pcidevice.devices.harvesterhci.io/a", "a", "u");
}

#define NO(path)                \
	{                       \
		path, 403, "{}" \
	}

/* Of what may not be listed, a command about one device names only what it would need. */
static struct named_case {
	const char *name;
	struct scene_line claim; /* the answer to a GET of the claim */
	unsigned kinds;
	const char *told;
} named_cases[] = {
	{ "nodes",
	  { "/pcideviceclaims/a", 404, "{}" },
	  CLUSTER_SET(CLUSTER_NODE),
	  "Not shown: you may not list nodes (403 forbidden); whether nodes are ready is not known\n" },
	{ "and its claim", NO("/pcideviceclaims/a"), CLUSTER_SET(CLUSTER_NODE),
	  "Not shown: you may not list pcideviceclaims, nodes (403 forbidden); whether nodes are "
	  "ready is not known\n" },
	{ "nothing", { "/pcideviceclaims/a", 404, "{}" }, 0, "" },
};

static void a_named_device_needs_little(void **state)
{
	const struct named_case *c = suite_row(state);
	const struct scene_line lines[] = { { "/pcidevices/a", 200, DEVICE("a") },
					    c->claim,
					    NO("/pcidevices?"),
					    NO("/pcideviceclaims?"),
					    NO("/usbdevices?"),
					    NO("/usbdeviceclaims?"),
					    NO("/mediateddevices?"),
					    NO("/nodes?"),
					    { "/pcidevices/a", 200, DEVICE("a") },
					    c->claim,
					    { NULL, 0, NULL } };
	char word[] = "a";
	char *words[] = { word, NULL };
	struct command command = { .word = "test" };
	struct scene *scene = *state;
	auto_targets struct targets targets;
	struct command_run run = { .command = &command, .words = words, .words_len = 1 };
	struct captured captured;
	auto_free char *told = NULL;

	scene_begin(scene, lines);
	run.session = scene->session;
	assert_int_equal(targets_find(&run, 0, &targets), 0);
	captured_begin(&captured);
	targets_tell(&targets, c->kinds);
	told = captured_end(&captured);
	assert_string_equal(told, c->told);
}

static void a_refusal_is_said_in_full(void **state)
{
	static const struct scene_line lines[] = {
		{ "/pcideviceclaims?fieldManager=kubectl-hostdev&dryRun=All", 403,
		  "{'kind':'Status','message':'no, because a\\u001b[31mb'}" },
		{ NULL, 0, NULL },
	};
	char name[] = "a", node[] = "n", address[] = "0000:01:00.0";
	const struct claim_target target = { DEVICE_PCI, name, node, address };
	const struct claim_spec spec = { .include_group = true };
	struct session_answer said = { 0 };
	auto_free char *why = NULL;
	struct scene *scene = *state;

	scene_begin(scene, lines);
	assert_int_equal(claim_create(scene->session, &target, &spec, true, &said, &scene->err),
			 -EACCES);
	why = claims_refusal(&said, &scene->err);
	assert_string_equal(why, "no, because a\\x1b[31mb");
	session_answer_done(&said);
}

/* By a dry run of the claim, or, if there is one, of its change. What could not be asked is not
 * refused. */
static struct whole_case {
	const char *name;
	struct scene_line lines[3];
	const char *why; /* NULL: not refused */
} wholes[] = {
	{ "a user without the verb",
	  { { "/pcideviceclaims?fieldManager=kubectl-hostdev&dryRun=All", 403,
	      "{'kind':'Status','message':'it needs claim-group'}" } },
	  "it needs claim-group" },
	{ "a user who has it",
	  { { "/pcideviceclaims?", 201, "{'metadata':{'name':'a'}}" } },
	  NULL },
	{ "a claim that exists, and may include it",
	  { { "/pcideviceclaims?", 409, "{'kind':'Status','reason':'AlreadyExists'}" },
	    { "/pcideviceclaims/a?", 200, "{'metadata':{'name':'a'}}" } },
	  NULL },
	{ "one that may not",
	  { { "/pcideviceclaims?", 409, "{'kind':'Status','reason':'AlreadyExists'}" },
	    { "/pcideviceclaims/a?fieldManager=kubectl-hostdev&dryRun=All", 403,
	      "{'kind':'Status','message':'it needs claim-group'}" } },
	  "it needs claim-group" },
	{ "an API server that is ill",
	  { { "/pcideviceclaims?", 500, "{'kind':'Status','message':'etcd is down'}" } },
	  NULL },
};

static void a_claim_of_the_whole_group_is_tried(void **state)
{
	const struct whole_case *c = suite_row(state);
	char name[] = "a", node[] = "n", address[] = "0000:01:00.0";
	const struct claim_target target = { DEVICE_PCI, name, node, address };
	const struct claim_spec spec = { 0 };
	auto_free char *why = NULL;
	struct scene *scene = *state;

	scene_begin(scene, c->lines);
	why = claims_group_refusal(scene->session, &target, &spec);
	if (c->why)
		assert_string_equal(why, c->why);
	else
		assert_null(why);
}

#define WHY(resource)                                 \
	"list " resource ": 403 forbidden: " resource \
	" is forbidden: User \"ann\" cannot list resource"

/* That is about no right on a device, and every request fails with it. */
static struct judged_case {
	const char *name;
	int result;
	const char *message;
	int judged;
	const char *text;
} judged_cases[] = {
	{ "who may not act as another", -EACCES,
	  "list pcidevices: 403 forbidden: users \"bob\" is forbidden: User \"ann\" cannot impersonate "
	  "resource \"users\"",
	  -EPERM,
	  "you may not act as that user: users \"bob\" is forbidden: User \"ann\" cannot impersonate "
	  "resource \"users\"" },
	{ "who may not list", -EACCES, WHY("nodes"), -EACCES, WHY("nodes") },
	{ "a server that is silent", -EIO, "cannot impersonate", -EIO, "cannot impersonate" },
	{ "a request that succeeds", 0, "", 0, "" },
};

static void results_are_judged(void **state)
{
	const struct judged_case *c = *state;
	struct err err = { 0 };

	err_set(&err, ERR_RETRY, c->result, "%s", c->message);
	assert_int_equal(session_judge(c->result, &err), c->judged);
	assert_string_equal(err.msg, c->text);
	assert_null(lists_forbidden_user("User \"ann\" cannot impersonate resource"));
}

static void the_parent_of_mediated_devices_is_no_device(void **state)
{
	static const struct scene_line lines[] = {
		{ "/pcidevices?", 200, PAGE("", "") },
		{ "/mediateddeviceparents/vm1-mtty", 200, "{'metadata':{'name':'vm1-mtty'}}" },
		{ NULL, 0, NULL },
	};
	char word[] = "vm1-mtty";
	char *words[] = { word, NULL };
	struct command command = { .word = "test" };
	struct command_run run = { .command = &command, .words = words, .words_len = 1 };
	auto_targets struct targets targets;
	struct scene *scene = *state;
	struct captured captured;
	auto_free char *told = NULL;
	int status;

	scene_begin(scene, lines);
	run.session = scene->session;
	captured_begin(&captured);
	status = targets_find(&run, 0, &targets);
	told = captured_end(&captured);
	assert_int_equal(status, COMMAND_FAILED);
	assert_string_equal(told, "kubectl hostdev test: 'vm1-mtty' is a MediatedDeviceParent, and "
				  "not a device: kubectl describe mdevparent vm1-mtty shows its "
				  "state and events\n");
}

/* Who owns the claim of vm1-000003000 for a caller "ann"? */
static struct mine_case {
	const char *name;
	const char *owner;
	const char *wanted; /* --for; NULL: none */
	bool mine;
} mine_cases[] = {
	{ "the caller", "ann", NULL, true },
	{ "the caller, who now wants it for another", "ann", "bob", true },
	{ "the one whom the caller wants it for", "bob", "bob", true },
	{ "another", "bob", NULL, false },
	{ "another than both", "eve", "bob", false },
	{ "nobody", "", NULL, true },
};

static void a_claim_is_mine_or_not(void **state)
{
	static const struct scene_line lines[] = {
		{ "/selfsubjectreviews", 201, "{'status':{'userInfo':{'username':'ann'}}}" },
		{ NULL, 0, NULL },
	};
	const struct mine_case *c = suite_row(state);
	const struct cluster_device device = { .user = c->owner };
	const struct claim_spec spec = { .user = c->wanted };
	struct scene *scene = *state;

	scene_begin(scene, lines);
	assert_int_equal(claims_mine(scene->session, &device, &spec), c->mine);
}

/* Group 14: the bridge 0000:00:1c.0, a (0000:07:01.0), and b (0000:07:02.0), which is not listed if
 * it is NULL. */
static struct group_case {
	const char *name;
	const char *b;
	const char *claim; /* of b; NULL: none */
	bool named;        /* b is named, too */
	unsigned forbidden;
	bool lacks;
} group_cases[] = {
#define B(driver, more)                                                               \
	"{'metadata':{'name':'b'},'status':{'nodeName':'n','address':'0000:07:02.0'," \
	"'kernelDriverInUse':'" driver "'" more "}}"
	{ "a function that is neither claimed nor named", B("e1000e", ""), NULL, false, 0, true },
	{ "one that is named", B("e1000e", ""), NULL, true, 0, false },
	{ "one that is claimed", B("e1000e", ""), "{'metadata':{'name':'b'}}", false, 0, false },
	{ "one whose claim is being deleted", B("e1000e", ""),
	  "{'metadata':{'name':'b','deletionTimestamp':'2026-01-02T03:00:00Z'}}", false, 0, true },
	{ "one without a driver", B("", ""), NULL, false, 0, false },
	{ "a bridge that is listed", B("pcieport", ",'classId':'0604'"), NULL, false, 0, false },
	{ "a bridge that is not listed", NULL, NULL, false, 0, false },
	{ "what the caller may not list", NULL, NULL, false, CLUSTER_SET(CLUSTER_PCIDEVICE), true },
};

static void a_group_lacks_functions_or_not(void **state)
{
	const struct group_case *c = *state;
	struct cluster *cluster = cluster_new();
	struct cluster_device *devices[2] = { 0 };
	struct targets targets = { .cluster = cluster,
				   .devices = devices,
				   .missing = { .forbidden = c->forbidden } };
	auto_free char *rest = NULL;

	made_put(cluster, CLUSTER_PCIDEVICE,
		 "{'metadata':{'name':'a'},'status':{'nodeName':'n','address':'0000:07:01.0',"
		 "'kernelDriverInUse':'e1000e','bridges':['0000:00:1c.0'],'iommuGroupMembers':"
		 "['0000:00:1c.0','0000:07:01.0','0000:07:02.0']}}");
	if (c->b)
		made_put(cluster, CLUSTER_PCIDEVICE, c->b);
	if (c->claim)
		made_put(cluster, CLUSTER_PCICLAIM, c->claim);
	devices[targets.len++] = cluster_device(cluster, DEVICE_PCI, "a");
	if (c->named)
		devices[targets.len++] = cluster_device(cluster, DEVICE_PCI, "b");
	rest = targets_group_rest(&targets, devices[0]);
	assert_string_equal(rest ? rest : "none", c->lacks ? "n-000007020" : "none");
	cluster_free(cluster);
}

static void of_warnings_that_about_the_group_is_forgotten(void **state)
{
	struct session_answer said = {
		.warnings = xstrdup("PCIDeviceClaim 'a': e1000e is unbound\n"
				    "PCIDeviceClaim 'a': waits, GroupShared: IOMMU group 1 also "
				    "holds b: claim them too\n"
				    "PCIDeviceClaim 'a': waits, Held: pod c/d has the device"),
	};

	(void)state;
	claims_forget_group(&said);
	assert_string_equal(said.warnings, "PCIDeviceClaim 'a': e1000e is unbound\n"
					   "PCIDeviceClaim 'a': waits, Held: pod c/d has the "
					   "device");
	session_answer_done(&said);
	claims_forget_group(&said);
	assert_string_equal(said.warnings, "");
	session_answer_done(&said);
}

/* The caller says which device it is about. */
static struct words_case {
	const char *name;
	const char *message;
	const char *why;
} words_cases[] = {
	{ "of our webhook",
	  "admission webhook 'claims.hostdev.io' denied the request: PCIDeviceClaim 'a': InUse: b",
	  "InUse: b" },
	{ "of a claim of a USB device",
	  "admission webhook 'claims.hostdev.io' denied the request: USBDeviceClaim 'a': pod b/c has it",
	  "pod b/c has it" },
	{ "about something else",
	  "admission webhook 'claims.hostdev.io' denied the request: you may not: b: c",
	  "you may not: b: c" },
	{ "of one of our policies",
	  "pcideviceclaims 'a' is forbidden: ValidatingAdmissionPolicy 'hostdev-claims' with binding 'hostdev-claims' denied request: "
	  "user 'b' may not",
	  "user 'b' may not" },
	{ "which has flags for the fields",
	  "a is forbidden: ValidatingAdmissionPolicy 'hostdev-claims' with binding 'b' denied request: no: leave "
	  "spec.includeIOMMUGroup out and claim its functions one by one, leave spec.userName out",
	  "no: claim its functions together without --include-group, leave --for out" },
	{ "a right that is missing",
	  "pcideviceclaims.devices.harvesterhci.io is forbidden: User \"bob\" cannot create resource "
	  "\"pcideviceclaims\" in API group \"devices.harvesterhci.io\" at the cluster scope",
	  "user 'bob' may not create pcideviceclaims (403 forbidden): ask an administrator for the role hostdev-user" },
	{ "of another policy, which is named",
	  "a pcideviceclaim is forbidden: ValidatingAdmissionPolicy 'x' with binding 'y' denied request: no",
	  "a pcideviceclaim is forbidden: ValidatingAdmissionPolicy 'x' with binding 'y' denied request: no" },
	{ "of another webhook, which is named",
	  "admission webhook 'x' denied the request: PCIDeviceClaim 'a': no",
	  "admission webhook 'x' denied the request: PCIDeviceClaim 'a': no" },
};

static void a_refusal_is_said_in_the_webhooks_words(void **state)
{
	const struct words_case *c = *state;
	auto_json json_t *body = NULL;
	auto_free char *message = xstrdup(c->message);
	auto_free char *text = NULL;
	auto_free char *why = NULL;
	struct session_answer said = { .status = 403 };
	struct err err = { 0 };
	char *name = strstr(message, "webhook '");

	/* The webhook's name is in double quotes. */
	if (name) {
		name[strlen("webhook ")] = '"';
		*strchr(name, '\'') = '"';
	}
	body = json_pack("{ss,ss}", "kind", "Status", "message", message);
	text = json_map_text(body);
	said.body = text;
	said.len = strlen(text);
	why = claims_refusal(&said, &err);
	if (c->why[0] == 'a')
		assert_string_equal(why, message);
	else
		assert_string_equal(why, c->why);
}

#define SILENT(cause)                                                                             \
	"{'kind':'Status','message':'Internal error occurred: failed calling webhook "            \
	"\\\"claims.hostdev.io\\\": failed to call webhook: Post \\\"https://w:443/v\\\": " cause \
	"'}"

/* A review that was not answered has no effect, so the request is sent again while there is
 * time. */
static void a_webhook_that_is_silent_is_asked_again(void **state)
{
	static const struct scene_line lines[] = {
		{ "/pcideviceclaims?", 500, SILENT("context deadline exceeded") },
		{ "/pcideviceclaims?", 201, "{'metadata':{'name':'a'}}" },
		{ NULL, 0, NULL },
	};
	char name[] = "a", node[] = "n", address[] = "0000:01:00.0";
	const struct claim_target target = { DEVICE_PCI, name, node, address };
	const struct claim_spec spec = { 0 };
	auto_answer struct session_answer said = { 0 };
	struct scene *scene = *state;

	scene_begin(scene, lines);
	session_set_end(scene->session, 60000);
	assert_int_equal(claim_create(scene->session, &target, &spec, false, &said, &scene->err),
			 0);
	assert_int_equal(said.status, 201);
}

/* And then what it means, and where to look. Other webhooks, and other errors, speak for
 * themselves. */
static struct silence_case {
	const char *name;
	int status;
	const char *body;
	const char *why;
} silences[] = {
	{ "no endpoint", 500, SILENT("no endpoints available for service \\\"hostdev-webhook\\\""),
	  "nothing is done, because hostdev's webhook does not answer (no endpoints available for "
	  "service \"hostdev-webhook\"): kubectl -n hostdev-system get pods -l "
	  "app.kubernetes.io/component=controller" },
	{ "another webhook", 500,
	  "{'kind':'Status','message':'failed calling webhook \\\"x.io\\\": Post: timeout'}",
	  "failed calling webhook \"x.io\": Post: timeout" },
	{ "no webhook", 500, "{'kind':'Status','message':'etcd is down'}", "etcd is down" },
	{ "its answer", 403,
	  "{'kind':'Status','message':'admission webhook \\\"claims.hostdev.io\\\" denied'}",
	  "admission webhook \"claims.hostdev.io\" denied" },
};

static void a_silent_webhook_is_told(void **state)
{
	const struct silence_case *c = suite_row(state);
	const struct scene_line lines[] = { { "/pcideviceclaims/a", c->status, c->body },
					    { NULL, 0, NULL } };
	char name[] = "a", node[] = "n", address[] = "0000:01:00.0";
	const struct claim_target target = { DEVICE_PCI, name, node, address };
	auto_answer struct session_answer said = { 0 };
	auto_free char *why = NULL;
	struct scene *scene = *state;

	scene_begin(scene, lines);
	assert_true(claim_delete(scene->session, &target, true, &said, &scene->err) < 0);
	why = claims_refusal(&said, &scene->err);
	assert_string_equal(why, c->why);
	assert_int_equal(claims_unchecked(&said), strstr(c->why, "does not answer") != NULL);
}

/* A release, and then the device's object, which the agent's next scan writes. */
static struct release_case {
	const char *name;
	const char *spec;
	const char *status;
	size_t asked; /* how often for the object */
} releases[] = {
	{ "back on its driver", "{}", "{'kernelDriverToUnbind':'e1000e','passthroughEnabled':true}",
	  3 },
	{ "without a driver, as the claim asks", "{'release':'None'}",
	  "{'kernelDriverToUnbind':'e1000e','passthroughEnabled':true}", 3 },
	{ "without a driver, as before", "{}",
	  "{'kernelDriverToUnbind':'','passthroughEnabled':true}", 3 },
	{ "on another driver of the claim", "{'driver':'mlx5_vfio_pci'}",
	  "{'kernelDriverToUnbind':'e1000e','passthroughEnabled':true}", 1 },
	{ "on vfio-pci, as before", "{}",
	  "{'kernelDriverToUnbind':'vfio-pci','passthroughEnabled':true}", 0 },
	{ "a claim that has bound nothing", "{}", "{'passthroughEnabled':false}", 0 },
};

#define DRIVEN(driver) \
	"{'metadata':{'name':'a'},'status':{'nodeName':'n','kernelDriverInUse':'" driver "'}}"

static void a_release_ends_when_the_device_shows_it(void **state)
{
	static const struct scene_line lines[] = {
		{ "/pcidevices/a", 200, DRIVEN("vfio-pci") },
		{ "/pcidevices/a", 200, DRIVEN("vfio-pci") },
		{ "/pcidevices/a", 200, DRIVEN("") },
		{ NULL, 0, NULL },
	};
	const struct release_case *c = suite_row(state);
	auto_free char *text =
		xasprintf("{'metadata':{'name':'a'},'spec':%s,'status':%s}", c->spec, c->status);
	struct session_answer claim = { .body = made_json(text) };
	struct claim_wait wait = { .target = { .name = xstrdup("a") } };
	struct scene *scene = *state;
	struct command_run run = { 0 };
	size_t asked = 0;

	scene_begin(scene, lines);
	run.session = scene->session;
	claim_wait_take(&wait, &claim);
	session_set_end(scene->session, 60000);
	assert_int_equal(claim_wait_all(&run, &wait, 1, CLAIM_GONE), COMMAND_OK);
	while (scene->used[asked])
		asked++;
	assert_int_equal(asked, c->asked);
	claim_wait_done(&wait);
	free(claim.body);
}

#define SHARED(status, reason)                                                              \
	"{'metadata':{'name':'a'},'status':{'conditions':[" MADE_CONDITION("Ready", status, \
									   reason, "") "]}}"

/* The agent may see the claim of a function before that of the next one. */
static void a_group_that_is_claimed_in_one_command_is_waited_for_in_silence(void **state)
{
	static const struct scene_line lines[] = {
		{ "/pcideviceclaims/a", 200, SHARED("False", "GroupShared") },
		{ "/pcideviceclaims/b", 200, SHARED("True", "Ready") },
		{ "/pcideviceclaims/a", 200, SHARED("True", "Ready") },
		{ NULL, 0, NULL },
	};
	struct claim_wait waits[] = { { .target = { .name = xstrdup("a") } },
				      { .target = { .name = xstrdup("b") } } };
	struct scene *scene = *state;
	struct command_run run = { 0 };
	struct captured captured;
	auto_free char *told = NULL;
	int status;

	scene_begin(scene, lines);
	run.session = scene->session;
	session_set_end(scene->session, 60000);
	captured_begin(&captured);
	status = claim_wait_all(&run, waits, 2, CLAIM_READY);
	told = captured_end(&captured);
	assert_int_equal(status, COMMAND_OK);
	assert_string_equal(told, "");
	claim_wait_done(&waits[0]);
	claim_wait_done(&waits[1]);
}

/* What a claim of the command line asks for, and what of it a USB device cannot have. */
static struct spec_case {
	const char *name;
	struct claim_spec spec;
	const char *body;   /* of spec, of a PCI device           */
	const char *misfit; /* of a USB device; NULL: nothing     */
} specs[] = {
	{ "nothing more",
	  { 0 },
	  "\"spec\":{\"address\":\"0000:01:00.0\",\"nodeName\":\"n\"}",
	  NULL },
	{ "its group", { .include_group = true }, "\"includeIOMMUGroup\":true", "--include-group" },
	{ "another driver",
	  { .driver = "mlx5_vfio_pci" },
	  "\"driver\":\"mlx5_vfio_pci\"",
	  "--driver" },
	{ "no driver afterwards",
	  { .driverless = true },
	  "\"release\":\"None\"",
	  "--release-without-driver" },
};

static void spec_matches_table(void **state)
{
	const struct spec_case *row = *state;
	char name[] = "a", node[] = "n", address[] = "0000:01:00.0";
	const struct claim_target target = { DEVICE_PCI, name, node, address };
	auto_free char *text = claim_text(&target, &row->spec);
	const char *misfit = claim_misfit(DEVICE_USB, &row->spec);

	if (!strstr(text, row->body))
		fail_msg("%s", text);
	assert_null(claim_misfit(DEVICE_PCI, &row->spec));
	assert_non_null(claim_misfit(DEVICE_PCI, &(struct claim_spec){ .user = "" }));
	assert_null(claim_misfit(DEVICE_PCI, &(struct claim_spec){ .user = "bob" }));
	if (row->misfit)
		assert_non_null(strstr(misfit, row->misfit));
	else
		assert_null(misfit);
}

static struct forbidden_case {
	const char *name;
	struct lists_missing missing;
	unsigned kinds;
	const char *text;
} forbidden_cases[] = {
	{ "nothing is missing", { 0 }, ~0U, "" },
	{ "what is not served is not forbidden", { .kinds = CLUSTER_SET(CLUSTER_MIG) }, ~0U, "" },
	{ "all kinds are one line",
	  { .kinds = CLUSTER_SET(CLUSTER_USBDEVICE) | CLUSTER_SET(CLUSTER_MDEV),
	    .forbidden = CLUSTER_SET(CLUSTER_USBDEVICE) | CLUSTER_SET(CLUSTER_MDEV),
	    .events = true,
	    .why = { [CLUSTER_USBDEVICE] = WHY("usbdevices"),
		     [CLUSTER_MDEV] = WHY("mediateddevices") } },
	  ~0U,
	  "user 'ann' may not list usbdevices, mediateddevices, events (403 forbidden)" },
	{ "of nodes it is said what that means",
	  { .kinds = CLUSTER_SET(CLUSTER_USBDEVICE) | CLUSTER_SET(CLUSTER_NODE),
	    .forbidden = CLUSTER_SET(CLUSTER_USBDEVICE) | CLUSTER_SET(CLUSTER_NODE),
	    .why = { [CLUSTER_USBDEVICE] = "list usbdevices: 403 forbidden" } },
	  ~0U,
	  "you may not list usbdevices, nodes (403 forbidden); whether nodes are ready is not "
	  "known" },
	{ "or of these kinds alone",
	  { .kinds = CLUSTER_SET(CLUSTER_USBDEVICE) | CLUSTER_SET(CLUSTER_NODE),
	    .forbidden = CLUSTER_SET(CLUSTER_USBDEVICE) | CLUSTER_SET(CLUSTER_NODE),
	    .why = { [CLUSTER_NODE] = WHY("nodes") } },
	  CLUSTER_SET(CLUSTER_NODE),
	  "user 'ann' may not list nodes (403 forbidden); whether nodes are ready is not known" },
};

static void what_is_forbidden_reads_so(void **state)
{
	const struct forbidden_case *c = *state;
	auto_str struct str text = STR_INIT;

	lists_forbidden_text(&c->missing, c->kinds, &text);
	assert_string_equal(str_cstr(&text), c->text);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, checks, lists_say_something_or_not);
	suite_rows(&suite, specs, spec_matches_table);
	suite_rows(&suite, forbidden_cases, what_is_forbidden_reads_so);
	suite_rows(&suite, words_cases, a_refusal_is_said_in_the_webhooks_words);
	suite_rows(&suite, judged_cases, results_are_judged);
	suite_rows(&suite, group_cases, a_group_lacks_functions_or_not);
	suite_add(&suite, "of warnings, that about the group is forgotten",
		  of_warnings_that_about_the_group_is_forgotten, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "the parent of mediated devices is no device",
		  the_parent_of_mediated_devices_is_no_device, NULL);
	suite_rows(&suite, mine_cases, a_claim_is_mine_or_not);
	suite_add(&suite, "pages are read to the end", pages_are_read_to_the_end, NULL);
	suite_add(&suite, "nodes are known once they are read", nodes_are_known_once_they_are_read,
		  NULL);
	suite_add(&suite, "one node is asked for by its label", one_node_is_asked_for_by_its_label,
		  NULL);
	suite_add(&suite, "labels are the server's to judge", labels_are_the_servers_to_judge,
		  NULL);
	suite_add(&suite, "who is asked to come again does", who_is_asked_to_come_again_does, NULL);
	suite_add(&suite, "who is asked again and again gives up",
		  who_is_asked_again_and_again_gives_up, NULL);
	suite_add(&suite, "who is nobody is told so", who_is_nobody_is_told_so, NULL);
	suite_add(&suite, "what is refused or not served is told",
		  what_is_refused_or_not_served_is_told, NULL);
	suite_add(&suite, "what must be there is an error", what_must_be_there_is_an_error, NULL);
	suite_add(&suite, "a name narrows what is listed", a_name_narrows_what_is_listed, NULL);
	suite_add(&suite, "who may list nothing gets along with names",
		  who_may_list_nothing_gets_along_with_names, NULL);
	suite_rows(&suite, named_cases, a_named_device_needs_little);
	suite_add(&suite, "a refusal is said in full, and cleaned", a_refusal_is_said_in_full,
		  NULL);
	suite_add(&suite, "a webhook that is silent is asked again",
		  a_webhook_that_is_silent_is_asked_again, NULL);
	suite_rows(&suite, wholes, a_claim_of_the_whole_group_is_tried);
	suite_rows(&suite, silences, a_silent_webhook_is_told);
	suite_add(&suite, "a group that is claimed in one command is waited for in silence",
		  a_group_that_is_claimed_in_one_command_is_waited_for_in_silence, NULL);
	suite_rows(&suite, releases, a_release_ends_when_the_device_shows_it);
	return suite_run(&suite, "lists");
}
