#include "agent/sriov/sriov_plan.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/sriov/sriov_judge.h"
#include "agent/sriov/sriov_look.h"
#include "agent/sriov/sriov_mark.h"
#include "agent/sriov/sriov_outcome.h"
#include "agent/sriov/sriov_status.h"
#include "api/sriovnetworkdevice.h"
#include "base/mem.h"
#include "kube/store.h"

enum { UNKNOWN_AGAIN_MS = 500 };

/* One look at one card. */
struct look {
	const struct sriov_case *c;
	struct sriov_decision *decision;
	struct sriov_verdict verdict;
};

void sriov_decision_done(struct sriov_decision *decision)
{
	json_decref(decision->body);
	sriov_job_done(&decision->job);
	free(decision->event_message);
	*decision = (struct sriov_decision){ 0 };
}

/* Takes @body. */
static void write_step(struct look *look, enum sriov_step step, json_t *body)
{
	look->decision->step = step;
	look->decision->body = body;
}

/* A card gets an object if the node can spare it as far as can be seen, and nobody has made one for it under another
 * name. */
static void plan_new(struct look *look)
{
	const struct sriov_case *c = look->c;
	const struct verdict *verdict;

	if (!c->pf || !sriov_look_is_nic(c->pf) || sriov_look_object(c->objects, c->pf->address))
		return;
	verdict = sriov_look_verdict(c->inventory, c->pf->address);
	if ((!verdict || !sriov_look_critical(verdict)) && !sriov_look_unread(c->inventory, c->pf))
		write_step(look, SRIOV_CREATE, sriov_mark_new(c));
}

static bool asks_for_something(const struct sriovnetworkdevice *object)
{
	return (object->spec.num_vfs > 0 && !sriov_is_as_found(object)) ||
	       object->spec.virtual_functions.len > 0 || object->spec.drivers_autoprobe;
}

/* True if there is something to write. */
static bool tell(struct look *look, const char *reason, const char *message)
{
	struct sriov_news news = {
		.verdict = &look->verdict,
		.reason = reason,
		.message = message,
	};
	struct sriov_change change;
	json_t *body = sriov_status_patch(look->c, &news, &change);

	if (!body)
		return false;
	write_step(look, SRIOV_TELL, body);
	look->decision->warning = change.warning;
	look->decision->event_reason = change.reason;
	look->decision->event_message = change.message;
	return true;
}

/* Is autoprobe still as it was switched for virtual functions that are gone? */
static bool is_left_switched(const struct sriov_case *c)
{
	return c->pf->virtual_functions.len == 0 &&
	       json_strs_has(&c->inventory->facts->autoprobes, c->pf->address);
}

static char *applying_text(const struct look *look)
{
	const struct sriov_case *c = look->c;

	if (!look->verdict.change)
		return xstrdup("the settings of the virtual functions are looked at");
	return xasprintf("there are %zu virtual functions, and %d are requested",
			 c->pf->virtual_functions.len, c->object->spec.num_vfs);
}

/* What is in order already is looked at without a word. */
static bool tell_applying(struct look *look)
{
	auto_free char *message = applying_text(look);

	if (!look->verdict.change) {
		struct sriov_decision quiet = { 0 };
		struct look silent = { look->c, &quiet, look->verdict };
		bool differs = tell(&silent, NULL, NULL);

		sriov_decision_done(&quiet);
		if (!differs)
			return false;
	}
	return tell(look, "Applying", message);
}

static void apply(struct look *look)
{
	const struct sriov_case *c = look->c;

	/* To remove what somebody has cannot be taken back. */
	if (look->verdict.change && !c->fresh) {
		look->decision->step = SRIOV_READ;
		return;
	}
	look->decision->step = SRIOV_APPLY;
	sriov_job_make(c->object, c->pf, look->verdict.change, &look->decision->job);
}

/* The card may be given what the spec wants. */
static void plan_due(struct look *look)
{
	const struct sriov_case *c = look->c;

	if (c->failure && tell(look, c->failure->reason, c->failure->message))
		return;
	if (c->failure && c->hold_ms > 0) {
		look->decision->again_ms = c->hold_ms;
		look->decision->waits = c->failure->held;
		return;
	}
	if (c->failure || !tell_applying(look))
		apply(look);
}

static void plan_judged(struct look *look)
{
	const struct sriov_case *c = look->c;
	const struct sriov_verdict *v = &look->verdict;
	bool due = v->ok && (v->change || (v->settings && !c->verified) || is_left_switched(c));

	if (c->stuck) {
		(void)tell(look, "Stuck", c->stuck);
		return;
	}
	if (v->ok && v->change && c->unknown) {
		look->decision->again_ms = UNKNOWN_AGAIN_MS;
		look->decision->waits = true;
		return;
	}
	if (due) {
		plan_due(look);
		return;
	}
	if (!tell(look, NULL, NULL))
		look->decision->waits = !v->ok;
}

static void plan_object(struct look *look)
{
	const struct sriov_case *c = look->c;
	json_t *mark;

	if (!c->pf && c->object->status.address && !asks_for_something(c->object)) {
		look->decision->step = SRIOV_DELETE;
		return;
	}
	mark = sriov_mark(c);
	if (mark) {
		write_step(look, SRIOV_MARK, mark);
		return;
	}
	sriov_judge(c, &look->verdict);
	plan_judged(look);
	sriov_verdict_done(&look->verdict);
}

void sriov_plan(const struct sriov_case *c, struct sriov_decision *ret_decision)
{
	const struct sriovnetworkdevice *object = c->object;
	struct look look = { .c = c, .decision = ret_decision };

	*ret_decision = (struct sriov_decision){ 0 };
	if (c->pf && (!c->pf->vendor || !c->pf->device))
		return; /* the scan could not read it: nothing is known of it */
	if (!object)
		plan_new(&look);
	else if (!object->meta.deletion_timestamp &&
		 (!object->spec.node_name || strcmp(object->spec.node_name, c->node_name) == 0))
		plan_object(&look);
}
