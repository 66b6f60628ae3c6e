#include "unit/suite.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "cli/model/pick.h"
#include "cli/print/pick_text.h"
#include "unit/cli/made.h"

#define RESOURCE "intel.com/X710"

/*
 * A scene: devices in words, in the order of their addresses. A word is the name, which begins with
 * the node, and signs: @1 is the NUMA node, %5 the IOMMU group, ! not claimable, = claimed by bob,
 * # in use, * not to be distinguished from another one, + held by the caller, x refused, ~ without
 * a driver, ^ of another resource. Nodes with N are cordoned, and those with z are not Ready.
 */
struct scene {
	struct cluster *cluster;
	struct map *held;
	struct map *refused;
	struct pick_refusal refusal;
};

enum { GROUP_MAX = 16, DEVICES_MAX = 32 };

struct made_device {
	char name[32];
	char node[8];
	int numa;
	int group; /* 0: one of its own */
	bool bad, claimed, used, twin, held, refused, idle, other;
};

static void read_device(const char *word, struct made_device *device)
{
	size_t len = strcspn(word, "@%!=#*+x~^");

	*device = (struct made_device){ .numa = -1 };
	memcpy(device->name, word, len);
	memcpy(device->node, word, strcspn(word, "-"));
	for (const char *sign = word + len; *sign; sign++) {
		device->numa = *sign == '@' ? sign[1] - '0' : device->numa;
		device->group = *sign == '%' ? sign[1] - '0' : device->group;
		device->bad |= *sign == '!';
		device->claimed |= *sign == '=';
		device->used |= *sign == '#';
		device->twin |= *sign == '*';
		device->held |= *sign == '+';
		device->refused |= *sign == 'x';
		device->idle |= *sign == '~';
		device->other |= *sign == '^';
	}
}

static size_t read_devices(const char *words, struct made_device devices[DEVICES_MAX])
{
	auto_free char *text = xstrdup(words);
	char *rest = text;
	size_t len = 0;

	for (char *word; (word = strsep(&rest, " "));) {
		assert_true(len < DEVICES_MAX);
		read_device(word, &devices[len++]);
	}
	return len;
}

/* "'0000:00:01.0','0000:00:02.0'": the functions of the device's group. */
static size_t add_members(struct str *to, const struct made_device *devices, size_t len, size_t at)
{
	size_t members = 0;

	for (size_t i = 0; i < len; i++) {
		if (i != at && (devices[at].group == 0 || devices[i].group != devices[at].group ||
				strcmp(devices[i].node, devices[at].node) != 0))
			continue;
		str_addf(to, "%s'0000:00:%02zx.0'", members > 0 ? "," : "", i);
		members++;
	}
	return members;
}

static void put_device(struct scene *scene, const struct made_device *devices, size_t len,
		       size_t at)
{
	const struct made_device *device = &devices[at];
	auto_str struct str members = STR_INIT;
	const char *reason =
		add_members(&members, devices, len, at) > 1 ? "GroupShared" : "Available";
	auto_free char *json = xasprintf(
		"{'metadata':{'name':'%s'},'status':{'nodeName':'%s','address':'0000:00:%02zx.0',"
		"'resourceName':'%s','kernelDriverInUse':'%s','classId':'0200',"
		"'iommuGroup':'%d','iommuGroupMembers':[%s],'numaNode':%d%s,'conditions':["
		"{'type':'Claimable','status':'%s','reason':'%s'}%s]}}",
		device->name, device->node, at, device->other ? "intel.com/other" : RESOURCE,
		device->idle ? "" : "i40e", device->group ? device->group : (int)(GROUP_MAX + at),
		str_cstr(&members), device->numa,
		device->used ? ",'allocations':[{'namespace':'a','pod':'p','container':'c'}]" : "",
		device->bad ? "False" : "True", device->bad ? "HostNetwork" : reason,
		device->twin ? ",{'type':'Distinguishable','status':'False','reason':'X'}" : "");
	auto_free char *claim =
		xasprintf("{'metadata':{'name':'%s'},'spec':{'userName':'bob'%s}}", device->name,
			  device->group ? ",'includeIOMMUGroup':true" : "");
	auto_free char *key = xasprintf("PCI/%s", device->name);

	made_put(scene->cluster, CLUSTER_PCIDEVICE, json);
	if (device->claimed || device->held)
		made_put(scene->cluster, CLUSTER_PCICLAIM, claim);
	if (device->held)
		map_set(scene->held, key, scene);
	if (device->refused)
		map_set(scene->refused, key, &scene->refusal);
}

