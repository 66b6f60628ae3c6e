#include "agent/gpu/gpu_step.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/mem.h"

static const char ready_type[] = "Ready";

void gpu_decision_done(struct gpu_decision *decision)
{
	json_decref(decision->body);
	free(decision->event_message);
	*decision = (struct gpu_decision){ 0 };
}

bool gpu_act_same(const struct gpu_act *a, const struct gpu_act *b)
{
	return a->verb == b->verb && strcmp(a->address, b->address) == 0 &&
	       strcmp(a->type, b->type) == 0 && strcmp(a->uuid, b->uuid) == 0 &&
	       a->profile == b->profile && a->instance == b->instance && a->compute == b->compute;
}

bool gpu_past_holds(const struct gpu_past *past, const struct gpu_act *act)
{
	return past->act && past->failed && past->wait_ms > 0 && gpu_act_same(past->act, act);
}

json_t *gpu_patch_new(const struct api_meta *meta)
{
	json_t *body = json_object();
	json_t *metadata = json_object();

	json_object_set_new(metadata, "uid", json_string(meta->uid ? meta->uid : ""));
	json_object_set_new(metadata, "resourceVersion",
			    json_string(meta->resource_version ? meta->resource_version : ""));
	json_object_set_new(body, "metadata", metadata);
	return body;
}

/* @want with null for each field that must go. */
static json_t *status_json(const struct json_row *map, json_t *want, const json_t *have)
{
	json_t *status = json_copy(want);

	for (const struct json_row *row = map; row->type != JSON_ROW_END; row++) {
		if (json_object_get(have, row->key) && !json_object_get(want, row->key))
			json_object_set_new(status, row->key, json_null());
	}
	return status;
}

static bool is_progress(const char *reason)
{
	return strcmp(reason, "Applying") == 0 || strcmp(reason, "Disabled") == 0;
}

/* An event for each change of what Ready says, but for a step on the way, and for what a new object says
 * of a card that nobody has asked anything of. */
static void add_event(struct gpu_decision *decision, const char *before,
		      const struct gpu_news *news)
{
	if ((before && strcmp(before, news->reason) == 0) || is_progress(news->reason))
		return;
	decision->warning = !news->ready;
	decision->event_reason = news->reason;
	decision->event_message = xstrdup(news->message ? news->message : news->reason);
}

bool gpu_is_strange(const struct api_conditions *conditions)
{
	const struct api_condition *ready = api_conditions_find(conditions, ready_type);

	return !ready || (ready->reason && strcmp(ready->reason, GPU_NOT_SUPPORTED) == 0);
}

bool gpu_tell(const struct gpu_status *s, const struct gpu_news *news,
	      struct gpu_decision *decision)
{
	const struct api_condition *old = api_conditions_find(s->conditions, ready_type);
	auto_free char *before = old ? xstrdup_or_null(old->reason) : NULL;
	auto_json json_t *have = json_map_encode(s->map, s->have);
	auto_json json_t *want = NULL;

	api_conditions_set(s->conditions,
			   &(struct api_condition_value){
				   .type = ready_type,
				   .status = news->ready ? API_TRUE : API_FALSE,
				   .reason = news->reason,
				   .message = news->message,
				   .observed_generation = s->meta->generation,
			   },
			   s->now_wall_ms);
	want = json_map_encode(s->map, s->want);
	if (json_equal(want, have))
		return false;
	decision->step = GPU_TELL;
	decision->body = gpu_patch_new(s->meta);
	json_object_set_new(decision->body, "status", status_json(s->map, want, have));
	add_event(decision, before, news);
	return true;
}
