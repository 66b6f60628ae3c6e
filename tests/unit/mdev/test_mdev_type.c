/* mdev_type: which instances are offered as what, when they are healthy, and what a container
 * gets. */
#include "agent/mdev/mdev_type.h"

#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/id_names.h"
#include "agent/inventory/inventory.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugins.h"
#include "base/mem.h"
#include "base/str.h"
#include "fake/tree/tree.h"
#include "unit/mdev/mdev_config.h"
#include "unit/same_nodes.h"
#include "unit/this_node.h"

#define U1 "11111111-2222-3333-4444-555555555551"
#define U2 "11111111-2222-3333-4444-555555555552"
#define U3 "11111111-2222-3333-4444-555555555553"

#define INSTANCE(uuid, type, name, group)                                        \
	"{'kind':'mdev','uuid':'" uuid "','parent':'0000:3b:00.0','type':'" type \
	"','typeName':'" name "'" group "}"
#define GROUP(n)        ",'iommuGroup':'" n "'"
#define NUMA(n)         ",'numaNode':" n
#define T4(uuid, group) INSTANCE(uuid, "nvidia-222", "GRID T4-1B", group)

#define ENTRY(resource, selector) \
	"{'resourceName':'" resource "','mdevNameSelector':'" selector "'}"
#define EXTERNAL(resource, selector)                                        \
	"{'resourceName':'" resource "','mdevNameSelector':'" selector "'," \
	"'externalResourceProvider':true}"
#define FOR_DRA(resource, selector) \
	"{'resourceName':'" resource "','mdevNameSelector':'" selector "','dra':{'mode':'Claimed'}}"

struct world {
	struct tree tree;
	struct id_names *names;
	struct inventory *inventory;
	struct this_node node;
	struct config *config;
	struct mdev_view view;
	struct mdev_type *type;
	char *dev_root;
	char *sysfs_root;
};

/* What plugins_set() was last given, in words. */
static struct str *offered(void)
{
	static struct str text;

	return &text;
}

static void say_device(const struct plugin_device *device)
{
	str_addf(offered(), " %s", strrchr(device->id, '-') + 1);
	if (device->numa_node >= 0)
		str_addf(offered(), "@%d", device->numa_node);
	if (device->dra)
		str_add(offered(), " by DRA");
	assert_int_equal(device->healthy, device->trouble == NULL);
	if (device->trouble)
		str_addf(offered(), "! (%s)", device->trouble);
}

/* In place of agent/plugin's. */
void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	(void)plugins;
	(void)type_arg;
	assert_ptr_equal(type, &mdev_device_type);
	str_clear(offered());
	for (size_t i = 0; i < len; i++) {
		assert_int_equal(resources[i].claimed,
				 strncmp(resources[i].name, "claim.io/", 9) == 0);
		str_addf(offered(), "%s%s:", i ? "; " : "", resources[i].name);
		for (size_t j = 0; j < resources[i].ndevices; j++)
			say_device(&resources[i].devices[j]);
	}
}

static bool removing(void *arg, const char *uuid)
{
	const char *leaving = arg;

	return leaving && strcmp(leaving, uuid) == 0;
}

/* A pod has the first instance as that, which is offered if it is "old.com/...". */
static const char *held_as(void *arg, const char *uuid, bool *ret_ours)
{
	const char *resource = strcmp(uuid, U1) == 0 ? arg : NULL;

	*ret_ours = resource && strncmp(resource, "old.com/", 8) == 0;
	return resource;
}

static struct facts *facts_of(const char *const *lines, size_t max)
{
	struct facts *facts = facts_new();
	struct err err = { 0 };

	for (size_t i = 0; i < max && lines[i]; i++) {
		auto_free char *line = xstrdup(lines[i]);

		for (char *c = line; *c; c++) {
			if (*c == '\'')
				*c = '"';
		}
		if (facts_add_line(facts, line, strlen(line), &err) < 0)
			fail_msg("%s: %s", line, err.msg);
	}
	return facts;
}

