#include "agent/gpu/gpu_step.h"

#include <stdlib.h>
#include <string.h>

#include "api/migconfiguration.h"
#include "api/patch.h"
#include "api/reason.h"
#include "api/sriovgpudevice.h"
#include "api/vgpudevice.h"
#include "base/mem.h"

static const char ready_type[] = "Ready";

const struct api_kind *gpu_kind_api(enum gpu_kind kind)
{
	static const struct api_kind *const kinds[GPU_KINDS] = {
		[GPU_KIND_CARD] = &sriovgpudevice_kind,
		[GPU_KIND_VGPU] = &vgpudevice_kind,
		[GPU_KIND_MIG] = &migconfiguration_kind,
	};

	return kinds[kind];
}

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

/* Record an event for each new reason of Ready, except for intermediate steps (REASON_PROGRESS). */
static void add_event(struct gpu_decision *decision, const char *before,
		      const struct gpu_news *news)
{
	if ((before && strcmp(before, news->reason) == 0) ||
	    reason_is(news->reason, REASON_PROGRESS))
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

bool gpu_tell(const struct patch_status *s, const struct gpu_news *news,
	      struct gpu_decision *decision)
{
	const struct api_condition *old = api_conditions_find(s->conditions, ready_type);
	auto_free char *before = old ? xstrdup_or_null(old->reason) : NULL;
	json_t *body;

	patch_status_condition(s, ready_type, news->ready ? API_TRUE : API_FALSE, news->reason,
			       news->message);
	body = patch_status_body(s);
	if (!body)
		return false;
	decision->step = GPU_TELL;
	decision->body = body;
	add_event(decision, before, news);
	return true;
}
