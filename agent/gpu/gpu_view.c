#include "agent/gpu/gpu_view.h"

#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu_cards.h"
#include "agent/gpu/gpu_task.h"
#include "agent/gpu/gpus.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/node/this_node.h"
#include "api/meta.h"
#include "api/migconfiguration.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/sriovgpudevice.h"
#include "api/vgpudevice.h"
#include "base/mem.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "kube/store.h"

enum {
	LOOK_AGE_MS = 5 * 60 * 1000,
	LOOK_AGE_NEW_SPEC_MS = 5000, /* what is to be done now is not decided on old news */
	LOOK_AGE_NO_OBJECT_MS = 60 * 60 * 1000,
};

static const void *object_of(const struct gpu_world *world, enum gpu_kind kind, const char *name)
{
	return store_object(informer_store(world->objects[kind]), name);
}

static const struct pcideviceclaim *claim_of(const struct gpu_world *world, const char *name)
{
	return store_object(informer_store(world->node->claims[INVENTORY_PCI]), name);
}

const struct gpu_card *gpu_view_card(const struct gpu_world *world, enum gpu_kind kind,
				     const char *name)
{
	const struct gpu_card *card = NULL;
	char address[NAMES_ADDRESS_SIZE];

	if (names_pcidevice_address(world->node->name, name, address) < 0)
		return NULL;
	if (kind != GPU_KIND_VGPU)
		return gpu_cards_find(world->cards, address);
	(void)gpu_cards_function(world->cards, address, &card);
	return card;
}

/* Has anybody the device @id? *@ret_user, ours to free, says who; NULL: not known yet. */
static bool is_used(const struct gpu_world *world, const char *id, char **ret_user)
{
	const struct gpus_deps *deps = world->deps;

	*ret_user = NULL;
	return deps->is_free && !deps->is_free(deps->arg, id, ret_user);
}

static void fill_past(const struct gpu_world *world, enum gpu_kind kind, const char *name,
		      const struct gpu_card *card, const struct api_meta *meta,
		      struct gpu_past *past)
{
	gpu_tasks_past(world->tasks, kind, name, meta, card ? card->pci->address : NULL, past);
}

/* Why @f must not be removed, in words; NULL: it is not in use. The caller frees. */
static char *function_user(const struct gpu_world *world, const struct gpu_function *f)
{
	const char *address = f->pci->address;
	auto_free char *name = names_pcidevice(world->node->name, address);
	const struct pcideviceclaim *claim = claim_of(world, name);
	auto_free char *user = NULL;

	if (f->type)
		return xasprintf("%s is a vGPU of the type '%s': switch its VGPUDevice off first",
				 address, f->type_name ? f->type_name : f->type);
	if (claim && !vgpu_claim_is_ours(claim))
		return xasprintf("the PCIDeviceClaim '%s' has %s", name, address);
	if (!is_used(world, address, &user))
		return NULL;
	return xasprintf("%s has %s", user ? user : "somebody", address);
}

static char *card_user(const struct gpu_world *world, const struct gpu_card *card)
{
	for (size_t i = 0; card && i < card->len; i++) {
		char *user = function_user(world, &card->items[i]);

		if (user)
			return user;
	}
	return NULL;
}

static void plan_card(const struct gpu_world *world, const struct reconcile_view *view,
		      struct gpu_decision *d)
{
	const char *name = view->key;
	const struct gpu_card *card = gpu_view_card(world, GPU_KIND_CARD, name);
	const struct sriovgpudevice *object = view->object;
	auto_free char *user = card_user(world, card);
	struct card_case c = {
		.node_name = world->node->name,
		.name = name,
		.object = object,
		.card = card,
		.known = world->cards->known,
		.claimed = claim_of(world, name) != NULL,
		.user = user,
		.now_wall_ms = view->now_wall_ms,
	};

	fill_past(world, GPU_KIND_CARD, name, card, object ? &object->meta : NULL, &c.past);
	card_plan(&c, d);
}

/* Is the card of @object, which is not divided now, to be divided again? */
static bool is_card_wanted(const struct gpu_world *world, const struct vgpudevice *object)
{
	const char *address = object ? object->spec.parent_address : NULL;
	auto_free char *name =
		address && *address ? names_pcidevice(world->node->name, address) : NULL;
	const struct sriovgpudevice *card = name ? object_of(world, GPU_KIND_CARD, name) : NULL;

	return card && card->spec.enabled;
}