static void scene_open(struct scene *scene, const char *words)
{
	struct made_device devices[DEVICES_MAX];
	size_t len = read_devices(words, devices);

	*scene = (struct scene){
		.cluster = cluster_new(),
		.held = map_new(),
		.refused = map_new(),
		.refusal = { .why = "claimed already" },
	};
	for (size_t i = 0; i < len; i++) {
		auto_free char *node = xasprintf(
			"{'metadata':{'name':'%s'},'spec':{'unschedulable':%s},'status':{'conditions':["
			"{'type':'Ready','status':'%s'}]}}",
			devices[i].node, devices[i].node[0] == 'N' ? "true" : "false",
			devices[i].node[0] == 'z' ? "False" : "True");

		made_put(scene->cluster, CLUSTER_NODE, node);
		put_device(scene, devices, len, i);
	}
	cluster_know_nodes(scene->cluster);
}

static void scene_close(struct scene *scene)
{
	cluster_free(scene->cluster);
	map_free(scene->held);
	map_free(scene->refused);
}

/* clang-format off */
static struct pick_case {
	const char *name;
	const char *devices;
	size_t count;
	const char *flags; /* a: any node, g: whole groups */
	const char *picked; /* NULL: too few */
} picks[] = {
	{ "the first one by name", "n1-a n1-b n2-a", 1, "", "n1-a" },
	{ "only what may be claimed", "n1-a! n1-b= n1-c# n1-dx n1-e", 1, "", "n1-e" },
	{ "nothing of a node that is not Ready", "z1-a z1-b n2-a n2-b", 2, "", "n2-a n2-b" },
	{ "all of one node", "n1-a n2-a n2-b", 2, "", "n2-a n2-b" },
	{ "nothing if no node has enough", "n1-a n2-a", 2, "", NULL },
	{ "of several nodes only when asked", "n1-a n2-a", 2, "a", "n1-a n2-a" },
	{ "of one node nevertheless, if it has enough", "n1-a n2-a n2-b", 2, "a", "n2-a n2-b" },
	{ "of as few nodes as possible", "n1-a n2-a n3-a n3-b", 3, "a", "n1-a n3-a n3-b" },
	{ "no cordoned node if another one will do", "N1-a n2-a", 1, "", "n2-a" },
	{ "a cordoned node if there is no other", "N1-a n2-a!", 1, "", "N1-a" },
	{ "one NUMA node", "n1-a@0 n1-b@1 n1-c@1", 2, "", "n1-b n1-c" },
	{ "a node with one NUMA node that has enough", "n1-a@0 n1-b@1 n2-a@1 n2-b@1", 2, "", "n2-a n2-b" },
	{ "the lowest NUMA node of several", "n1-a@1 n1-b@0", 1, "", "n1-b" },
	{ "two NUMA nodes if one is too few, most from the larger", "n1-a@0 n1-b@1 n1-c@1", 3, "", "n1-a n1-b n1-c" },
	{ "the larger NUMA node first", "n1-a@0 n1-b@0 n1-c@1 n1-d@1 n1-e@1 n1-f@2", 4, "", "n1-a n1-c n1-d n1-e" },
	{ "what can be distinguished comes first", "n1-a* n1-b", 1, "", "n1-b" },
	{ "what cannot be is taken when there is nothing else", "n1-a* n1-b!", 1, "", "n1-a" },
	{ "no function of a shared group", "n1-a%1 n1-b%1 n1-c", 1, "", "n1-c" },
	{ "nor two that are the whole group", "n1-a%1 n1-b%1", 2, "", NULL },
	{ "with groups, one that takes no other function comes first", "n1-a%1 n1-b%1 n1-c", 1, "g", "n1-c" },
	{ "with groups, a whole one rather than parts of two", "n1-a n1-b n1-c%1 n1-d%1", 2, "g", "n1-c n1-d" },
	{ "with groups, the smallest one that is larger", "n1-a%1 n1-b%1 n1-c%1 n1-d%2 n1-e%2", 1, "g", "n1-d" },
	{ "with groups, none that the node needs", "n1-a%1 n1-b%1!", 1, "g", NULL },
	{ "with groups, none that another user has", "n1-a%1 n1-b%1=", 1, "g", NULL },
	{ "with groups, none in which another user has a function without a driver", "n1-a%1 n1-b%1~=", 1, "g", NULL },
	{ "with groups, a function without a driver does not hinder", "n1-a%1 n1-b%1~!", 1, "g", "n1-a" },
	{ "with groups, one that takes no function of another resource", "n1-a%1 n1-b%1^ n1-c", 1, "g", "n1-c" },
	{ "with groups, none that a pod has", "n1-a%1 n1-b%1#", 1, "g", NULL },
	{ "what the caller holds is kept", "n1-a n1-b+ n1-c", 2, "", "n1-a n1-b" },
	{ "also on a node that comes later", "n1-a n1-b n2-a+ n2-b", 2, "", "n2-a n2-b" },
	{ "but not if its node has too few", "n1-a+ n1-bx n2-a n2-b", 2, "", "n2-a n2-b" },
	{ "with groups, the rest of one that the caller holds", "n1-a n1-b%1+ n1-c%1", 2, "g", "n1-b n1-c" },
	{ "as many as there are", "n1-c n1-b n1-a", 3, "", "n1-a n1-b n1-c" },
	{ "none of more", "n1-a n1-b", 3, "a", NULL },
};
/* clang-format on */