/* @nodes are entries below dev and sys, @config what stands in mediatedDevices. */
static void world_open(struct world *w, const char *const *lines, const char *const *nodes,
		       const char *config)
{
	static const struct inventory_options options = { .node_name = "node1" };
	auto_free char *spec = xasprintf("'mediatedDevices':[%s]", config);

	*w = (struct world){ .names = id_names_new(), .config = config_of_spec(spec) };
	tree_make(&w->tree, nodes);
	w->dev_root = xasprintf("%s/dev", w->tree.root);
	w->sysfs_root = xasprintf("%s/sys", w->tree.root);
	w->inventory = inventory_new(&options, facts_of(lines, 4), w->names, 0);
	w->node = this_node_of(NULL, NULL, NULL);
	w->node.helper.dev_root = w->dev_root;
	w->node.helper.sysfs_root = w->sysfs_root;
	w->node.inventory = w->inventory;
	w->view = (struct mdev_view){ .node = &w->node, .config = w->config, .removing = removing };
	w->type = mdev_type_new(&w->view);
}

static void world_close(struct world *w)
{
	mdev_type_free(w->type);
	inventory_free(w->inventory);
	id_names_free(w->names);
	config_free(w->config);
	free(w->dev_root);
	free(w->sysfs_root);
	tree_done(&w->tree);
	str_done(offered());
}

SUITE_CLOSING(world, struct world, world_close);

#define OWN_NODE "sys/bus/mdev/devices/11111111-2222-3333-4444-555555555551/vfio-dev/vfio3/"
#define T4_ENV   "MDEV_PCI_RESOURCE_NVIDIA_COM_GRID_T4-1B="
#define VFIO     " /dev/vfio/vfio:mrw"
#define NODE(n)  " /dev/vfio/" n ":mrw"
#define IN(uuid, group) \
	("sys/bus/mdev/devices/" uuid "/iommu_group->../../../../kernel/iommu_groups/" group)
#define NODES  "dev/vfio/vfio=", "dev/vfio/14=", "dev/vfio/15=", "dev/vfio/16="
#define GROUPS IN(U1, "14"), IN(U2, "15"), IN(U3, "16")

