#include "agent/gpu/vgpu_plan.h"

#include <stdio.h>
#include <string.h>

#include "agent/gpu/gpu_cards.h"
#include "agent/inventory/facts.h"
#include "agent/mdev/mdev_uuid.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/object.h"
#include "api/patch.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/vgpudevice.h"
#include "base/array.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	IN_USE_AGAIN_MS = 5000,
	UNKNOWN_AGAIN_MS = 500,
	RESOURCE_NAME_MAX = 63,
};

static bool has_text(const char *text)
{
	return text && *text;
}

/* --- types ------------------------------------------------------------------------------------ */

/* What the type that the function is now is called: the driver may list it no longer. */
static const char *current_name(const struct vgpu_case *c)
{
	const struct gpu_function *f = c->function;
	const struct vgpudevice *object = c->object;
	const char *name = f->type_name;

	if (!name)
		name = gpu_card_type_name(c->card, f->type);
	if (!name && object)
		name = vgpu_types_name(&object->status.available_types, f->type);
	return name ? name : f->type;
}

/* The id of the type that the spec asks for, by name or by id; NULL: it cannot be made. */
static const char *wanted_type(const struct vgpu_case *c)
{
	const struct gpu_function *f = c->function;
	const char *name = c->object->spec.type_name;
	const char *id = name ? json_pairs_get(&f->types, name) : NULL;

	if (id || !name)
		return id;
	if (f->type && (str_match(name, current_name(c)) || str_match(name, f->type)))
		return f->type;
	for (size_t i = 0; i < f->types.len; i++) {
		if (str_match(f->types.items[i].value, name))
			return f->types.items[i].value;
	}
	return NULL;
}

/* --- objects ---------------------------------------------------------------------------------- */

static void create(const struct vgpu_case *c, struct gpu_decision *d)
{
	struct vgpudevice *object = api_object_new(&vgpudevice_kind);
	auto_free char *label = names_label_value(c->node_name);
	auto_free char *card = names_pcidevice(c->node_name, c->card->pci->address);
	auto_free char *card_label = names_label_value(card);

	object->meta.name = xstrdup(c->name);
	json_pairs_set(&object->meta.labels, NAMES_LABEL_NODE, label);
	json_pairs_set(&object->meta.labels, NAMES_LABEL_PARENT_GPU, card_label);
	object->spec.address = xstrdup(c->function->pci->address);
	object->spec.node_name = xstrdup(c->node_name);
	object->spec.parent_address = xstrdup(c->card->pci->address);
	object->spec.enabled = c->function->type != NULL;
	if (c->function->type)
		object->spec.type_name = xstrdup(current_name(c));
	d->step = GPU_CREATE;
	d->body = api_object_encode(&vgpudevice_kind, object);
	json_object_del(d->body, "status");
	api_object_free(&vgpudevice_kind, object);
}

static void adopt(const struct vgpu_case *c, struct gpu_decision *d)
{
	json_t *spec = json_object();

	json_object_set_new(spec, "enabled", json_true());
	json_object_set_new(spec, "vGPUTypeName", json_string(current_name(c)));
	d->step = GPU_SPEC;
	d->body = patch_new(&c->object->meta);
	json_object_set_new(d->body, "spec", spec);
	d->event_reason = "Adopted";
	d->event_message = xasprintf(
		"%s is a vGPU of the type '%s' that hostdev did not create: the spec is set "
		"accordingly",
		c->function->pci->address, current_name(c));
}

/* What the function is; NULL: it is not there, or none. */
static void show(const struct vgpu_case *c, struct vgpudevice_status *status)
{
	const struct gpu_function *f = c->function;

	str_set(&status->status, f && f->type ? VGPUDEVICE_CONFIGURED : NULL);
	str_set(&status->uuid, !f || !f->type ? NULL : f->mdev ? f->mdev->uuid : f->type);
	str_set(&status->type_name, f && f->type ? current_name(c) : NULL);
}

static void show_types(const struct vgpu_case *c, struct vgpudevice_status *status)
{
	const struct gpu_function *f = c->function;

	json_pairs_done(&status->available_types);
	for (size_t i = 0; f && i < f->types.len; i++)
		json_pairs_set(&status->available_types, f->types.items[i].key,
			       f->types.items[i].value);
	if (f && status->type_name && status->available_types.len < VGPU_TYPES_MAX)
		json_pairs_set(&status->available_types, status->type_name, f->type);
}

/* True if there is something to write. @managed: the type that is ours, NULL: none. */
static bool tell(const struct vgpu_case *c, const char *managed, const struct gpu_news *news,
		 struct gpu_decision *d)
{
	struct vgpudevice_status want;
	bool told;

