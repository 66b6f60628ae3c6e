/*
 * gpu_scene: one NVIDIA card with two virtual functions as a scan sees it, and decisions as short
 * texts.
 *
 * The lines have the form of hostdev-helper's; the cards are an A2 of a node with a driver that has
 * attributes, and one with mediated devices.
 */
#pragma once

#include <string.h>

#include "agent/gpu/gpu_cards.h"
#include "agent/gpu/gpu_step.h"
#include "agent/inventory/facts.h"
#include "api/json_map.h"
#include "api/object.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/kube/objects.h"
#include "unit/made_json.h"
#include "unit/suite.h"

#define NODE "node1"
#define PF   "0000:08:00.0"
#define VF1  "0000:08:00.4"
#define VF2  "0000:08:00.5"

/* Single quotes stand for double ones. */
#define CARD_LINE(vfs, number)                                                               \
	"{'kind':'pci','address':'" PF "','vendor':'10de','device':'25b6','class':'030200'," \
	"'driver':'nvidia','role':'PhysicalFunction','totalVFs':16,'numVFs':" number         \
	",'vfDevice':'25b6','virtualFunctions':[" vfs "]}"
#define CARD      CARD_LINE("'" VF1 "','" VF2 "'", "2")
#define BARE_CARD CARD_LINE("", "0")
#define VF_LINE(address)                                                                 \
	"{'kind':'pci','address':'" address "','vendor':'10de','device':'25b6','class':" \
	"'030200','driver':'nvidia','iommuGroup':'70','role':'VirtualFunction',"         \
	"'physicalFunction':'" PF "'}"
#define FUNCTIONS VF_LINE(VF1), VF_LINE(VF2)
#define VGPU(address, type, ...)                                                    \
	"{'kind':'vgpu','address':'" address "','current':'" type "','creatable':[" \
	"'ID    : vGPU Name'" __VA_ARGS__ "]}"
#define A2_TYPES ",'1145  : NVIDIA A2-2B','1146  : NVIDIA A2-4C'"
#define A_VGPU   CARD, FUNCTIONS, VGPU(VF1, "1146", ""), VGPU(VF2, "0", A2_TYPES)
#define NO_VGPU  CARD, FUNCTIONS, VGPU(VF1, "0", A2_TYPES), VGPU(VF2, "0", A2_TYPES)
#define MDEV_PARENT(address, available)                                                         \
	"{'kind':'mdevParent','name':'" address "','types':[{'id':'nvidia-746','name':'NVIDIA " \
	"A2-4C','available':" available "}]}"
#define MDEV_UUID "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001"
#define MDEV                                                                            \
	"{'kind':'mdev','uuid':'" MDEV_UUID "','parent':'" VF1 "','type':'nvidia-746'," \
	"'typeName':'NVIDIA A2-4C'}"
#define MDEV_RECORD                                                  \
	"{'kind':'mdevRecord','uuid':'" MDEV_UUID "','parent':'" VF1 \
	"','type':'nvidia-746','owner':'vgpu','thisBoot':true}"

struct gpu_scene {
	struct facts *facts;
	struct gpu_cards cards;
};

/* @lines end in NULL. The vGPUs count as looked at. */
static inline void gpu_scene_init(struct gpu_scene *scene, const char *const *lines)
{
	struct err err = { 0 };

	scene->facts = facts_new();
	for (; *lines; lines++) {
		auto_free char *line = made_json(*lines);

		assert_int_equal(facts_add_line(scene->facts, line, strlen(line), &err), 0);
	}
	scene->facts->vgpus_known = true;
	gpu_cards_make(scene->facts, &scene->cards);
}

static inline void gpu_scene_done(struct gpu_scene *scene)
{
	gpu_cards_done(&scene->cards);
	facts_free(scene->facts);
}

SUITE_CLOSING(gpu_scene, struct gpu_scene, gpu_scene_done);

