#include "agent/sriov/sriov_card.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/inventory.h"
#include "agent/sriov/sriov.h"
#include "agent/sriov/sriov_helper.h"
#include "agent/sriov/sriov_outcome.h"
#include "agent/sriov/sriov_past.h"
#include "agent/sriov/sriov_plan.h"
#include "agent/sriov/sriov_view.h"
#include "api/names.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/sriovnetworkdevice.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/apply.h"
#include "kube/audit.h"
#include "kube/clock.h"
#include "kube/echoes.h"
#include "kube/events.h"
#include "kube/fetch.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "kube/store.h"

enum { STEPS_MAX = 16, STEPS_AGAIN_MS = 1000 };

struct sriov_card {
	const struct sriov_context *context;
	char *name;

	/* The look under way; end NULL: none. */
	work_end_fn *end;
	void *end_arg;
	unsigned steps;
	bool answered; /* the API server itself told of the object in this look */
	bool hidden;   /* it is there though it is not seen: it is being read   */
	struct sriovnetworkdevice *object; /* what it said; NULL: there is none */
	struct sriov_decision decision;
	struct kube_call *call;
	bool waits;

	struct sriov_helper *helper; /* NULL: none is under way */
	bool stuck;                  /* ... past its deadline   */
	struct sriov_past past;
};

static uint64_t now_ms(const struct sriov_card *card)
{
	return clock_now_ms(card->context->deps->clock);
}

struct sriov_card *sriov_card_new(const struct sriov_context *context, const char *name)
{
	struct sriov_card *card = xcalloc(1, sizeof(*card));

	card->context = context;
	card->name = xstrdup(name);
	return card;
}

struct sriov_card *sriov_card_free(struct sriov_card *card)
{
	if (!card)
		return NULL;
	if (card->call)
		kube_call_cancel(card->call);
	sriov_helper_abandon(card->helper);
	if (card->end)
		card->end(card->end_arg, 0, NULL);
	sriov_decision_done(&card->decision);
	sriov_past_done(&card->past);
	api_object_free(&sriovnetworkdevice_kind, card->object);
	free(card->name);
	free(card);
	return NULL;
}

bool sriov_card_is_busy(const struct sriov_card *card)
{
	return card->helper != NULL || card->end != NULL;
}

bool sriov_card_waits(const struct sriov_card *card)
{
	return card->waits;
}

static void end_look(struct sriov_card *card, int result, const struct err *err)
{
	work_end_fn *end = card->end;
	void *arg = card->end_arg;

	sriov_decision_done(&card->decision);
	api_object_free(&sriovnetworkdevice_kind, card->object);
	card->object = NULL;
	card->answered = false;
	card->end = NULL;
	end(arg, result, err);
}

/* The newest view of the object; NULL: there is none, or it cannot be read. */
static const struct sriovnetworkdevice *object_now(const struct sriov_card *card)
{
	if (card->answered)
		return card->object;
	return store_object(informer_store(card->context->objects), card->name);
}

static void view_of(struct sriov_view *view, const struct sriov_card *card)
{
	sriov_view_init(view, card->context, card->name, object_now(card), &card->past);
	view->c.fresh = card->answered;
	view->c.stuck = card->stuck ? sriov_helper_text(card->helper) : NULL;
}

bool sriov_card_holds(const struct sriov_card *card)
{
	struct sriov_view view;
	bool holds;

	if (card->helper)
		return !card->stuck;
	view_of(&view, card);
	holds = sriov_view_holds(&view);
	sriov_view_done(&view);
	return holds;
}

static void go_on(struct sriov_card *card);

/* The PCIDevice of the card, so that its history has this, too; NULL: it is not known. */
static const struct api_meta *device_of(const struct sriov_card *card, const char *address)
{
	const struct sriov_deps *deps = card->context->deps;
	auto_free char *name = address ? names_pcidevice(deps->node_name, address) : NULL;

	return name && deps->devices ? store_object(informer_store(deps->devices), name) : NULL;
}