/* clang-format off */
static struct offer_case {
	const char *name;
	const char *lines[4];
	const char *config;
	const char *nodes[8];
	const char *leaving;
	const char *offers;
	const char *troubles; /* NULL: none */
} offers[] = {
	{ "what no selector names is not offered", { T4(U1, GROUP("14")) }, ENTRY("x.com/a", "nvidia-9"), { NODES },
	  .offers = "" },
	{ "a selector is a type's name with underscores for blanks",
	  { T4(U1, GROUP("14")) }, ENTRY("nvidia.com/T4", "GRID_T4-1B"), { NODES }, .offers = "nvidia.com/T4: 555555555551" },
	{ "or with the blanks, as KubeVirt takes it", { T4(U1, GROUP("14")) }, ENTRY("nvidia.com/T4", "GRID T4-1B"), { NODES },
	  .offers = "nvidia.com/T4: 555555555551" },
	{ "or the type's id", { T4(U1, GROUP("14")) }, ENTRY("nvidia.com/T4", "nvidia-222"), { NODES },
	  .offers = "nvidia.com/T4: 555555555551" },
	{ "a type without a name is named by its id",
	  { INSTANCE(U1, "i915-GVTg_V5_4", "", GROUP("14")) }, ENTRY("intel.com/U630", "i915-GVTg_V5_4"), { NODES },
	  .offers = "intel.com/U630: 555555555551" },
	{ "instances are offered by UUID, in its order",
	  { T4(U3, GROUP("16")), T4(U1, GROUP("14")), T4(U2, GROUP("15")) }, ENTRY("nvidia.com/T4", "nvidia-222"), { NODES },
	  .offers = "nvidia.com/T4: 555555555551 555555555552 555555555553" },
	{ "several selectors may share a resource",
	  { T4(U1, GROUP("14")), INSTANCE(U2, "nvidia-223", "GRID T4-2B", GROUP("15")) },
	  ENTRY("nvidia.com/T4", "nvidia-222") "," ENTRY("nvidia.com/T4", "nvidia-223"),
	  { NODES }, .offers = "nvidia.com/T4: 555555555551 555555555552" },
	{ "kubevirt-contract 1.6 (9): a name that ends like another vendor's is another resource",
	  { T4(U1, GROUP("14")), INSTANCE(U2, "mtty-1", "Serial", GROUP("15")) },
	  ENTRY("a.com/T4", "nvidia-222") "," ENTRY("b.com/T4", "mtty-1"), { NODES },
	  .offers = "a.com/T4: 555555555551; b.com/T4: 555555555552" },
	{ "what another provider lends is left to it", { T4(U1, GROUP("14")) }, EXTERNAL("nvidia.com/T4", "nvidia-222"), { NODES },
	  .offers = "" },
	{ "what DRA offers is marked, whoever made it", { T4(U1, GROUP("14")), T4(U2, GROUP("99")) },
	  FOR_DRA("nvidia.com/T4", "nvidia-222"), { NODES },
	  .offers = "nvidia.com/T4: 555555555551 by DRA 555555555552 by DRA! (/dev/vfio/99 is not there)" },
	{ "the NUMA node is the parent's", { T4(U1, GROUP("14") NUMA("1")) }, ENTRY("nvidia.com/T4", "nvidia-222"), { NODES },
	  .offers = "nvidia.com/T4: 555555555551@1" },
	{ "a group's node that is gone makes one instance unhealthy, and no other",
	  { T4(U1, GROUP("99")), T4(U2, GROUP("15")) }, ENTRY("nvidia.com/T4", "nvidia-222"), { NODES },
	  .offers = "nvidia.com/T4: 555555555551! (/dev/vfio/99 is not there) 555555555552" },
	{ "an instance without a group cannot be offered", { T4(U1, "") }, ENTRY("nvidia.com/T4", "nvidia-222"), { NODES },
	  .offers = "nvidia.com/T4: 555555555551! (it is in no IOMMU group)" },
	{ "without VFIO nothing is healthy", { T4(U1, GROUP("14")) }, ENTRY("nvidia.com/T4", "nvidia-222"), { "dev/vfio/14=" },
	  .offers = "nvidia.com/T4: 555555555551! (/dev/vfio/vfio is not there: load the module vfio)" },
	{ "what is being removed takes no new pod",
	  { T4(U1, GROUP("14")), T4(U2, GROUP("15")) }, ENTRY("nvidia.com/T4", "nvidia-222"), { NODES }, U2,
	  "nvidia.com/T4: 555555555551 555555555552! (it is being removed)", NULL },
	{ "an entry whose type another one names before it is reported",
	  { T4(U1, GROUP("14")) }, ENTRY("nvidia.com/A", "GRID T4-1B") "," ENTRY("nvidia.com/B", "nvidia-222"), { NODES }, NULL,
	  "nvidia.com/A: 555555555551",
	  "1 nvidia.com/B DevicesTaken: entry 0 with resource 'nvidia.com/A' already selects all instances of this type: remove one of "
	  "the two entries|" },
	{ "an entry that finds its type on no instance of this node is not",
	  { T4(U1, GROUP("14")) }, ENTRY("nvidia.com/A", "nvidia-222") "," ENTRY("nvidia.com/B", "nvidia-300"), { NODES }, NULL,
	  "nvidia.com/A: 555555555551", NULL },
};
/* clang-format on */

/* "1 nvidia.com/B DevicesTaken: why|" of each; NULL: none. Releases them. */
static void assert_troubles(struct config_troubles *troubles, const char *wanted)
{
	auto_str struct str said = STR_INIT;

	for (size_t i = 0; i < troubles->len; i++) {
		const struct config_trouble *trouble = &troubles->items[i];

		assert_string_equal(trouble->list, "mediatedDevices");
		str_addf(&said, "%d %s %s: %s|", (int)trouble->index, trouble->resource,
			 trouble->reason, trouble->message);
	}
	assert_string_equal(str_cstr(&said), wanted ? wanted : "");
	config_troubles_done(troubles);
}

