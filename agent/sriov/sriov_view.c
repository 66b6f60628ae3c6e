#include "agent/sriov/sriov_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/sriov/sriov.h"
#include "agent/sriov/sriov_card.h"
#include "agent/sriov/sriov_judge.h"
#include "agent/sriov/sriov_look.h"
#include "agent/sriov/sriov_past.h"
#include "api/object.h"
#include "api/sriovnetworkdevice.h"
#include "base/err.h"
#include "kube/client.h"
#include "kube/clock.h"
#include "kube/informer.h"

/* Only then it matters who has what. */
static bool is_to_change(const struct sriov_case *c)
{
	return c->object && c->pf && !sriov_is_as_found(c->object) &&
	       c->object->spec.num_vfs != (int)c->pf->virtual_functions.len;
}

void sriov_view_init(struct sriov_view *view, const struct sriov_context *context, const char *name,
		     const struct sriovnetworkdevice *object, const struct sriov_past *past)
{
	const struct sriov_deps *deps = context->deps;

	*view = (struct sriov_view){ .c = {
					     .node_name = deps->node_name,
					     .name = name,
					     .object = object,
					     .inventory = context->inventory,
					     .objects = informer_store(context->objects),
					     .pf = sriov_look_card(deps->node_name,
								   context->inventory, name,
								   object),
					     .now_wall_ms = clock_wall_ms(deps->clock),
				     } };
	if (object) {
		view->c.failure = sriov_past_failure(past, object->meta.generation,
						     clock_now_ms(deps->clock), &view->c.hold_ms);
		view->c.verified = sriov_past_is_verified(past, object->meta.generation,
							  context->inventory->began_ms);
	}
	if (!is_to_change(&view->c))
		return;
	sriov_use_find(deps, context->inventory, view->c.pf, &view->use);
	view->claimed = sriov_use_claim(deps, context->inventory, view->c.pf->address);
	view->c.user = view->use.text;
	view->c.unknown = view->use.unknown;
	view->c.claimed = view->claimed;
}

void sriov_view_done(struct sriov_view *view)
{
	sriov_use_done(&view->use);
	free(view->claimed);
	view->claimed = NULL;
}

bool sriov_view_holds(const struct sriov_view *view)
{
	const struct sriov_case *c = &view->c;
	struct sriov_verdict verdict;
	bool holds;

	if (!c->object || !c->pf || !c->pf->vendor || !c->pf->device)
		return false;
	sriov_judge(c, &verdict);
	holds = verdict.ok && verdict.settings && !c->verified && !c->failure;
	sriov_verdict_done(&verdict);
	return holds;
}

struct sriovnetworkdevice *sriov_view_decode(const struct kube_response *response, const char *name,
					     struct err *err)
{
	auto_json json_t *json = NULL;
	struct sriovnetworkdevice *object;
	void *decoded = NULL;

	if (json_map_load(response->body, response->body_len, &json, NULL) == 0)
		(void)api_object_decode(&sriovnetworkdevice_kind, json, &decoded, NULL);
	object = decoded;
	if (object && object->meta.resource_version && strcmp(object->meta.name, name) == 0)
		return object;
	api_object_free(&sriovnetworkdevice_kind, decoded);
	err_set(err, ERR_RETRY, -EBADMSG, "the answer is not the object '%s'", name);
	return NULL;
}
