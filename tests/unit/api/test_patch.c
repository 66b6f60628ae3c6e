#include "api/patch.h"

#include <string.h>

#include "api/meta.h"
#include "api/pcidevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "unit/made_json.h"
#include "unit/suite.h"

#define F     "example.com/ours"
#define OWNER "{'apiVersion':'v1','kind':'Pod','name':'p','uid':'x'}"
#define OURS                                                                             \
	"{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'PCIDevice','name':'d'," \
	"'uid':'d1'}"

static json_t *json_of(const char *text)
{
	auto_free char *made = made_json(text);
	json_t *json = json_loads(made, 0, NULL);

	assert_non_null(json);
	return json;
}

static void meta_of(const char *text, struct api_meta *meta)
{
	auto_json json_t *json = json_of(text);

	assert_int_equal(json_map_decode(api_meta_map, json, meta, NULL), 0);
}

static void assert_is(const json_t *body, const char *text)
{
	auto_json json_t *wanted = json_of(text);
	auto_free char *is = json_map_text(body);

	if (!json_equal(body, wanted))
		fail_msg("%s is not %s", is, text);
}

enum verb { ADD, REMOVE, OWNER_FIRST, OWNER_LAST };

static struct meta_case {
	const char *name;
	const char *meta; /* beside name, uid and resourceVersion */
	enum verb verb;
	const char *body; /* likewise */
} metas[] = {
	/* clang-format off */
	{ "a finalizer is added to none", "", ADD, ",'finalizers':['" F "']" },
	{ "a finalizer is added behind those of others", ",'finalizers':['a/b','c/d']", ADD,
	  ",'finalizers':['a/b','c/d','" F "']" },
	{ "a finalizer is not added twice", ",'finalizers':['" F "','c/d']", ADD, ",'finalizers':['c/d','" F "']" },
	{ "removing a finalizer leaves those of others", ",'finalizers':['a/b','" F "','c/d']", REMOVE,
	  ",'finalizers':['a/b','c/d']" },
	{ "removing the last finalizer leaves an empty list", ",'finalizers':['" F "']", REMOVE, ",'finalizers':[]" },
	{ "the first owner", "", OWNER_LAST, ",'ownerReferences':[" OURS "]" },
	{ "an owner behind another", ",'ownerReferences':[" OWNER "]", OWNER_LAST,
	  ",'ownerReferences':[" OWNER "," OURS "]" },
	{ "an owner before another", ",'ownerReferences':[" OWNER "]", OWNER_FIRST,
	  ",'ownerReferences':[" OURS "," OWNER "]" },
	/* clang-format on */
};

static void metadata_is_patched(void **state)
{
	const struct meta_case *c = *state;
	auto_free char *text =
		xasprintf("{'name':'n','uid':'u1','resourceVersion':'7'%s}", c->meta);
	auto_free char *wanted =
		xasprintf("{'metadata':{'uid':'u1','resourceVersion':'7'%s}}", c->body);
	struct api_meta owner;
	struct api_meta meta;
	auto_json json_t *body = NULL;

	meta_of(text, &meta);
	meta_of("{'name':'d','uid':'d1'}", &owner);
	body = patch_new(&meta);
	switch (c->verb) {
	case ADD:
		patch_add_finalizer(body, &meta, F);
		break;
	case REMOVE:
		patch_remove_finalizer(body, &meta, F);
		break;
	case OWNER_FIRST:
		patch_add_owner(body, &meta, &pcidevice_kind, &owner, PATCH_FIRST);
		break;
	case OWNER_LAST:
		patch_add_owner(body, &meta, &pcidevice_kind, &owner, PATCH_LAST);
		break;
	}
	assert_is(body, wanted);
	json_map_done(api_meta_map, &meta);
	json_map_done(api_meta_map, &owner);
}