static void offers_match_table(void **state)
{
	struct offer_case *c = suite_row(state);
	struct config_troubles troubles = { 0 };
	auto_free char *leaving = c->leaving ? xstrdup(c->leaving) : NULL;
	struct world *w = *state;

	world_open(w, c->lines, c->nodes, c->config);
	w->view.arg = leaving;
	mdev_type_offer(w->type, NULL, &troubles);
	assert_troubles(&troubles, c->troubles);
	assert_string_equal(str_cstr(offered()), c->offers);
}

static void nothing_is_offered_before_all_is_known(void **state)
{
	static const char *const lines[4] = { T4(U1, GROUP("14")) };
	static const char *const nodes[] = { NODES, NULL };
	struct world *w = *state;

	world_open(w, lines, nodes, ENTRY("nvidia.com/T4", "nvidia-222"));
	w->node.inventory = NULL;
	mdev_type_offer(w->type, NULL, &(struct config_troubles){ 0 });
	assert_string_equal(str_cstr(offered()), "");
	w->node.inventory = w->inventory;
	w->view.config = NULL;
	mdev_type_offer(w->type, NULL, &(struct config_troubles){ 0 });
	assert_string_equal(str_cstr(offered()), "");
}

/* KubeVirt's stays unhealthy for ever. */
static void a_node_that_comes_back_makes_its_instance_healthy(void **state)
{
	static const char *const lines[4] = { T4(U1, GROUP("14")) };
	static const char *const nodes[] = { "dev/vfio/vfio=", NULL };
	struct world *w = *state;

	world_open(w, lines, nodes, ENTRY("nvidia.com/T4", "nvidia-222"));
	mdev_type_offer(w->type, NULL, &(struct config_troubles){ 0 });
	assert_string_equal(str_cstr(offered()),
			    "nvidia.com/T4: 555555555551! (/dev/vfio/14 is not there)");
	tree_add(&w->tree, "dev/vfio/14=");
	mdev_type_offer(w->type, NULL, &(struct config_troubles){ 0 });
	assert_string_equal(str_cstr(offered()), "nvidia.com/T4: 555555555551");
}

/* clang-format off */
static struct allocate_case {
	const char *name;
	const char *lines[4];
	const char *nodes[12];
	const char *ids[4];
	const char *gives; /* NULL: it fails with @says */
	const char *says;
} allocates[] = {
	{ "kubevirt-contract 1.2 (mdev): the container node, that of its group, and its UUID",
	  { T4(U1, GROUP("14")) }, { NODES, GROUPS }, { U1 },
	  T4_ENV U1 VFIO NODE("14"), NULL },
	{ "several: in the order asked for, each group once",
	  { T4(U1, GROUP("14")), T4(U2, GROUP("15")) }, { NODES, GROUPS }, { U2, U1 },
	  T4_ENV U2 "," U1
	  VFIO NODE("15") NODE("14"), NULL },
	{ "the instance's own node where the kernel has it",
	  { T4(U1, GROUP("14")) }, { NODES, GROUPS, "dev/vfio/devices/vfio3=", OWN_NODE }, { U1 },
	  T4_ENV U1 VFIO NODE("14") NODE("devices/vfio3"), NULL },
	{ "kubevirt-contract 1.6 (8): but not if its node does not exist",
	  { T4(U1, GROUP("14")) }, { NODES, GROUPS, OWN_NODE }, { U1 },
	  T4_ENV U1 VFIO NODE("14"), NULL },
	{ "kubevirt-contract 1.6 (7): an ID that is not known is an error, never an empty answer",
	  { T4(U1, GROUP("14")) }, { NODES, GROUPS }, { U2 }, NULL, "there is no mediated device '" U2 "' to allocate" },
	{ "so is one of several", { T4(U1, GROUP("14")) }, { NODES, GROUPS }, { U1, U2 }, NULL,
	  "there is no mediated device '" U2 "' to allocate" },
	{ "kubevirt-contract 1.2 (mdev): a group's node that is gone is an error", { T4(U1, GROUP("99")) }, { NODES, GROUPS }, { U1 }, NULL,
	  "device '" U1 "' is not ready: /dev/vfio/99 is not there" },
	{ "one that is gone is an error, although another now has a group of its number",
	  { T4(U1, GROUP("14")) }, { NODES, IN(U2, "14") }, { U1 }, NULL, "device '" U1 "' is not ready: it is gone from the node" },
	{ "so is one that has been created again, in another group",
	  { T4(U1, GROUP("14")) }, { NODES, IN(U1, "15") }, { U1 }, NULL,
	  "device '" U1 "' is not ready: it is in the IOMMU group 15 now" },
	{ "and one whose group cannot be read",
	  { T4(U1, GROUP("14")) }, { NODES, ("sys/bus/mdev/devices/" U1 "/iommu_group=") }, { U1 }, NULL,
	  "device '" U1 "' is not ready: its IOMMU group cannot be read: Invalid argument" },
	{ "an instance of a type that is not offered is an error",
	  { INSTANCE(U1, "mtty-1", "Serial", GROUP("14")) }, { NODES, GROUPS }, { U1 }, NULL,
	  "there is no mediated device '" U1 "' to allocate" },
	{ "an instance of another resource is an error",
	  { INSTANCE(U1, "nvidia-223", "GRID T4-2B", GROUP("14")) }, { NODES, GROUPS }, { U1 }, NULL,
	  "device '" U1 "' belongs to 'nvidia.com/T4-2B' now" },
};
/* clang-format on */

