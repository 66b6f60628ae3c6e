#include "agent/gpu/card_plan.h"

#include <stdio.h>
#include <string.h>

#include "agent/gpu/gpu_cards.h"
#include "agent/inventory/facts.h"
#include "api/names.h"
#include "api/object.h"
#include "api/patch.h"
#include "api/sriovgpudevice.h"
#include "base/mem.h"

enum { IN_USE_AGAIN_MS = 5000 };

/* Virtual functions that are there already are adopted. */
static void create(const struct card_case *c, struct gpu_decision *d)
{
	struct sriovgpudevice *object = api_object_new(&sriovgpudevice_kind);
	auto_free char *label = names_label_value(c->node_name);

	object->meta.name = xstrdup(c->name);
	json_pairs_set(&object->meta.labels, NAMES_LABEL_NODE, label);
	object->spec.address = xstrdup(c->card->pci->address);
	object->spec.node_name = xstrdup(c->node_name);
	object->spec.enabled = c->card->pci->num_vfs > 0;
	d->step = GPU_CREATE;
	d->body = api_object_encode(&sriovgpudevice_kind, object);
	json_object_del(d->body, "status");
	api_object_free(&sriovgpudevice_kind, object);
}

static void adopt(const struct card_case *c, struct gpu_decision *d)
{
	json_t *spec = json_object();

	json_object_set_new(spec, "enabled", json_true());
	d->step = GPU_SPEC;
	d->body = patch_new(&c->object->meta);
	json_object_set_new(d->body, "spec", spec);
	d->event_reason = "Adopted";
	d->event_message = xasprintf(
		"the virtual functions of %s exist, and hostdev did not create them: spec.enabled "
		"is set to true",
		c->card->pci->address);
}

static void list_functions(const struct card_case *c, struct sriovgpudevice_status *status)
{
	json_strs_done(&status->vf_addresses);
	json_strs_done(&status->vgpu_devices);
	for (size_t i = 0; c->card && i < c->card->len; i++) {
		const char *address = c->card->items[i].pci->address;
		auto_free char *name = names_pcidevice(c->node_name, address);

		json_strs_add(&status->vf_addresses, address);
		json_strs_add(&status->vgpu_devices, name);
	}
}

/* True if there is something to write. */
static bool tell(const struct card_case *c, bool managed, const struct gpu_news *news,
		 struct gpu_decision *d)
{
	struct sriovgpudevice_status want;
	bool told;

	json_map_copy(sriovgpudevice_status_map, &want, &c->object->status);
	want.observed_generation = c->object->meta.generation;
	want.managed = managed;
	list_functions(c, &want);
	told = gpu_tell(
		&(struct patch_status){
			.meta = &c->object->meta,
			.map = sriovgpudevice_status_map,
			.have = &c->object->status,
			.want = &want,
			.conditions = &want.conditions,
			.now_wall_ms = c->now_wall_ms,
		},
		news, d);
	json_map_done(sriovgpudevice_status_map, &want);
	return told;
}

static void tell_trouble(const struct card_case *c, bool managed, const char *reason,
			 const char *message, uint64_t again_ms, struct gpu_decision *d)
{
	struct gpu_news news = { .reason = reason, .message = message };

	if (!tell(c, managed, &news, d))
		d->again_ms = again_ms;
}

/* The intent is on the object before the card is touched. */
static void act(const struct card_case *c, enum gpu_verb verb, struct gpu_decision *d)
{
	struct gpu_act wanted = { .verb = verb };
	const struct gpu_past *past = &c->past;

	(void)snprintf(wanted.address, sizeof(wanted.address), "%s", c->card->pci->address);
	memcpy(wanted.card, wanted.address, sizeof(wanted.card));
	(void)snprintf(wanted.id, sizeof(wanted.id), "%s:%s", c->card->pci->vendor,
		       c->card->pci->device ? c->card->pci->device : "");
	wanted.count = verb == GPU_ENABLE_VFS ? c->card->pci->total_vfs : 0;
	if (past->stuck) {
		tell_trouble(c, true, "Stuck", past->stuck, 0, d);
		return;
	}
	if (gpu_past_holds(past, &wanted)) {
		tell_trouble(c, true, past->reason, past->message, past->wait_ms, d);
		return;
	}
	if (!c->object->status.managed) {
		tell_trouble(c, true, "Applying",
			     verb == GPU_ENABLE_VFS ? "the virtual functions are being created"
						    : "the virtual functions are being removed",
			     0, d);
		return;
	}
	d->step = GPU_ACT;
	d->act = wanted;
}

static void plan_disabled(const struct card_case *c, struct gpu_decision *d)
{
	const struct gpu_news off = { true, "Disabled", "it has no virtual functions" };

	if (c->card->pci->num_vfs == 0)
		(void)tell(c, false, &off, d);
	else if (!c->object->status.managed)
		adopt(c, d);
	else if (c->user)
		tell_trouble(c, true, "InUse", c->user, IN_USE_AGAIN_MS, d);
	else if (c->known)
		act(c, GPU_DISABLE_VFS, d);
	else
		d->again_ms = IN_USE_AGAIN_MS; /* whether a vGPU is there will be known */
}

static void plan_enabled(const struct card_case *c, struct gpu_decision *d)
{
	auto_free char *message = NULL;

	if (c->card->pci->num_vfs == 0) {
		act(c, GPU_ENABLE_VFS, d);
		return;
	}
	message = xasprintf("%d virtual functions", c->card->pci->num_vfs);
	(void)tell(c, true, &(struct gpu_news){ true, "Enabled", message }, d);
}

static void plan_without_card(const struct card_case *c, const char *reason, const char *message,
			      struct gpu_decision *d)
{
	if (c->object->spec.enabled)
		tell_trouble(c, c->object->status.managed, reason, message, 0, d);
	else
		d->step = GPU_DELETE;
}

static void plan_no_card(const struct card_case *c, struct gpu_decision *d)
{
	auto_free char *message = NULL;

	if (c->object->status.managed || !gpu_is_strange(&c->object->status.conditions)) {
		plan_without_card(c, "DeviceGone", "the card is not on the node any more", d);
		return;
	}
	message = xasprintf("node %s has no NVIDIA card of this name that can be divided by "
			    "virtual functions: delete the object",
			    c->node_name);
	tell_trouble(c, false, GPU_NOT_SUPPORTED, message, 0, d);
}

/* Another node's agent has another card at the same address: not ours to touch. */
static bool is_ours(const struct card_case *c)
{
	const char *node = c->object->spec.node_name;

	return !node || !*node || strcmp(node, c->node_name) == 0;
}

void card_plan(const struct card_case *c, struct gpu_decision *ret_decision)
{
	*ret_decision = (struct gpu_decision){ 0 };
	if (c->past.newer)
		return;
	if (!c->object) {
		if (c->card && !c->claimed)
			create(c, ret_decision);
		return;
	}
	if (c->object->meta.deletion_timestamp || !is_ours(c))
		return;
	if (!c->card)
		plan_no_card(c, ret_decision);
	else if (c->claimed)
		plan_without_card(c, "PassedThrough",
				  "a PCIDeviceClaim passes the card itself through: delete it to "
				  "divide the card",
				  ret_decision);
	else if (c->object->spec.enabled)
		plan_enabled(c, ret_decision);
	else
		plan_disabled(c, ret_decision);
}