static void tell_event(struct sriov_card *card)
{
	const struct sriovnetworkdevice *object = object_now(card);
	const struct sriov_decision *decision = &card->decision;
	const struct sriov_deps *deps = card->context->deps;

	if (!decision->event_reason || !object)
		return;
	audit_record(
		deps->events,
		&(struct events_about){ &pcidevice_kind, device_of(card, object->spec.address) },
		&(struct audit){
			.action = "configure",
			.result = audit_result(decision->event_reason, decision->warning),
			.kind = sriovnetworkdevice_kind.kind,
			.device = card->name,
			.node = deps->node_name,
			.reason = decision->event_reason,
			.message = decision->event_message,
			.warning = decision->warning,
		});
	events_record(deps->events,
		      &(struct events_about){ &sriovnetworkdevice_kind, &object->meta },
		      decision->warning ? EVENTS_WARNING : EVENTS_NORMAL, decision->event_reason,
		      "%s", decision->event_message);
}

static void finish_step(struct sriov_card *card)
{
	tell_event(card);
	sriov_decision_done(&card->decision);
	go_on(card);
}

/* What the API server says of the object (NULL: there is none) counts more than the store. */
static void take(struct sriov_card *card, struct sriovnetworkdevice *object)
{
	api_object_free(&sriovnetworkdevice_kind, card->object);
	card->object = object;
	card->answered = true;
	echoes_expect(card->context->echoes, card->name,
		      object ? object->meta.resource_version : NULL, now_ms(card));
}

/* What our view was made of is not true any more. */
static void distrust(struct sriov_card *card)
{
	const struct sriovnetworkdevice *object = object_now(card);

	if (!card->answered && object)
		echoes_distrust(card->context->echoes, card->name, object->meta.resource_version,
				now_ms(card));
}

static void end_failed(struct sriov_card *card, const struct err *err)
{
	struct err cause = *err;

	if (cause.code == -ENOENT)
		cause.kind = ERR_CONFLICT; /* deleted meanwhile */
	if (cause.code == -EMSGSIZE)
		cause.kind = ERR_RETRY;
	if (cause.kind == ERR_CONFLICT)
		distrust(card);
	end_look(card, cause.code, &cause);
}

static void read_object(struct sriov_card *card);

/* Nothing is done with an object of another node, so that nothing else would tell of it. */
static void tell_another(const struct sriov_card *card, const struct sriovnetworkdevice *object)
{
	const char *node = object->spec.node_name;

	if (node && strcmp(node, card->context->deps->node_name) != 0)
		log_warn("an object that this node needs is another node's: correct or delete it",
			 log_str("kind", sriovnetworkdevice_kind.kind),
			 log_str("object", card->name), log_str("nodeName", node));
}

static void on_answer(void *arg, int result, const struct kube_response *response,
		      const struct err *err)
{
	struct sriov_card *card = arg;
	struct sriovnetworkdevice *object = NULL;
	struct err cause = *err;

	card->call = NULL;
	if (result == 0)
		object = sriov_view_decode(response, card->name, &cause);
	if (!object) {
		end_failed(card, &cause);
		return;
	}
	if (card->hidden)
		tell_another(card, object);
	card->hidden = false;
	take(card, object);
	finish_step(card);
}

static void on_written(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct sriov_card *card = arg;

	/* Somebody made it without the label that would show it to us. */
	if (result == -EEXIST && card->decision.step == SRIOV_CREATE) {
		card->hidden = true;
		read_object(card);
		return;
	}
	on_answer(card, result, response, err);
}

static void read_object(struct sriov_card *card)
{
	card->call = fetch_object(card->context->deps->client, &sriovnetworkdevice_kind, card->name,
				  on_answer, card);
}

static void on_deleted(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct sriov_card *card = arg;

	(void)response;
	card->call = NULL;
	if (result < 0 && result != -ENOENT) {
		end_failed(card, err);
		return;
	}
	take(card, NULL);
	end_look(card, 0, NULL);
}

static void delete_object(struct sriov_card *card)
{
	const struct sriovnetworkdevice *object = object_now(card);

	card->call = apply_delete(card->context->deps->client,
				  &(struct delete_request){
					  .kind = &sriovnetworkdevice_kind,
					  .name = card->name,
					  .uid = object->meta.uid,
					  .version = object->meta.resource_version,
				  },
				  on_deleted, card);
}

