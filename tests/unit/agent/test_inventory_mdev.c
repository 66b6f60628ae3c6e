/* The objects of mediated devices and their parents, and what is written of them. */
#include "agent/inventory/inventory_mdev.h"

#include "agent/publish/publish_plan.h"
#include "api/condition.h"
#include "api/mediateddevice.h"
#include "api/mediateddeviceparent.h"
#include "api/object.h"
#include "base/array.h"
#include "base/str.h"
#include "unit/agent/world.h"
#include "unit/schema.h"

#define UUID "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001"
#define RECORD(type, boot)                                \
	"{\"kind\":\"mdevRecord\",\"uuid\":\"" UUID       \
	"\",\"parent\":\"0000:3b:00.0\",\"type\":\"" type \
	"\",\"owner\":\"types\",\"thisBoot\":" boot "}"
#define CARD                                                                                  \
	"{\"kind\":\"mdevParent\",\"name\":\"0000:3b:00.0\",\"pciAddress\":\"0000:3b:00.0\"," \
	"\"numaNode\":1,\"types\":[{\"id\":\"nvidia-222\",\"name\":\"GRID T4-1B\","           \
	"\"description\":\"num_heads=4\",\"deviceAPI\":\"vfio-pci\",\"available\":15},"       \
	"{\"id\":\"nvidia-223\",\"available\":0}]}"
#define INSTANCE                                                                  \
	"{\"kind\":\"mdev\",\"uuid\":\"" UUID "\",\"parent\":\"0000:3b:00.0\","   \
	"\"pciAddress\":\"0000:3b:00.0\",\"numaNode\":1,\"type\":\"nvidia-222\"," \
	"\"typeName\":\"GRID T4-1B\",\"deviceAPI\":\"vfio-pci\",\"iommuGroup\":\"14\"}"

/* clang-format off */
static struct object_case {
	const char *name;
	enum inventory_kind kind;
	const char *lines[4];
	const char *says; /* the object's name and status; NULL: there is none */
} objects[] = {
	{ "an instance that hostdev has made", INVENTORY_MDEV, { INSTANCE, RECORD("nvidia-222", "true") },
	  "node1-" UUID " {'nodeName':'node1','uuid':'" UUID "','type':'nvidia-222','typeName':'GRID_T4-1B',"
	  "'deviceAPI':'vfio-pci','parent':'0000:3b:00.0','pciAddress':'0000:3b:00.0','iommuGroup':'14','numaNode':1,"
	  "'createdByHostdev':true}" },
	{ "an instance without a record is somebody else's", INVENTORY_MDEV,
	  { "{\"kind\":\"mdev\",\"uuid\":\"" UUID "\",\"parent\":\"mtty\",\"type\":\"mtty-1\"}" },
	  "node1-" UUID " {'nodeName':'node1','uuid':'" UUID "','type':'mtty-1','typeName':'mtty-1','parent':'mtty',"
	  "'createdByHostdev':false}" },
	{ "so is one whose record is of another boot", INVENTORY_MDEV,
	  { "{\"kind\":\"mdev\",\"uuid\":\"" UUID "\",\"parent\":\"0000:3b:00.0\",\"type\":\"nvidia-222\"}",
	    RECORD("nvidia-222", "false") },
	  "node1-" UUID " {'nodeName':'node1','uuid':'" UUID "','type':'nvidia-222','typeName':'nvidia-222',"
	  "'parent':'0000:3b:00.0','createdByHostdev':false}" },
	{ "or is about another type", INVENTORY_MDEV,
	  { "{\"kind\":\"mdev\",\"uuid\":\"" UUID "\",\"parent\":\"0000:3b:00.0\",\"type\":\"nvidia-222\"}",
	    RECORD("nvidia-223", "true") },
	  "node1-" UUID " {'nodeName':'node1','uuid':'" UUID "','type':'nvidia-222','typeName':'nvidia-222',"
	  "'parent':'0000:3b:00.0','createdByHostdev':false}" },
	{ "what has no UUID is no object", INVENTORY_MDEV,
	  { "{\"kind\":\"mdev\",\"uuid\":\"../x\",\"parent\":\"mtty\"}" }, NULL },
	{ "a parent with its types and its instances", INVENTORY_MDEV_PARENT, { CARD, INSTANCE },
	  "node1-00003b000 {'nodeName':'node1','parent':'0000:3b:00.0','pciAddress':'0000:3b:00.0','numaNode':1,"
	  "'instances':1,'types':[{'id':'nvidia-222','name':'GRID_T4-1B','description':'num_heads=4',"
	  "'deviceAPI':'vfio-pci','availableInstances':15,'instances':1},"
	  "{'id':'nvidia-223','name':'nvidia-223','availableInstances':0,'instances':0}]}" },
	{ "a parent that is no PCI function", INVENTORY_MDEV_PARENT,
	  { "{\"kind\":\"mdevParent\",\"name\":\"mtty\",\"types\":[{\"id\":\"mtty-1\"},{\"id\":\"mtty-1\"}]}" },
	  "node1-mtty {'nodeName':'node1','parent':'mtty','instances':0,"
	  "'types':[{'id':'mtty-1','name':'mtty-1','instances':0}]}" },
};
/* clang-format on */

static void quote(char *text)
{
	for (; *text; text++) {
		if (*text == '"')
			*text = '\'';
	}
}

static void assert_schema(const json_t *object, enum inventory_kind kind)
{
	auto_json json_t *schema =
		schema_load(kind == INVENTORY_MDEV ? "hostdev.io_mediateddevices.yaml"
						   : "hostdev.io_mediateddeviceparents.yaml");
	auto_json json_t *copy = json_deep_copy(object);
	auto_str struct str problem = STR_INIT;

	if (!schema_takes(schema, copy, "", &problem))
		fail_msg("%s", str_cstr(&problem));
}