bool gpu_view_is_taken(const struct gpu_world *world, const struct gpu_function *function)
{
	const struct gpus_deps *deps = world->deps;

	return function->mdev && function->resource && deps->is_taken &&
	       deps->is_taken(deps->arg, function->resource);
}

static void plan_vgpu(const struct gpu_world *world, const struct reconcile_view *view,
		      const struct vgpudevice *object, const struct pcideviceclaim *claim,
		      struct gpu_decision *d)
{
	const char *name = view->key;
	const struct gpu_card *card = gpu_view_card(world, GPU_KIND_VGPU, name);
	char address[NAMES_ADDRESS_SIZE] = "";
	auto_free char *user = NULL;
	struct vgpu_case c = {
		.node_name = world->node->name,
		.name = name,
		.object = object,
		.card = card,
		.known = world->cards->known,
		.card_wanted = is_card_wanted(world, object),
		.device = store_object(informer_store(world->node->devices[INVENTORY_PCI]), name),
		.claim = claim,
		.now_wall_ms = view->now_wall_ms,
	};

	if (names_pcidevice_address(world->node->name, name, address) == 0)
		c.function = gpu_cards_function(world->cards, address, NULL);
	if (c.function) {
		c.used = is_used(world, c.function->mdev ? c.function->mdev->uuid : address, &user);
		c.taken = gpu_view_is_taken(world, c.function);
	}
	c.user = user;
	fill_past(world, GPU_KIND_VGPU, name, card, object ? &object->meta : NULL, &c.past);
	vgpu_plan(&c, d);
}

static uint64_t look_age_ms(const struct migconfiguration *object)
{
	if (!object)
		return LOOK_AGE_NO_OBJECT_MS;
	return object->meta.generation == object->status.observed_generation ? LOOK_AGE_MS
									     : LOOK_AGE_NEW_SPEC_MS;
}

static void plan_mig(const struct gpu_world *world, const struct reconcile_view *view,
		     struct gpu_decision *d)
{
	const char *name = view->key;
	const struct gpu_card *card = gpu_view_card(world, GPU_KIND_MIG, name);
	const struct migconfiguration *object = view->object;
	struct gpu_said said = { 0 };
	struct mig_case c = {
		.node_name = world->node->name,
		.name = name,
		.object = object,
		.parent = object_of(world, GPU_KIND_CARD, name),
		.card = card,
		.now_wall_ms = view->now_wall_ms,
	};
	auto_free char *user = NULL;

	for (size_t i = 0; card && i < card->len && !user; i++) {
		if (card->items[i].type)
			user = function_user(world, &card->items[i]);
	}
	if (card)
		gpu_tasks_said(world->tasks, card->pci->address, look_age_ms(object), &said);
	c.user = user;
	c.look = said.look;
	c.look_reason = said.reason;
	c.look_trouble = said.trouble;
	fill_past(world, GPU_KIND_MIG, name, card, object ? &object->meta : NULL, &c.past);
	mig_plan(&c, d);
}

void gpu_view_plan(const struct gpu_world *world, enum gpu_kind kind,
		   const struct reconcile_view *view, struct gpu_decision *ret_decision)
{
	*ret_decision = (struct gpu_decision){ 0 };
	switch (kind) {
	case GPU_KIND_CARD:
		plan_card(world, view, ret_decision);
		return;
	case GPU_KIND_VGPU:
		plan_vgpu(world, view, view->object, claim_of(world, view->key), ret_decision);
		return;
	case GPU_KIND_MIG:
		plan_mig(world, view, ret_decision);
		return;
	case GPU_KINDS:
		return;
	}
}

void gpu_view_plan_claim(const struct gpu_world *world, const struct reconcile_view *view,
			 struct gpu_decision *ret_decision)
{
	*ret_decision = (struct gpu_decision){ 0 };
	plan_vgpu(world, view, object_of(world, GPU_KIND_VGPU, view->key), view->object,
		  ret_decision);
}

bool gpu_view_is_foreign(const struct gpu_world *world, enum gpu_kind kind, const void *object)
{
	const struct sriovgpudevice *card = object;
	const struct vgpudevice *vgpu = object;
	const struct migconfiguration *mig = object;
	const char *node = kind == GPU_KIND_CARD   ? card->spec.node_name
			   : kind == GPU_KIND_VGPU ? vgpu->spec.node_name
						   : mig->spec.node_name;

	return node && *node && strcmp(node, world->node->name) != 0;
}