static void send_body(struct sriov_card *card)
{
	bool status = card->decision.step == SRIOV_TELL;
	struct kube_client *client = card->context->deps->client;
	struct apply_request request = {
		.kind = &sriovnetworkdevice_kind,
		.name = card->name,
		.subresource = status ? "status" : NULL,
		.field_manager = "hostdev-agent",
		.object = card->decision.body,
	};

	card->call = card->decision.step == SRIOV_CREATE
			     ? apply_create(client, &request, on_written, card)
			     : apply_merge(client, &request, on_written, card);
}

/* --- the helper ---------------------------------------------------------------------------- */

static void on_helper_end(void *arg, struct sriov_outcome *outcome)
{
	struct sriov_card *card = arg;
	const struct sriov_deps *deps = card->context->deps;

	card->stuck = outcome == NULL;
	if (outcome) {
		card->helper = NULL;
		metric_count(card->context->changes, outcome->done ? "Done" : outcome->reason);
		if (sriov_past_end(&card->past, outcome, now_ms(card)))
			deps->on_moved(deps->arg);
		deps->on_free(deps->arg);
	}
	finish_step(card);
}

static void on_helper_gone(void *arg)
{
	struct sriov_card *card = arg;
	const struct sriov_deps *deps = card->context->deps;

	log_info("stuck helper has ended", log_str("object", card->name));
	card->stuck = false;
	card->helper = NULL;
	sriov_past_lose(&card->past, now_ms(card));
	deps->on_moved(deps->arg);
	card->context->again(card->context->arg, card->name, 0);
}

static void start_helper(struct sriov_card *card)
{
	const struct sriov_context *context = card->context;
	const struct sriov_helper_spec spec = {
		.loop = context->deps->loop,
		.options = &context->deps->options,
		.node_address = context->node_address,
		.job = &card->decision.job,
		.on_end = on_helper_end,
		.on_gone = on_helper_gone,
		.arg = card,
	};
	struct sriov_outcome none = { .refused = true };
	struct err err = { 0 };

	sriov_past_begin(&card->past, object_now(card)->meta.generation, card->decision.job.count,
			 now_ms(card));
	card->helper = sriov_helper_start(&spec, &err);
	if (card->helper)
		return;
	none.reason = xstrdup("HelperFailed");
	none.message = xstrdup(err.msg);
	(void)sriov_past_end(&card->past, &none, now_ms(card));
	finish_step(card);
}

/* --- one look -------------------------------------------------------------------------------- */

static void rest(struct sriov_card *card)
{
	card->waits = card->decision.waits;
	if (card->decision.again_ms)
		card->context->again(card->context->arg, card->name, card->decision.again_ms);
	end_look(card, 0, NULL);
}

static void do_step(struct sriov_card *card)
{
	switch (card->decision.step) {
	case SRIOV_REST:
		rest(card);
		return;
	case SRIOV_CREATE:
	case SRIOV_MARK:
	case SRIOV_TELL:
		send_body(card);
		return;
	case SRIOV_READ:
		read_object(card);
		return;
	case SRIOV_APPLY:
		start_helper(card);
		return;
	case SRIOV_DELETE:
		delete_object(card);
		return;
	}
}

static void go_on(struct sriov_card *card)
{
	struct sriov_view view;

	/* What there is now, only the next inventory can say. */
	if (sriov_past_is_unsure(&card->past, card->context->inventory->began_ms)) {
		end_look(card, 0, NULL);
		return;
	}
	if (card->steps++ == STEPS_MAX) {
		card->context->again(card->context->arg, card->name, STEPS_AGAIN_MS);
		end_look(card, 0, NULL);
		return;
	}
	view_of(&view, card);
	sriov_plan(&view.c, &card->decision);
	sriov_view_done(&view);
	log_debug("network card step", log_str("object", card->name),
		  log_int("step", card->decision.step));
	do_step(card);
}

void sriov_card_look(struct sriov_card *card, work_end_fn *end, void *end_arg)
{
	card->end = end;
	card->end_arg = end_arg;
	card->steps = 0;
	card->hidden = false;
	card->waits = false;
	if (!object_now(card))
		sriov_past_forget(&card->past);
	go_on(card);
}
