#include "agent/claim/claim_mark.h"

#include <string.h>

#include "agent/claim/claim_group.h"
#include "agent/claim/claim_plan.h"
#include "api/names.h"
#include "api/patch.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/mem.h"

static const char finalizer[] = NAMES_FINALIZER_HARVESTER_PCI;

static void set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, json_string(text ? text : ""));
}

bool claim_is_marked(const struct pcideviceclaim *claim)
{
	return api_meta_has_finalizer(&claim->meta, finalizer);
}

static bool is_empty(const char *text)
{
	return !text || !*text;
}

static bool needs_owner(const struct claim_case *c)
{
	return c->device && !is_empty(c->device->meta.uid) &&
	       !api_meta_owner(&c->claim->meta, pcidevice_kind.kind);
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

	if (claim_is_marked(c->claim) && !owner && json_object_size(spec) == 0)
		return NULL;
	body = patch_new(&c->claim->meta);
	if (!claim_is_marked(c->claim))
		patch_add_finalizer(body, &c->claim->meta, finalizer);
	if (owner) /* the first: Harvester's controller looks at no other */
		patch_add_owner(body, &c->claim->meta, &pcidevice_kind, &c->device->meta,
				PATCH_FIRST);
	if (json_object_size(spec) > 0)
		json_object_set(body, "spec", spec);
	return body;
}

json_t *claim_unmark(const struct pcideviceclaim *claim)
{
	json_t *body = patch_new(&claim->meta);

	patch_remove_finalizer(body, &claim->meta, finalizer);
	return body;
}
