#include "agent/gpu/vgpu_claim.h"

#include <string.h>

#include "agent/gpu/gpu_cards.h"
#include "agent/gpu/vgpu_plan.h"
#include "agent/inventory/facts.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/object.h"
#include "api/patch.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/vgpudevice.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"

enum { RESOURCE_NAME_MAX = 63 };

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._-", c));
}

char *vgpu_resource(const char *name)
{
	auto_str struct str part = STR_INIT;

	for (; *name && part.len < RESOURCE_NAME_MAX; name++) {
		if (*name == ' ')
			str_add_char(&part, '_');
		else if (is_name_char(*name))
			str_add_char(&part, *name);
	}
	while (part.len > 0 && strchr("._-", part.buf[part.len - 1]))
		part.buf[--part.len] = '\0';
	name = str_cstr(&part);
	name += strspn(name, "._-");
	return xasprintf("nvidia.com/%s", *name ? name : "vGPU");
}

bool vgpu_claim_is_ours(const struct pcideviceclaim *claim)
{
	return api_meta_annotation(&claim->meta, NAMES_ANNOTATION_SKIP_VFIO) != NULL;
}

static void add_owner(struct api_owner_refs *list, const struct api_kind *kind,
		      const struct api_meta *meta)
{
	*array_add(list) = (struct api_owner_ref){
		.api_version = api_kind_api_version(kind),
		.kind = xstrdup(kind->kind),
		.name = xstrdup(meta->name),
		.uid = xstrdup(meta->uid ? meta->uid : ""),
	};
}

json_t *vgpu_claim_body(const struct vgpu_case *c, const char *type_name)
{
	struct pcideviceclaim *claim;
	auto_free char *resource = vgpu_resource(type_name);
	auto_free char *card = names_pcidevice(c->node_name, c->card->pci->address);
	auto_free char *label = names_label_value(card);
	json_t *body;

	if (!c->device)
		return NULL;
	claim = api_object_new(&pcideviceclaim_kind);
	claim->meta.name = xstrdup(c->name);
	json_pairs_set(&claim->meta.labels, NAMES_LABEL_PARENT_GPU, label);
	json_pairs_set(&claim->meta.annotations, NAMES_ANNOTATION_SKIP_VFIO, "true");
	json_pairs_set(&claim->meta.annotations, NAMES_ANNOTATION_RESOURCE_NAME, resource);
	add_owner(&claim->meta.owner_refs, &pcidevice_kind, &c->device->meta);
	add_owner(&claim->meta.owner_refs, &vgpudevice_kind, &c->object->meta);
	claim->spec.address = xstrdup(c->function->pci->address);
	claim->spec.node_name = xstrdup(c->node_name);
	claim->spec.user_name = xstrdup("admin");
	body = api_object_encode(&pcideviceclaim_kind, claim);
	json_object_del(body, "status");
	api_object_free(&pcideviceclaim_kind, claim);
	return body;
}

json_t *vgpu_claim_patch(const struct vgpu_case *c, const char *type_name)
{
	auto_free char *resource = vgpu_resource(type_name);
	const char *has = api_meta_annotation(&c->claim->meta, NAMES_ANNOTATION_RESOURCE_NAME);
	json_t *annotations;
	json_t *body;

	if (has && strcmp(has, resource) == 0)
		return NULL;
	annotations = json_object();
	json_object_set_new(annotations, NAMES_ANNOTATION_RESOURCE_NAME, json_string(resource));
	body = patch_new(&c->claim->meta);
	json_object_set_new(json_object_get(body, "metadata"), "annotations", annotations);
	return body;
}
