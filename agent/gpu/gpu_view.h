/*
 * gpu_view: what a plan is to know of one object, taken from the stores, the cards and the memory of acts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/gpu/card_plan.h"
#include "agent/gpu/mig_plan.h"
#include "agent/gpu/vgpu_plan.h"

struct gpu_acts;
struct gpu_cards;
struct gpu_function;
struct gpu_memory;
struct gpus_deps;
struct inventory;
struct map;

enum gpu_kind { GPU_KIND_CARD, GPU_KIND_VGPU, GPU_KIND_MIG, GPU_KINDS };

/* Borrowed. */
struct gpu_world {
	const struct gpus_deps *deps;
	const struct informer *objects[GPU_KINDS];
	const struct inventory *inventory;
	const struct gpu_cards *cards;
	const struct gpu_acts *acts;
	const struct gpu_memory *memory;
};

/* Decide on the object @name of @kind; the caller releases *@ret_decision. */
void gpu_view_plan(const struct gpu_world *world, enum gpu_kind kind, const char *name,
		   struct gpu_decision *ret_decision);

/* Have devices of another kind the resource of the vGPU that @function is? */
bool gpu_view_taken(const struct gpu_world *world, const struct gpu_function *function);

/* The card that the object @name of @kind is about; NULL: it is not on the node. */
const struct gpu_card *gpu_view_card(const struct gpu_world *world, enum gpu_kind kind,
				     const char *name);