static char *allocation_text(const struct allocation *allocation)
{
	struct str text = STR_INIT;

	for (size_t i = 0; i < allocation->envs.len; i++)
		str_addf(&text, "%s=%s", allocation->envs.items[i].key,
			 allocation->envs.items[i].value);
	for (size_t i = 0; i < allocation->devices.len; i++) {
		const struct device_spec *spec = &allocation->devices.items[i];

		assert_string_equal(spec->container_path, spec->host_path);
		str_addf(&text, " %s:%s", spec->host_path, spec->permissions);
	}
	assert_int_equal(allocation->mounts.len, 0);
	return str_detach(&text);
}

static void allocate_matches_table(void **state)
{
	const struct allocate_case *c = suite_row(state);
	struct allocation allocation = { 0 };
	struct json_strs ids = { 0 };
	auto_free char *text = NULL;
	struct err err = { 0 };
	struct world *w = *state;
	int r;

	world_open(w, c->lines, c->nodes,
		   ENTRY("nvidia.com/GRID_T4-1B", "nvidia-222") "," ENTRY("nvidia.com/T4-2B",
									  "nvidia-223"));
	for (size_t i = 0; i < ARRAY_LEN(c->ids) && c->ids[i]; i++)
		json_strs_add(&ids, c->ids[i]);
	r = mdev_device_type.allocate(w->type, "nvidia.com/GRID_T4-1B", &ids, &allocation, &err);
	if (c->gives) {
		text = allocation_text(&allocation);
		assert_string_equal(text, c->gives);
		assert_same_nodes(&mdev_device_type, w->type, &ids, &allocation, NULL);
	} else {
		assert_true(r < 0);
		assert_string_equal(err.msg, c->says);
	}
	json_strs_done(&ids);
	allocation_done(&allocation);
}

static bool busy_of(void *arg, const char *uuid)
{
	return strcmp(arg, uuid) == 0;
}

static char *start_of(void *arg, const char *uuid)
{
	return strcmp(arg, uuid) == 0 ? xstrdup("a process has it") : NULL;
}

/* The kubelet has forgotten the pod, which was deleted by force, before it has ended its
 * processes. */
static void no_container_starts_beside_a_process_of_a_former_pod(void **state)
{
	static const char *const lines[4] = { T4(U1, GROUP("14")), T4(U2, GROUP("15")) };
	static const char *const nodes[] = { NODES, GROUPS, NULL };
	char held[] = U1;
	struct json_strs ids = { 0 };
	struct world *w = *state;

	world_open(w, lines, nodes, ENTRY("nvidia.com/T4", "nvidia-222"));
	w->view.start = start_of;
	w->view.arg = held;
	w->view.busy = busy_of;
	json_strs_add(&ids, U1);
	assert_same_nodes(&mdev_device_type, w->type, &ids, NULL, "a process has it");
	assert_true(mdev_device_type.is_busy(w->type, U1));
	assert_false(mdev_device_type.is_busy(w->type, U2));
	json_strs_done(&ids);
}

