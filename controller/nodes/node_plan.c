#include "controller/nodes/node_plan.h"

#include <errno.h>

#include "api/condition.h"
#include "api/json_map_read.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/patch.h"
#include "base/err.h"
#include "base/json_read.h"
#include "kube/reconcile.h"
#include "kube/store.h"

bool node_plan_is_claim(enum view_kind kind)
{
	return kind == VIEW_PCICLAIM || kind == VIEW_USBCLAIM;
}

const char *node_plan_node(const struct store *const *stores, enum view_kind kind, const char *name,
			   const struct view *view)
{
	enum view_kind of = kind == VIEW_PCICLAIM ? VIEW_PCIDEVICE : VIEW_USBDEVICE;
	const struct view *device;

	if (view->node[0] || !node_plan_is_claim(kind))
		return view->node;
	device = store_object(stores[of], name);
	return device ? device->node : "";
}

enum reach claim_reach_plan(enum reach written, enum reach actual)
{
	if (actual == written || (actual == REACH_OK && written == REACH_UNKNOWN))
		return REACH_UNKNOWN;
	return actual;
}

enum retire_step retire_plan(enum view_kind kind, const struct view *view)
{
	bool claim = node_plan_is_claim(kind);

	if (claim && !view->has_finalizer)
		return RETIRE_NOTHING;
	if (!view->deleting)
		return RETIRE_DELETE;
	return claim ? RETIRE_REMOVE_FINALIZER : RETIRE_NOTHING;
}

struct owned_claim_status {
	struct api_conditions conditions;
};

/* The common parts of both kinds of claims. */
struct owned_claim {
	struct api_meta meta;
	struct owned_claim_status status;
};

static const struct json_row status_map[] = {
	API_CONDITIONS(struct owned_claim_status),
	JSON_END,
};

static const struct json_row claim_map[] = {
	API_META(struct owned_claim),
	JSON_STRUCT(struct owned_claim, status, "status", JSON_OPTIONAL, struct owned_claim_status,
		    status_map),
	JSON_END,
};

static bool set_reach(struct owned_claim *claim, enum reach reach, int64_t now_wall_ms)
{
	return api_conditions_set(&claim->status.conditions,
				  &(struct api_condition_value){
					  .type = REACH_CONDITION,
					  .status = reach == REACH_OK ? API_TRUE : API_FALSE,
					  .reason = reach_reason(reach),
					  .message = reach_message(reach),
					  .observed_generation = claim->meta.generation,
				  },
				  now_wall_ms);
}

/* If the generation has changed since, the agent must write first. */
static json_t *reach_patch_of(struct owned_claim *claim, enum reach reach, int64_t now_wall_ms)
{
	json_t *body;

	if (claim_reach_plan(reach_of_conditions(&claim->status.conditions), reach) ==
	    REACH_UNKNOWN)
		return NULL;
	set_reach(claim, reach, now_wall_ms);
	body = patch_new(&claim->meta);
	json_object_set_new(body, "status", json_map_encode(status_map, &claim->status));
	return body;
}

int claim_reach_patch(const char *text, size_t len, enum reach reach, int64_t now_wall_ms,
		      json_t **ret_body, struct err *err)
{
	struct owned_claim claim;
	int r = json_map_read(claim_map, text, len, &claim, err);

	if (r < 0)
		return r;
	*ret_body = reach_patch_of(&claim, reach, now_wall_ms);
	if (claim.status.conditions.len > API_CONDITIONS_MAX) {
		json_decref(*ret_body);
		*ret_body = NULL;
		r = err_set(
			err, ERR_INVALID, -E2BIG,
			"status.conditions: no room for another condition besides the %d existing "
			"ones",
			API_CONDITIONS_MAX);
	}
	json_map_done(claim_map, &claim);
	return r;
}

static const char *finalizer_of(enum view_kind kind)
{
	return kind == VIEW_PCICLAIM ? NAMES_FINALIZER_HARVESTER_PCI
				     : NAMES_FINALIZER_HARVESTER_USB;
}

/* The patch that removes our finalizer; NULL: it is not there, or the object is not being
 * deleted. */
static json_t *stripped(const struct api_meta *meta, const char *ours)
{
	json_t *body;

	if (!meta->deletion_timestamp || !api_meta_has_finalizer(meta, ours))
		return NULL;
	body = patch_new(meta);
	patch_remove_finalizer(body, meta, ours);
	return body;
}

void retire_remove_finalizer(enum view_kind kind, const struct reconcile_view *view,
			     struct decision *ret_decision)
{
	struct owned_claim claim;

	if (!view->fresh) {
		ret_decision->step = STEP_READ;
		return;
	}
	if (json_map_read(claim_map, view->text->text, view->text->len, &claim,
			  &ret_decision->failure) < 0)
		return;
	ret_decision->body = stripped(&claim.meta, finalizer_of(kind));
	if (ret_decision->body)
		ret_decision->step = STEP_PATCH;
	json_map_done(claim_map, &claim);
}