static void object_matches_table(void **state)
{
	const struct object_case *c = *state;
	struct world world;
	const struct inventory_set *set;
	auto_json json_t *object = NULL;
	auto_free char *status = NULL;
	auto_free char *text = NULL;

	world_of(&world, c->lines, ARRAY_LEN(c->lines));
	set = &world.inventory->sets[c->kind];
	if (!c->says) {
		assert_int_equal(set->len, 0);
		world_close(&world);
		return;
	}
	assert_int_equal(set->len, 1);
	object = publish_object(c->kind, set->objects[0]);
	assert_schema(object, c->kind);
	assert_string_equal(api_meta_label(set->objects[0], "nodename"), "node1");
	status = json_map_text(json_object_get(object, "status"));
	text = xasprintf("%s %s", ((const struct api_meta *)set->objects[0])->name, status);
	quote(text);
	assert_string_equal(text, c->says);
	world_close(&world);
}

/* --- what is written -------------------------------------------------------------------------- */

/* "" for nothing. The caller frees. */
static char *plan_text(const struct publish_case *c, enum publish_step step)
{
	auto_json json_t *body = NULL;

	assert_int_equal(publish_plan(c, &body), step);
	return body ? json_map_text(body) : xstrdup("");
}

static struct api_condition_value creating = {
	.type = "Configured", .status = API_FALSE, .reason = "Creating", .message = "4 of 16"
};

static void an_instance_is_told_as_what_it_is_offered_and_to_whom(void **state)
{
	static const char *const lines[] = { INSTANCE, NULL };
	struct pcidevice_allocations pods = { 0 };
	char ns[] = "default", pod[] = "vm-1", container[] = "compute";
	struct world *world = *state;
	struct publish_case c = { .kind = INVENTORY_MDEV, .resource = "nvidia.com/T4" };
	struct mediateddevice *seen;
	auto_free char *offered = NULL;
	auto_free char *same = NULL;
	auto_free char *unknown = NULL;
	auto_free char *given = NULL;

	world_of(world, lines, 1);
	c.wanted = world->inventory->sets[INVENTORY_MDEV].objects[0];
	seen = api_object_copy(&mediateddevice_kind, c.wanted);
	c.seen = seen;
	offered = plan_text(&c, PUBLISH_STATUS);
	assert_non_null(strstr(offered, "\"resourceName\":\"nvidia.com/T4\""));
	seen->status.resource_name = xstrdup("nvidia.com/T4");
	same = plan_text(&c, PUBLISH_NOTHING);
	assert_string_equal(same, "");
	*array_add(&pods) = (struct pcidevice_allocation){ ns, pod, container, NULL };
	c.allocations = &pods;
	given = plan_text(&c, PUBLISH_STATUS);
	assert_non_null(strstr(given, "\"pod\":\"vm-1\""));
	/* Who has it is not known: what was told stays. */
	json_map_copy(pcidevice_allocation_map, array_add(&seen->status.allocations), pods.items);
	c.allocations = NULL;
	unknown = plan_text(&c, PUBLISH_NOTHING);
	assert_string_equal(unknown, "");
	array_done(&pods);
	api_object_free(&mediateddevice_kind, seen);
}

static void an_instance_that_is_gone_is_deleted(void **state)
{
	struct mediateddevice *seen = api_object_new(&mediateddevice_kind);
	struct publish_case c = { .kind = INVENTORY_MDEV, .seen = seen };

	free(plan_text(&c, PUBLISH_DELETE));
	api_object_free(&mediateddevice_kind, seen);
}

static void a_parent_is_told_with_how_it_fares(void **state)
{
	static const char *const lines[] = { CARD, NULL };
	struct world *world = *state;
	struct publish_case c = { .kind = INVENTORY_MDEV_PARENT, .condition = &creating };
	struct mediateddeviceparent *seen;
	auto_json json_t *first = NULL;
	auto_free char *first_text = NULL;
	auto_free char *told = NULL;
	auto_free char *unknown = NULL;

	world_of(world, lines, 1);
	c.wanted = world->inventory->sets[INVENTORY_MDEV_PARENT].objects[0];
	first = publish_first_status(&c);
	first_text = json_map_text(first);
	assert_non_null(strstr(first_text, "\"reason\":\"Creating\""));
	seen = api_object_copy(&mediateddeviceparent_kind, c.wanted);
	c.seen = seen;
	told = plan_text(&c, PUBLISH_STATUS);
	assert_non_null(strstr(told, "\"message\":\"4 of 16\""));
	/* The manager knows nothing of it yet: what was told stays. */
	api_conditions_set(&seen->status.conditions, &creating, 0);
	c.condition = NULL;
	unknown = plan_text(&c, PUBLISH_NOTHING);
	assert_string_equal(unknown, "");
	api_object_free(&mediateddeviceparent_kind, seen);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, objects, object_matches_table);
	suite_add(&suite, "an instance that is gone is deleted at once: nobody claims it",
		  an_instance_that_is_gone_is_deleted, NULL);
	suite_fixture(&suite, &world_fixture);
	suite_add(&suite, "an instance is listed as what it is offered, and to whom",
		  an_instance_is_told_as_what_it_is_offered_and_to_whom, NULL);
	suite_add(&suite, "a parent is told with how it fares", a_parent_is_told_with_how_it_fares,
		  NULL);
	return suite_run(&suite, "inventory_mdev");
}