/* Each container of a request has an answer of its own: nothing is remembered from one to the
 * next. */
static void a_second_container_gets_its_own_only(void **state)
{
	static const char *const lines[4] = { T4(U1, GROUP("14")), T4(U2, GROUP("15")) };
	static const char *const nodes[] = { NODES, GROUPS, NULL };
	struct allocation allocations[2] = { 0 };
	struct err err = { 0 };
	struct world *w = *state;

	world_open(w, lines, nodes, ENTRY("nvidia.com/T4", "nvidia-222"));
	for (size_t i = 0; i < 2; i++) {
		struct json_strs ids = { 0 };
		auto_free char *text = NULL;

		json_strs_add(&ids, i ? U2 : U1);
		assert_int_equal(mdev_device_type.allocate(w->type, "nvidia.com/T4", &ids,
							   &allocations[i], &err),
				 0);
		text = allocation_text(&allocations[i]);
		assert_string_equal(text,
				    i ? "MDEV_PCI_RESOURCE_NVIDIA_COM_T4=" U2 VFIO NODE("15")
				      : "MDEV_PCI_RESOURCE_NVIDIA_COM_T4=" U1 VFIO NODE("14"));
		json_strs_done(&ids);
		allocation_done(&allocations[i]);
	}
}

/* The kernel uses group numbers again: the same number may be another instance's. */
static void a_group_that_is_used_again_names_no_other_instance(void **state)
{
	static const char *const lines[4] = { T4(U2, GROUP("14")) };
	static const char *const nodes[] = { NODES, NULL };
	struct allocation allocation = { 0 };
	struct json_strs ids = { 0 };
	struct err err = { 0 };
	struct world *w = *state;

	world_open(w, lines, nodes, ENTRY("nvidia.com/T4", "nvidia-222"));
	json_strs_add(&ids, U1); /* had group 14 before */
	assert_true(mdev_device_type.allocate(w->type, "nvidia.com/T4", &ids, &allocation, &err) <
		    0);
	assert_same_nodes(&mdev_device_type, w->type, &ids, NULL,
			  "device '" U1 "' is not ready: it is gone from the node");
	json_strs_done(&ids);
	allocation_done(&allocation);
}

static struct held_case {
	const char *name;
	const char *as;
	const char *offers;
	bool refused; /* to a pod that asks for U1 as nvidia.com/T4 */
} helds[] = {
	/* clang-format off */
	{ "an instance that a pod has keeps its name when the entry is renamed", "old.com/T4",
	  "nvidia.com/T4: 555555555552; old.com/T4: 555555555551", true },
	{ "one that a pod has as what is offered no more is offered to nobody else", "gone.com/T4",
	  "nvidia.com/T4: 555555555551! (a pod has it as gone.com/T4) 555555555552", true },
	{ "one that a pod has as what it is stays so", "nvidia.com/T4", "nvidia.com/T4: 555555555551 555555555552", false },
	/* clang-format on */
};

static void what_a_pod_has_is_offered_once(void **state)
{
	static const char *const lines[] = { T4(U1, GROUP("14")), T4(U2, GROUP("15")), NULL };
	static const char *const nodes[] = { NODES, GROUPS, NULL };
	const struct held_case *row = suite_row(state);
	auto_free char *as = xstrdup(row->as);
	struct config_troubles troubles = { 0 };
	struct allocation allocation = { 0 };
	struct json_strs ids = { 0 };
	struct err err = { 0 };
	struct world *w = *state;
	int r;

	world_open(w, lines, nodes, ENTRY("nvidia.com/T4", "nvidia-222"));
	w->view.removing = NULL;
	w->view.held_as = held_as;
	w->view.arg = as;
	mdev_type_offer(w->type, NULL, &troubles);
	assert_string_equal(str_cstr(offered()), row->offers);
	json_strs_add(&ids, U1);
	r = mdev_device_type.allocate(w->type, "nvidia.com/T4", &ids, &allocation, &err);
	assert_int_equal(r < 0, row->refused);
	if (row->refused && !strstr(err.msg, row->as))
		fail_msg("no '%s' in '%s'", row->as, err.msg);
	json_strs_done(&ids);
	allocation_done(&allocation);
	config_troubles_done(&troubles);
}