static struct pick_want want_of(const struct scene *scene, size_t count, const char *flags)
{
	return (struct pick_want){
		.resource = RESOURCE,
		.count = count,
		.any_node = strchr(flags, 'a') != NULL,
		.groups = strchr(flags, 'g') != NULL,
		.held = scene->held,
		.refused = scene->refused,
	};
}

static void devices_are_picked(void **state)
{
	const struct pick_case *c = *state;
	auto_free struct cluster_device **picked = NULL;
	auto_str struct str names = STR_INIT;
	struct pick_want want;
	struct scene scene;

	scene_open(&scene, c->devices);
	want = want_of(&scene, c->count, c->flags);
	picked = pick_devices(scene.cluster, &want);
	for (size_t i = 0; picked && i < c->count; i++)
		str_addf(&names, "%s%s", i > 0 ? " " : "", picked[i]->name);
	assert_string_equal(str_cstr(&names), c->picked ? c->picked : "");
	assert_int_equal(picked != NULL, c->picked != NULL);
	scene_close(&scene);
}

static void resource_and_node_limit_the_choice(void **state)
{
	struct pick_want want;
	struct scene scene;

	(void)state;
	scene_open(&scene, "n1-a n2-a");
	want = want_of(&scene, 1, "");
	want.node = "n2";
	{
		auto_free struct cluster_device **picked = pick_devices(scene.cluster, &want);

		assert_non_null(picked);
		assert_string_equal(picked[0]->name, "n2-a");
	}
	want.resource = "intel.com/X71";
	assert_null(pick_devices(scene.cluster, &want));
	scene_close(&scene);
}

/* clang-format off */
static struct text_case {
	const char *name;
	const char *devices;
	size_t count;
	const char *flags;
	const char *text;
} texts[] = {
	{ "what is free, and what hinders the others", "n1-a n1-b= n1-c# n1-d! n1-ex n1-f%1 n1-g%1 z2-a n1-h=", 2, "",
	  "2 wanted on one node, 1 free\n"
	  "  1 free on n1: n1-a\n"
	  "  2 claimed by 'bob': n1-b, n1-h\n"
	  "  1 in use by a pod: n1-c\n"
	  "  1 refused (HostNetwork): n1-d\n"
	  "  1 claimed already: n1-e\n"
	  "  2 in a shared IOMMU group, which needs --include-group: n1-f, n1-g\n"
	  "  1 unknown (NodeNotReady): z2-a" },
	{ "enough, but not on one node", "n1-a n2-a", 2, "",
	  "2 wanted on one node, and no node has so many free\n"
	  "  1 free on n1: n1-a\n"
	  "  1 free on n2: n2-a\n"
	  "  --any-node takes them from several nodes" },
	{ "enough, when the attempt has failed for another reason", "n1-a n1-b", 1, "",
	  "1 wanted, 2 free\n"
	  "  2 free on n1: n1-a, n1-b" },
	{ "too few on all nodes", "n1-a n2-a", 3, "a",
	  "3 wanted, 2 free\n"
	  "  1 free on n1: n1-a\n"
	  "  1 free on n2: n2-a" },
	{ "a group that another claim has", "n1-a%1= n1-b%1", 1, "",
	  "1 wanted, 0 free\n"
	  "  1 claimed by 'bob': n1-a\n"
	  "  1 in an IOMMU group that another claim has: n1-b" },
	{ "a group that cannot be claimed as a whole", "n1-a%1 n1-b%1!", 1, "g",
	  "1 wanted, 0 free\n"
	  "  1 in an IOMMU group with a function that cannot be claimed now: n1-a\n"
	  "  1 refused (HostNetwork): n1-b" },
};
/* clang-format on */