	json_map_copy(vgpudevice_status_map, &want, &c->object->status);
	want.observed_generation = c->object->meta.generation;
	str_set(&want.managed_type, managed);
	show(c, &want);
	show_types(c, &want);
	told = gpu_tell(
		&(struct patch_status){
			.meta = &c->object->meta,
			.map = vgpudevice_status_map,
			.have = &c->object->status,
			.want = &want,
			.conditions = &want.conditions,
			.now_wall_ms = c->now_wall_ms,
		},
		news, d);
	json_map_done(vgpudevice_status_map, &want);
	return told;
}

static void tell_trouble(const struct vgpu_case *c, const char *managed, const char *reason,
			 const char *message, uint64_t again_ms, struct gpu_decision *d)
{
	struct gpu_news news = { .reason = reason, .message = message };

	if (!tell(c, managed, &news, d))
		d->again_ms = again_ms;
}

/* --- the claim of a vGPU without a mediated device -------------------------------------------- */

static bool is_name_char(char c)
{
	return ascii_is_alnum(c) || (c && strchr("._-", c));
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
	return pcideviceclaim_is_skipped(claim);
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

/* The claim to post; NULL: its PCIDevice is not there yet. */
static json_t *claim_body(const struct vgpu_case *c, const char *type_name)
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

/* A merge patch that gives the claim the resource of @type_name; NULL: it has it. */
static json_t *claim_patch(const struct vgpu_case *c, const char *type_name)
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

/* --- acts ------------------------------------------------------------------------------------- */

static void fill_act(const struct vgpu_case *c, const char *type, struct gpu_act *act)
{
	const struct gpu_function *f = c->function;
	auto_free char *scope = NULL;

	(void)snprintf(act->address, sizeof(act->address), "%s", f->pci->address);
	(void)snprintf(act->card, sizeof(act->card), "%s", c->card->pci->address);
	if (f->backend == GPU_ATTRIBUTES) {
		act->verb = GPU_SET_TYPE;
		(void)snprintf(act->type, sizeof(act->type), "%s", type ? type : "0");
		return;
	}
	act->verb = type ? GPU_MAKE_MDEV : GPU_REMOVE_MDEV;
	if (!type) {
		(void)snprintf(act->uuid, sizeof(act->uuid), "%s", f->mdev->uuid);
		return;
	}
	(void)snprintf(act->type, sizeof(act->type), "%s", type);
	scope = xasprintf(GPU_MDEV_OWNER "/%s", type);
	mdev_uuid_make(c->node_name, f->pci->address, scope, 0, act->uuid);
}

/* Make the function a vGPU of @type, NULL: none. Before the first, it is written down as ours. */
static void act(const struct vgpu_case *c, const char *type, struct gpu_decision *d)
{
	const char *managed = type ? type : c->function->type;
	struct gpu_act wanted = { 0 };

	fill_act(c, type, &wanted);
	if (c->past.stuck) {
		tell_trouble(c, managed, "Stuck", c->past.stuck, 0, d);
	} else if (gpu_past_holds(&c->past, &wanted)) {
		tell_trouble(c, managed, c->past.reason, c->past.message, c->past.wait_ms, d);
	} else if (!str_match(c->object->status.managed_type, managed)) {
		tell_trouble(c, managed, "Applying", "the vGPU is being created", 0, d);
	} else {
		d->step = GPU_ACT;
		d->act = wanted;
	}
}

/* Delete our claim first, so that no pod can get the vGPU while it is removed. */
static void remove_vgpu(const struct vgpu_case *c, struct gpu_decision *d)
{
	const char *managed = c->function->type;
	auto_free char *message = NULL;

	if (c->claim && vgpu_claim_is_ours(c->claim) && !c->claim->meta.deletion_timestamp) {
		d->step = GPU_UNCLAIM;
	} else if (c->used && !c->user) {
		d->again_ms = UNKNOWN_AGAIN_MS;
	} else if (c->used) {
		message = xasprintf("%s has the vGPU: it is removed when that ends", c->user);
		tell_trouble(c, managed, "InUse", message, IN_USE_AGAIN_MS, d);
	} else if (c->function->backend == GPU_MDEV && !c->function->own) {
		tell_trouble(c, managed, "WriteFailed",
			     "hostdev did not create the mediated device: remove it on the node", 0,
			     d);
	} else {
		act(c, NULL, d);
	}
}

/* A vGPU with a mediated device is offered as a mediated device, not by a claim of the function. */
static void lend(const struct vgpu_case *c, struct gpu_decision *d)
{
	const char *name = current_name(c);

	if (c->function->backend != GPU_ATTRIBUTES)
		return;
	if (!c->claim)
		d->body = claim_body(c, name);
	else if (vgpu_claim_is_ours(c->claim) && !c->claim->meta.deletion_timestamp)
		d->body = claim_patch(c, name);
	if (d->body)
		d->step = GPU_CLAIM;
}

static void plan_configured(const struct vgpu_case *c, struct gpu_decision *d)
{
	auto_free char *message = NULL;
	struct gpu_news news;

	if (c->taken)
		message = xasprintf(
			"the vGPU exists, but is not offered: claimed devices of another type "
			"already have the resource %s on this node: give those another name (see "
			"the annotation " NAMES_ANNOTATION_RESOURCE_NAME ")",
			c->function->resource);
	else
		message = xasprintf("vGPU of the type '%s'", current_name(c));
	news = (struct gpu_news){ !c->taken, c->taken ? VGPU_NAME_TAKEN : "Configured", message };

	if (!tell(c, c->function->type, &news, d))
		lend(c, d);
}

static void plan_make(const struct vgpu_case *c, struct gpu_decision *d)
{
	const char *want = wanted_type(c);
	auto_free char *message = NULL;

	if (c->claim && !vgpu_claim_is_ours(c->claim)) {
		tell_trouble(
			c, NULL, "Claimed",
			"a PCIDeviceClaim passes the function itself through: delete it to create "
			"a vGPU",
			0, d);
	} else if (c->function->backend == GPU_NO_BACKEND) {
		tell_trouble(c, NULL, "NoBackend",
			     "its driver offers no vGPU types: is NVIDIA's vGPU driver loaded?", 0,
			     d);
	} else if (!want) {
		message = xasprintf("'%s' is not available for the function now: choose one of "
				    "status.availableTypes",
				    c->object->spec.type_name ? c->object->spec.type_name : "");
		tell_trouble(c, NULL, "TypeNotAvailable", message, 0, d);
	} else {
		act(c, want, d);
	}
}

static void plan_enabled(const struct vgpu_case *c, struct gpu_decision *d)
{
	const struct gpu_function *f = c->function;

	if (!f->type)
		plan_make(c, d);
	else if (str_match(wanted_type(c), f->type))
		plan_configured(c, d);
	else if (str_match(c->object->status.managed_type, f->type))
		remove_vgpu(c, d); /* another type comes by way of none */
	else
		adopt(c, d);
}

static void plan_disabled(const struct vgpu_case *c, struct gpu_decision *d)
{
	const struct gpu_news off = { true, "Disabled", "no vGPU" };

	if (c->function->type && str_match(c->object->status.managed_type, c->function->type))
		remove_vgpu(c, d);
	else if (c->function->type)
		adopt(c, d);
	else if (!tell(c, NULL, &off, d) && c->claim && vgpu_claim_is_ours(c->claim) &&
		 !c->claim->meta.deletion_timestamp)
		d->step = GPU_UNCLAIM;
}

/* A function that its card has not yet is none either, but for one that is to be divided again. */
static bool is_strange(const struct vgpu_case *c)
{
	return !c->card_wanted && !c->object->status.managed_type &&
	       gpu_is_strange(&c->object->status.conditions);
}

static void plan_gone(const struct vgpu_case *c, struct gpu_decision *d)
{
	auto_free char *message = NULL;

	if (is_strange(c)) {
		message = xasprintf("node %s has no virtual function of an NVIDIA card of this "
				    "name: delete the object, or divide the card (see its "
				    "SRIOVGPUDevice)",
				    c->node_name);
		tell_trouble(c, NULL, GPU_NOT_SUPPORTED, message, 0, d);
	} else if (c->object->spec.enabled || c->card_wanted)
		tell_trouble(c, NULL, "DeviceGone", "the virtual function is not on the node", 0,
			     d);
	else
		d->step = GPU_DELETE;
}

static bool is_ours(const struct vgpu_case *c)
{
	const char *node = c->object->spec.node_name;

	return !has_text(node) || str_match(node, c->node_name);
}

void vgpu_plan(const struct vgpu_case *c, struct gpu_decision *ret_decision)
{
	*ret_decision = (struct gpu_decision){ 0 };
	if (c->past.newer || !c->known)
		return;
	if (!c->object) {
		if (c->function)
			create(c, ret_decision);
		return;
	}
	if (c->object->meta.deletion_timestamp || !is_ours(c))
		return;
	if (!c->function)
		plan_gone(c, ret_decision);
	else if (c->object->spec.enabled)
		plan_enabled(c, ret_decision);
	else
		plan_disabled(c, ret_decision);
}
