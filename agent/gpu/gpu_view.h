/*
 * gpu_view: what the plan of one object is to know, from the caches, the cards and the tasks. Pure.
 */
#pragma once

#include <stdbool.h>

#include "agent/gpu/card_plan.h"
#include "agent/gpu/mig_plan.h"
#include "agent/gpu/vgpu_plan.h"

struct gpu_cards;
struct gpu_function;
struct gpu_tasks;
struct gpus_deps;
struct informer;
struct reconcile_view;
struct this_node;

/* Borrowed. */
struct gpu_world {
	const struct this_node *node;
	const struct gpus_deps *deps;
	const struct informer *objects[GPU_KINDS];
	const struct gpu_cards *cards;
	const struct gpu_tasks *tasks;
};

/* Decide on the object of @view, of @kind; the caller releases *@ret_decision. */
void gpu_view_plan(const struct gpu_world *world, enum gpu_kind kind,
		   const struct reconcile_view *view, struct gpu_decision *ret_decision);

/* Decide on the VGPUDevice, if its PCIDeviceClaim is the object of @view. Likewise. */
void gpu_view_plan_claim(const struct gpu_world *world, const struct reconcile_view *view,
			 struct gpu_decision *ret_decision);

/* Does the object, of @kind, say that it is another node's? */
bool gpu_view_is_foreign(const struct gpu_world *world, enum gpu_kind kind, const void *object);

/* Has a device of another type the resource of the vGPU @function? */
bool gpu_view_is_taken(const struct gpu_world *world, const struct gpu_function *function);

/* The card that the object @name of @kind is about; NULL: it is not on the node. */
const struct gpu_card *gpu_view_card(const struct gpu_world *world, enum gpu_kind kind,
				     const char *name);