static const char *as_claimed(void *arg, const char *uuid)
{
	(void)arg;
	return strcmp(uuid, U2) == 0 ? "claim.io/vgpu" : NULL;
}

static void what_no_entry_names_is_offered_as_its_claim_says(void **state)
{
	static const char *const lines[] = { T4(U1, GROUP("14")),
					     INSTANCE(U2, "nvidia-223", "GRID T4-2B", GROUP("15")),
					     NULL };
	static const char *const nodes[] = { NODES, NULL };
	struct config_troubles troubles = { 0 };
	struct world *w = *state;

	world_open(w, lines, nodes, ENTRY("nvidia.com/T4", "nvidia-222"));
	w->view.otherwise = as_claimed;
	mdev_type_offer(w->type, NULL, &troubles);
	assert_string_equal(str_cstr(offered()),
			    "claim.io/vgpu: 555555555552; nvidia.com/T4: 555555555551");
	config_troubles_done(&troubles);
}

static char *number_of_another(void *arg, const char *uuid)
{
	(void)arg;
	return strcmp(uuid, U1) == 0 ? xstrdup("it has another's number") : NULL;
}

static void a_node_that_a_pod_could_open_is_offered_to_nobody(void **state)
{
	static const char *const lines[] = { T4(U1, GROUP("14")), T4(U2, GROUP("15")), NULL };
	static const char *const nodes[] = { NODES, GROUPS, NULL };
	struct config_troubles troubles = { 0 };
	struct allocation allocation = { 0 };
	struct json_strs ids = { 0 };
	struct err err = { 0 };
	struct world *w = *state;

	world_open(w, lines, nodes, ENTRY("nvidia.com/T4", "nvidia-222"));
	w->view.number = number_of_another;
	mdev_type_offer(w->type, NULL, &troubles);
	assert_string_equal(str_cstr(offered()),
			    "nvidia.com/T4: 555555555551! (it has another's number) 555555555552");
	json_strs_add(&ids, U1);
	assert_true(mdev_device_type.allocate(w->type, "nvidia.com/T4", &ids, &allocation, &err) <
		    0);
	assert_string_equal(err.msg, "device '" U1 "' is not ready: it has another's number");
	json_strs_done(&ids);
	allocation_done(&allocation);
	config_troubles_done(&troubles);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &world_fixture);
	suite_rows(&suite, offers, offers_match_table);
	suite_add(&suite, "before inventory and config are known nothing is offered",
		  nothing_is_offered_before_all_is_known, NULL);
	suite_add(&suite, "a node that comes back makes its instance healthy again",
		  a_node_that_comes_back_makes_its_instance_healthy, NULL);
	suite_add(&suite, "what no entry names is offered as its claim says, as claimed",
		  what_no_entry_names_is_offered_as_its_claim_says, NULL);
	suite_rows(&suite, helds, what_a_pod_has_is_offered_once);
	suite_add(&suite, "a node that another pod could open is offered to nobody",
		  a_node_that_a_pod_could_open_is_offered_to_nobody, NULL);
	suite_rows(&suite, allocates, allocate_matches_table);
	suite_add(&suite, "no container starts beside a process of a former pod",
		  no_container_starts_beside_a_process_of_a_former_pod, NULL);
	suite_add(&suite, "kubevirt-contract 1.6 (6): a second container gets its own only",
		  a_second_container_gets_its_own_only, NULL);
	suite_add(
		&suite,
		"kubevirt-contract 1.6 (5): a group number that is used again names no other instance",
		a_group_that_is_used_again_names_no_other_instance, NULL);
	return suite_run(&suite, "mdev_type");
}