static void the_shortage_is_explained(void **state)
{
	const struct text_case *c = *state;
	auto_str struct str text = STR_INIT;
	struct pick_want want;
	struct scene scene;

	scene_open(&scene, c->devices);
	want = want_of(&scene, c->count, c->flags);
	pick_text(scene.cluster, &want, NULL, NULL, &text);
	assert_string_equal(str_cstr(&text), c->text);
	scene_close(&scene);
}

static struct unknown_case {
	const char *name;
	const char *resource;
	const char *node;
	const char *selector;
	const char *text;
} unknowns[] = {
	{ "a typing error", "intel.com/X701", NULL, NULL,
	  "no device has the resource 'intel.com/X701'\n  did you mean 'intel.com/X710'?" },
	{ "without the domain", "X710", NULL, NULL,
	  "no device has the resource 'X710'\n  did you mean 'intel.com/X710'?" },
	{ "something else", "nvidia.com/A100", "n1", "a=b",
	  "no device on the node 'n1' with the labels 'a=b' has the resource 'nvidia.com/A100'\n"
	  "  kubectl hostdev top lists the resources" },
	{ "a node that does not exist", RESOURCE, "n9", NULL,
	  "there is no node 'n9': kubectl get nodes lists them" },
	{ "text of the command line is cleaned", "\033[2J", NULL, NULL,
	  "no device has the resource '\\x1b[2J'\n  kubectl hostdev top lists the resources" },
};

static void what_no_device_has_is_said(void **state)
{
	const struct unknown_case *c = *state;
	auto_str struct str text = STR_INIT;
	struct pick_want want;
	struct scene scene;

	scene_open(&scene, "n1-a");
	want = want_of(&scene, 1, "");
	want.resource = c->resource;
	want.node = c->node;
	pick_text(scene.cluster, &want, c->selector, NULL, &text);
	assert_string_equal(str_cstr(&text), c->text);
	scene_close(&scene);
}

/* What the caller may not list may have the resource. */
static void what_cannot_be_listed_is_said(void **state)
{
	static const char hidden[] = "user 'ann' may not list pcidevices (403 forbidden)";
	auto_str struct str text = STR_INIT;
	struct pick_want want;
	struct scene scene;

	(void)state;
	scene_open(&scene, "n1-a");
	want = want_of(&scene, 2, "");
	pick_text(scene.cluster, &want, NULL, hidden, &text);
	assert_string_equal(str_cstr(&text),
			    "2 wanted on one node, 1 free\n"
			    "  1 free on n1: n1-a\n"
			    "  user 'ann' may not list pcidevices (403 forbidden)");
	str_clear(&text);
	want.resource = "a.com/b";
	pick_text(scene.cluster, &want, NULL, hidden, &text);
	assert_string_equal(str_cstr(&text),
			    "no device that you may read has the resource 'a.com/b'\n"
			    "  user 'ann' may not list pcidevices (403 forbidden)");
	scene_close(&scene);
}

static void lines_fit_the_width(void **state)
{
	auto_str struct str words = STR_INIT;
	auto_str struct str text = STR_INIT;
	auto_free char *rest = NULL;
	struct pick_want want;
	struct scene scene;
	char *at;

	(void)state;
	for (int i = 0; i < 30; i++)
		str_addf(&words, "%snode1-00000%02d00x", i > 0 ? " " : "", i);
	scene_open(&scene, str_cstr(&words));
	scene.refusal = (struct pick_refusal){
		.why = "refused by the API server",
		.message =
			xstrdup("a message that has many words, and so many of them that it does "
				"not fit into one line of a terminal that has a hundred columns")
	};
	want = want_of(&scene, 2, "");
	pick_text(scene.cluster, &want, NULL, NULL, &text);
	assert_non_null(strstr(str_cstr(&text), " and 2"));
	rest = xstrdup(str_cstr(&text));
	at = rest;
	for (char *line; (line = strsep(&at, "\n"));)
		assert_true(strlen(line) <= PICK_TEXT_WIDTH);
	free(scene.refusal.message);
	scene_close(&scene);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, picks, devices_are_picked);
	suite_add(&suite, "resource and node limit the choice", resource_and_node_limit_the_choice,
		  NULL);
	suite_rows(&suite, texts, the_shortage_is_explained);
	suite_rows(&suite, unknowns, what_no_device_has_is_said);
	suite_add(&suite, "what cannot be listed is said", what_cannot_be_listed_is_said, NULL);
	suite_add(&suite, "lines fit the width", lines_fit_the_width, NULL);
	return suite_run(&suite, "pick");
}
