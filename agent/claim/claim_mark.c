#include "agent/claim/claim_mark.h"

#include <string.h>

#include "agent/claim/claim_group.h"
#include "agent/claim/claim_plan.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/mem.h"

static const char finalizer[] = NAMES_FINALIZER_HARVESTER_PCI;

static void set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, json_string(text ? text : ""));
}

json_t *claim_patch_new(const struct pcideviceclaim *claim)
{
	json_t *body = json_object();
	json_t *meta = json_object();

	set_text(meta, "uid", claim->meta.uid);
	set_text(meta, "resourceVersion", claim->meta.resource_version);
	json_object_set_new(body, "metadata", meta);
	return body;
}

bool claim_is_marked(const struct pcideviceclaim *claim)
{
	return api_meta_has_finalizer(&claim->meta, finalizer);
}

static bool is_empty(const char *text)
{
	return !text || !*text;
}

/* A merge patch replaces the list whole: what others put there goes with it. */
static json_t *finalizers(const struct pcideviceclaim *claim, bool ours)
{
	json_t *list = json_array();

	for (size_t i = 0; i < claim->meta.finalizers.len; i++) {
		const char *text = claim->meta.finalizers.items[i];

		if (strcmp(text, finalizer) != 0)
			json_array_append_new(list, json_string(text));
	}
	if (ours)
		json_array_append_new(list, json_string(finalizer));
	return list;
}

static bool needs_owner(const struct claim_case *c)
{
	return c->device && !is_empty(c->device->meta.uid) &&
	       !api_meta_owner(&c->claim->meta, pcidevice_kind.kind);
}

/* The first: Harvester's controller looks at no other. */
static json_t *owner_refs(const struct claim_case *c)
{
	auto_json json_t *meta = json_map_encode(api_meta_map, &c->claim->meta);
	json_t *list = json_incref(json_object_get(meta, "ownerReferences"));
	json_t *ours = json_object();

	if (!list)
		list = json_array();
	set_text(ours, "apiVersion", NAMES_GROUP "/" NAMES_VERSION);
	set_text(ours, "kind", pcidevice_kind.kind);
	set_text(ours, "name", c->device->meta.name);
	set_text(ours, "uid", c->device->meta.uid);
	json_array_insert_new(list, 0, ours);
	return list;
}

static json_t *spec_of(const struct claim_case *c, const struct claim_group *group)
{
	json_t *spec = json_object();

	if (is_empty(c->claim->spec.address))
		set_text(spec, "address", group->address);
	if (is_empty(c->claim->spec.node_name))
		set_text(spec, "nodeName", c->node_name);
	return spec;
}

json_t *claim_mark(const struct claim_case *c, const struct claim_group *group)
{
	auto_json json_t *spec = spec_of(c, group);
	bool owner = needs_owner(c);
	json_t *body;
	json_t *meta;

	if (claim_is_marked(c->claim) && !owner && json_object_size(spec) == 0)
		return NULL;
	body = claim_patch_new(c->claim);
	meta = json_object_get(body, "metadata");
	if (!claim_is_marked(c->claim))
		json_object_set_new(meta, "finalizers", finalizers(c->claim, true));
	if (owner)
		json_object_set_new(meta, "ownerReferences", owner_refs(c));
	if (json_object_size(spec) > 0)
		json_object_set(body, "spec", spec);
	return body;
}

json_t *claim_unmark(const struct pcideviceclaim *claim)
{
	json_t *body = claim_patch_new(claim);

	json_object_set_new(json_object_get(body, "metadata"), "finalizers",
			    finalizers(claim, false));
	return body;
}