#define READY(reason)                                                                         \
	"'conditions':[{'type':'Ready','status':'False','reason':'" reason "','message':'m'," \
	"'lastTransitionTime':'1970-01-01T00:00:01Z','observedGeneration':3}]"

static struct status_case {
	const char *name;
	const char *have; /* the status                                  */
	const char *port; /* that the claim should have; NULL: none      */
	const char *body; /* of the status; NULL: nothing is to be written */
} statuses[] = {
	/* clang-format off */
	{ "nothing is written when nothing differs", "{'nodeName':'n','pciAddress':'','portPath':'1-2'," READY("Held") "}",
	  "1-2", NULL },
	{ "a new field", "{'nodeName':'n','pciAddress':''," READY("Held") "}", "1-2",
	  "{'nodeName':'n','pciAddress':'','portPath':'1-2'," READY("Held") "}" },
	{ "null for a field that must go", "{'nodeName':'n','pciAddress':'','portPath':'1-2'," READY("Held") "}", NULL,
	  "{'nodeName':'n','pciAddress':'','portPath':null," READY("Held") "}" },
	{ "another reason does not move the time", "{'nodeName':'n','pciAddress':''," READY("Gone") "}", NULL,
	  "{'nodeName':'n','pciAddress':''," READY("Held") "}" },
	/* clang-format on */
};

static void a_status_is_patched(void **state)
{
	const struct status_case *c = *state;
	const struct json_row *map = usbdeviceclaim_status_map;
	auto_json json_t *json = json_of(c->have);
	auto_free char *wanted = NULL;
	auto_json json_t *body = NULL;
	struct usbdeviceclaim_status have;
	struct usbdeviceclaim_status want;
	struct api_meta meta;
	const struct patch_status status = { .meta = &meta,
					     .map = map,
					     .have = &have,
					     .want = &want,
					     .conditions = &want.conditions,
					     .now_wall_ms = 5000 };

	meta_of("{'name':'n','uid':'u1','resourceVersion':'7','generation':3}", &meta);
	assert_int_equal(json_map_decode(map, json, &have, NULL), 0);
	json_map_copy(map, &want, &have);
	free(want.port_path);
	want.port_path = xstrdup_or_null(c->port);
	patch_status_condition(&status, "Ready", API_FALSE, "Held", "m");
	body = patch_status_body(&status);
	if (c->body) {
		wanted = xasprintf("{'metadata':{'uid':'u1','resourceVersion':'7'},'status':%s}",
				   c->body);
		assert_is(body, wanted);
	} else {
		assert_null(body);
	}
	json_map_done(api_meta_map, &meta);
	json_map_done(map, &have);
	json_map_done(map, &want);
}

/* What is left of a map is merged: a key that is gone stays, unless it is null. */
static void a_key_of_a_map_is_removed(void **state)
{
	static const char *const texts[] = { "{'availableTypes':{'a':'1','b':'2'}}",
					     "{'availableTypes':{'b':'3'}}" };
	const struct json_row *map = vgpudevice_status_map;
	struct vgpudevice_status told[2];
	struct api_meta meta;
	auto_json json_t *body = NULL;

	(void)state;
	meta_of("{'name':'n','uid':'u1','resourceVersion':'7'}", &meta);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		auto_json json_t *json = json_of(texts[i]);

		assert_int_equal(json_map_decode(map, json, &told[i], NULL), 0);
	}
	body = patch_status_body(&(struct patch_status){
		.meta = &meta, .map = map, .have = &told[0], .want = &told[1] });
	assert_is(json_object_get(json_object_get(body, "status"), "availableTypes"),
		  "{'a':null,'b':'3'}");
	json_map_done(api_meta_map, &meta);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		json_map_done(map, &told[i]);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, metas, metadata_is_patched);
	suite_rows(&suite, statuses, a_status_is_patched);
	suite_add(&suite, "a key of a map that must go is removed", a_key_of_a_map_is_removed,
		  NULL);
	return suite_run(&suite, "patch");
}