/* The object that @text (with single quotes) is; NULL for NULL. The caller frees. */
static inline void *gpu_scene_object(const struct api_kind *kind, const char *text)
{
	auto_free char *clean = text ? made_json(text) : NULL;
	auto_json json_t *json = NULL;
	void *object = NULL;
	struct err err = { 0 };

	if (!text)
		return NULL;
	assert_int_equal(json_map_load(clean, strlen(clean), &json, &err), 0);
	assert_int_equal(api_object_decode(kind, json, &object, &err), 0);
	return object;
}

static inline const char *gpu_scene_ready(const json_t *body)
{
	json_t *conditions = json_object_get(json_object_get(body, "status"), "conditions");

	return json_string_value(json_object_get(json_array_get(conditions, 0), "reason"));
}

static inline void gpu_scene_add_act(struct str *out, const struct gpu_act *act)
{
	static const char *const verbs[] = {
		[GPU_ENABLE_VFS] = "enable",
		[GPU_DISABLE_VFS] = "disable",
		[GPU_SET_TYPE] = "set",
		[GPU_MAKE_MDEV] = "make",
		[GPU_REMOVE_MDEV] = "remove",
		[GPU_MIG_MODE_ON] = "mode",
		[GPU_MIG_CREATE] = "create",
		[GPU_MIG_REMOVE_COMPUTE] = "remove-compute",
		[GPU_MIG_REMOVE] = "remove-instance",
	};

	str_addf(out, "act %s %s", verbs[act->verb], act->address);
	if (act->type[0])
		str_addf(out, " %s", act->type);
	if (act->verb == GPU_REMOVE_MDEV)
		str_addf(out, " %s", act->uuid);
	if (act->verb == GPU_MIG_CREATE)
		str_addf(out, " %d", act->profile);
	if (act->verb == GPU_MIG_REMOVE_COMPUTE || act->verb == GPU_MIG_REMOVE)
		str_addf(out, " %d", act->instance);
	if (act->verb == GPU_MIG_REMOVE_COMPUTE)
		str_addf(out, "/%d", act->compute);
}

/* "tell Enabled", "act set 0000:08:00.4 1146", "spec {...}": a decision in short. The caller
 * frees. */
static inline char *gpu_scene_decision(const struct gpu_decision *d)
{
	const json_t *json = json_object_get(d->body, "spec");
	auto_free char *spec = json ? json_map_text(json) : NULL;
	struct str out = STR_INIT;

	switch (d->step) {
	case GPU_REST:
		str_add(&out, d->again_ms ? "rest again" : "rest");
		break;
	case GPU_CREATE:
		str_addf(&out, "create %s", spec);
		break;
	case GPU_SPEC:
		str_addf(&out, "spec %s", spec);
		break;
	case GPU_TELL:
		str_addf(&out, "tell %s", gpu_scene_ready(d->body));
		break;
	case GPU_DELETE:
		str_add(&out, "delete");
		break;
	case GPU_ACT:
		gpu_scene_add_act(&out, &d->act);
		break;
	case GPU_CLAIM:
		str_add(&out, "claim");
		break;
	case GPU_UNCLAIM:
		str_add(&out, "unclaim");
		break;
	case GPU_LOOK:
		str_add(&out, "look");
		break;
	}
	for (size_t i = 0; i < out.len; i++)
		out.buf[i] = out.buf[i] == '"' ? '\'' : out.buf[i];
	return str_detach(&out);
}

/* The object after a TELL of @body. The caller frees both. */
static inline void *gpu_scene_told(const struct api_kind *kind, const void *object,
				   const json_t *body)
{
	auto_json json_t *json = api_object_encode(kind, object);
	auto_json json_t *patch = json_pack("{s:O}", "status", json_object_get(body, "status"));
	void *told = NULL;
	struct err err = { 0 };

	object_merge(json, patch);
	assert_int_equal(api_object_decode(kind, json, &told, &err), 0);
	return told;
}
