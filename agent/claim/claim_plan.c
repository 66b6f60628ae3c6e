#include "agent/claim/claim_plan.h"

#include <stdlib.h>
#include <string.h>

#include "agent/binder/binder.h"
#include "agent/claim/claim_group.h"
#include "agent/claim/claim_judge.h"
#include "agent/claim/claim_native.h"
#include "agent/claim/claim_status.h"
#include "agent/claim/claim_trouble.h"
#include "agent/inventory/facts.h"
#include "api/condition.h"
#include "api/meta.h"
#include "api/override.h"
#include "api/pcideviceclaim.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/store.h"

/* --- jobs: the functions that a transition moves ---------------------------------------------- */

/* Is @f moved when its group is bound? Its group is covered. A function without a driver and
 * without a claim of its own does not block the group: leave it. */
static bool claim_job_takes(const struct claim_group *group, const struct claim_function *f)
{
	if (!f->cover || !f->pci || f->different || claim_function_is_port(f) ||
	    !claim_group_member(group, f))
		return false;
	return f->cover == f->claim || f->driver || f->recorded;
}

/* Is it bound: on the driver of its cover, and recorded for it? */
static bool claim_job_has(const struct claim_function *f)
{
	if (!claim_function_on_driver(f, f->cover) || !claim_function_recorded_for(f, f->cover))
		return false;
	return f->rewritten || !f->record || str_match(f->record->driver, claim_driver(f->cover));
}

/* Harvester has bound it, and its claim says so. */
static bool gives_adopted(const struct claim_case *c, const struct claim_group *group,
			  const struct claim_function *f)
{
	const char *native = claim_native(c, f);

	if (f != claim_group_self(group) || f->released || !c->claim ||
	    !claim_is_marked(c->claim) || pcideviceclaim_is_skipped(c->claim) ||
	    !claim_function_on_driver(f, c->claim))
		return false;
	return c->claim->status.passthrough_enabled || (native && *native);
}

/* The claim that the record names; NULL: not known. */
static const char *owner_of(const struct claim_function *f)
{
	if (f->rewritten)
		return f->cover ? f->cover->meta.name : NULL;
	return f->record ? f->record->claim : NULL;
}

/* Does the claim have to release @f? Also for a claim that is gone (c->claim NULL). A function
 * whose record names another claim is released by that claim. */
static bool claim_job_gives(const struct claim_case *c, const struct claim_group *group,
			    const struct claim_function *f)
{
	const char *owner = owner_of(f);

	if (!f->recorded)
		return !f->cover && gives_adopted(c, group, f);
	if (!owner)
		return f == claim_group_self(group);
	return strcmp(owner, c->name) == 0;
}

static char *id_of(const struct claim_function *f, bool as_recorded)
{
	if (as_recorded && f->record && f->record->id)
		return xstrdup(f->record->id);
	if (f->pci && f->pci->vendor && f->pci->device)
		return xasprintf("%s:%s", f->pci->vendor, f->pci->device);
	return xstrdup(f->record && f->record->id ? f->record->id : "0000:0000");
}

static const char *serial_of(const struct claim_function *f, bool as_recorded)
{
	if ((as_recorded || !f->pci) && f->record)
		return f->record->serial;
	return f->pci ? f->pci->serial : NULL;
}

static const char *identity_of(const struct claim_function *f, bool as_recorded)
{
	if ((as_recorded || !f->pci) && f->record)
		return f->record->identity;
	return f->pci ? f->pci->identity : NULL;
}

static struct binder_function *add(const struct claim_case *c, struct binder_job *job,
				   const struct claim_function *f)
{
	bool as_recorded = job->verb == BINDER_RELEASE;
	struct binder_function *out = array_add(job);

	out->address = xstrdup(f->address);
	out->id = id_of(f, as_recorded);
	out->serial = xstrdup_or_null(serial_of(f, as_recorded));
	out->identity = xstrdup_or_null(identity_of(f, as_recorded));
	out->native = xstrdup_or_null(claim_native(c, f));
	return out;
}

/* All that is to be bound; the caller releases *@ret_job. */
static void claim_job_bind(const struct claim_case *c, const struct claim_group *group,
			   struct binder_job *ret_job)
{
	*ret_job = (struct binder_job){
		.verb = BINDER_BIND,
		.group = xstrdup_or_null(claim_group_self(group)->group),
	};
	for (size_t i = 0; i < group->len; i++) {
		const struct claim_function *f = &group->items[i];
		struct binder_function *out;

		if (!claim_job_takes(group, f))
			continue;
		out = add(c, ret_job, f);
		out->driver = xstrdup(claim_driver(f->cover));
		out->claim = xstrdup(f->cover->meta.name);
		out->uid = xstrdup(f->cover->meta.uid ? f->cover->meta.uid : "");
		out->driverless = claim_leaves_driverless(c, f, f->cover);
		out->allow_unknown =
			f->cover == f->claim && override_applies(&f->cover->meta, "UseUnknown");
	}
}

/* The passthrough driver that it is on, or was put on. */
static const char *passthrough_driver(const struct claim_case *c, const struct claim_function *f)
{
	if (f->record && f->record->driver && *f->record->driver)
		return f->record->driver;
	if (claim_driver_is_passthrough(c, f->driver))
		return f->driver;
	return claim_driver(f->claim);
}

static void add_release(const struct claim_case *c, struct binder_job *job,
			const struct claim_function *f)
{
	struct binder_function *out = add(c, job, f);
	const struct record_facts *record = f->record;
	const char *uid = c->claim ? c->claim->meta.uid : NULL;

	out->driver = xstrdup(passthrough_driver(c, f));
	out->driverless = claim_leaves_driverless(c, f, f->claim ? f->claim : c->claim);
	out->claim = xstrdup(record && record->claim ? record->claim : c->name);
	out->uid = xstrdup(record && record->uid ? record->uid : uid ? uid : "unknown");
}

static const struct claim_function *first_given(const struct claim_case *c,
						const struct claim_group *group)
{
	for (size_t i = 0; i < group->len; i++) {
		if (claim_job_gives(c, group, &group->items[i]))
			return &group->items[i];
	}
	return NULL;
}

/* Functions of one group are released together. */
static bool goes_with(const struct claim_function *f, const struct claim_function *lead)
{
	return f == lead || str_match(f->group, lead->group) || (!f->group && !lead->group);
}

/* The functions to release: the whole group of the first one that must be released. The claim's own
 * functions come last: while their records exist, the release is not complete. */
static void claim_job_release(const struct claim_case *c, const struct claim_group *group,
			      struct binder_job *ret_job)
{
	const struct claim_function *lead = first_given(c, group);

	*ret_job = (struct binder_job){
		.verb = BINDER_RELEASE,
		.group = xstrdup_or_null(lead->group),
	};
	for (size_t i = group->len; i-- > 0;) {
		const struct claim_function *f = &group->items[i];

		if (goes_with(f, lead) && f->recorded && !claim_job_gives(c, group, f))
			add_release(c, ret_job, f);
	}
	for (size_t i = group->len; i-- > 0;) {
		const struct claim_function *f = &group->items[i];

		if (goes_with(f, lead) && claim_job_gives(c, group, f))
			add_release(c, ret_job, f);
	}
}

/* --- the plan --------------------------------------------------------------------------------- */

enum {
	UNKNOWN_AGAIN_MS = 500,
	HELD_AGAIN_MS = 5000,
	BUSY_AGAIN_MS = 250, /* while a bind is delayed */
	REFUSED_AGAIN_MS = 30000,
	SIBLINGS_AGAIN_MS = 5000
};

/* One pass for one claim. */
struct monitor {
	const struct claim_case *c;
	struct claim_group group;
	struct claim_decision *decision;
};

void claim_decision_done(struct claim_decision *decision)
{
	json_decref(decision->body);
	binder_job_done(&decision->job);
	free(decision->event_message);
	free(decision->bound);
	*decision = (struct claim_decision){ 0 };
}

/* Takes @body. */
static void write_step(struct monitor *look, enum claim_step step, json_t *body)
{
	look->decision->step = step;
	look->decision->body = body;
}

/* True if there is something to write; false if the status already says all of it. */
static bool tell(struct monitor *look, const struct claim_verdict *verdict,
		 const struct claim_trouble *trouble)
{
	struct claim_news news = {
		.verdict = verdict,
		.reason = trouble->reason,
		.message = trouble->message,
		.unclear = trouble->unclear,
		.step = trouble->step,
		.holder = trouble->holder,
	};
	struct claim_change change;
	json_t *body = claim_status_patch(look->c, &look->group, &news, &change);

	if (!body)
		return false;
	write_step(look, CLAIM_TELL, body);
	look->decision->warning = change.warning;
	look->decision->event_reason = change.reason;
	look->decision->event_message = change.message;
	look->decision->bound = change.bound;
	return true;
}

/* The outcome of the last transition says when to try again. */
static void rest_after(struct monitor *look, bool live)
{
	const struct task_outcome *outcome = look->c->last.outcome;

	look->decision->step = CLAIM_REST;
	/* The end of that bind enqueues the claim. */
	if (!live && look->c->bound_for)
		return;
	if (!live && look->c->allocated) {
		look->decision->again_ms = look->c->allocated_to ? HELD_AGAIN_MS : UNKNOWN_AGAIN_MS;
		return;
	}
	if (!claim_trouble_holds(look->c, live))
		return;
	if (outcome->result == TASK_REFUSED)
		look->decision->again_ms = REFUSED_AGAIN_MS;
	if (outcome->result != TASK_HELD)
		return;
	look->decision->again_ms = HELD_AGAIN_MS;
	look->decision->watch_pid = outcome->holder_pid;
}

/* Nothing is released while a helper is stuck, a pod has the device, or the last attempt delays
 * another one. */
static bool must_keep(const struct claim_case *c)
{
	return c->state == BINDER_IS_STUCK || c->allocated || claim_trouble_holds(c, false);
}

/* It will be known in a moment whether a pod has the device, so write no status yet. */
static bool is_unclear(const struct claim_case *c)
{
	return c->state != BINDER_IS_STUCK && c->allocated && !c->allocated_to;
}

static bool gives_any(const struct monitor *look, bool uncovered)
{
	for (size_t i = 0; i < look->group.len; i++) {
		const struct claim_function *f = &look->group.items[i];

		if (!(uncovered && f->cover) && claim_job_gives(look->c, &look->group, f))
			return true;
	}
	return false;
}

static void release(struct monitor *look)
{
	look->decision->step = look->c->fresh ? CLAIM_RELEASE : CLAIM_READ;
	if (look->c->fresh)
		claim_job_release(look->c, &look->group, &look->decision->job);
}

/* Another program's finalizer keeps the claim; its status must not say that the device is bound. */
static void tell_released(struct monitor *look)
{
	static const struct claim_trouble released = {
		.reason = "Released",
		.message = "the device was released",
	};

	if (look->c->claim->status.passthrough_enabled)
		(void)tell(look, NULL, &released);
}

/* There is no claim any more to write to. Functions that another claim covers are bound for that
 * claim. */
static void plan_orphans(struct monitor *look)
{
	if (!gives_any(look, true)) {
		if (look->c->claim)
			tell_released(look);
		return;
	}
	if (must_keep(look->c))
		rest_after(look, false);
	else
		release(look);
}

/* The record is gone after the release; the claim's status still has what it said last. */
static bool is_replaced(const struct claim_function *self, const struct pcideviceclaim *claim)
{
	const struct api_condition *ready = api_conditions_find(&claim->status.conditions, "Ready");

	return self->pci && (self->different || (ready && ready->reason &&
						 strcmp(ready->reason, "DifferentDevice") == 0));
}

static void unmark(struct monitor *look)
{
	const struct pcideviceclaim *claim = look->c->claim;
	const struct claim_attempt *last = &look->c->last;
	bool released =
		last->outcome && last->verb == BINDER_RELEASE && last->outcome->result == TASK_DONE;
	const struct claim_function *self = claim_group_self(&look->group);

	write_step(look, CLAIM_UNMARK, claim_unmark(claim));
	if (!released &&
	    (!claim->status.passthrough_enabled || claim_function_on_driver(self, claim)))
		return;
	look->decision->event_reason = "Released";
	if (is_replaced(self, claim))
		look->decision->event_message =
			xasprintf("%s is another device than the one that was claimed, and was "
				  "left alone",
				  self->address);
	else if (self->driver)
		look->decision->event_message =
			xasprintf("%s is back on %s", self->address, self->driver);
	else if (self->pci)
		look->decision->event_message = xasprintf("%s has no driver now", self->address);
	else
		look->decision->event_message =
			xstrdup("the device is gone: there is nothing to release");
}

static void plan_deleted(struct monitor *look)
{
	const struct claim_case *c = look->c;
	struct claim_trouble trouble;

	bool stuck = c->state == BINDER_IS_STUCK;

	/* A helper that still runs may bind it later; the record shows only the past. */
	if (!stuck && !gives_any(look, false)) {
		unmark(look);
		return;
	}
	/* The claim that covers it takes the record over first. */
	if (!stuck && !gives_any(look, true)) {
		look->decision->again_ms = SIBLINGS_AGAIN_MS;
		return;
	}
	if (!must_keep(c)) {
		release(look);
		return;
	}
	if (is_unclear(c)) {
		rest_after(look, false);
		return;
	}
	claim_trouble_release(c, &trouble);
	if (!tell(look, NULL, &trouble))
		rest_after(look, false);
	claim_trouble_done(&trouble);
}

static bool is_due(const struct claim_group *group)
{
	for (size_t i = 0; i < group->len; i++) {
		const struct claim_function *f = &group->items[i];

		if (claim_job_takes(group, f) && !claim_job_has(f))
			return true;
	}
	return false;
}

/* Is any function off its driver, or is this claim's own function recorded for another claim? Then
 * the claim is not Ready. A record that moves between other claims of the group does not matter. */
static bool is_amiss(const struct claim_case *c, const struct claim_group *group)
{
	const struct claim_function *self = claim_group_self(group);

	for (size_t i = 0; i < group->len; i++) {
		const struct claim_function *f = &group->items[i];

		if (claim_job_takes(group, f) && !claim_function_on_driver(f, f->cover))
			return true;
	}
	return !claim_function_recorded_for(self, c->claim);
}

/* The last bind reported something that is not true; only a new scan can tell. */
static bool is_puzzling(const struct claim_case *c, const struct claim_group *group)
{
	const struct task_outcome *outcome = c->last.outcome;

	if (!c->last.newer || !outcome || outcome->result != TASK_DONE ||
	    c->last.verb != BINDER_BIND)
		return false;
	for (size_t i = 0; i < group->len; i++) {
		const struct claim_function *f = &group->items[i];

		if (f->told && claim_job_takes(group, f) && !claim_job_has(f))
			return true;
	}
	return false;
}

/* The other claims whose devices are moved need their finalizer and their intent written, too. */
static bool are_siblings_told(const struct monitor *look)
{
	const struct claim_group *group = &look->group;

	for (size_t i = 1; i < group->len; i++) {
		const struct claim_function *f = &group->items[i];
		const struct pcideviceclaim *claim = f->claim;

		if (!claim_job_takes(group, f) || f->cover != claim)
			continue;
		if (!claim_is_marked(claim) || !claim->status.iommu_group ||
		    strcmp(claim->status.iommu_group, f->group) != 0)
			return false;
	}
	return true;
}

static void plan_bind(struct monitor *look)
{
	const struct claim_case *c = look->c;

	if (claim_trouble_unpublished(c, &look->group) || is_puzzling(c, &look->group))
		return;
	if (claim_trouble_holds(c, true)) {
		rest_after(look, true);
		return;
	}
	if (!are_siblings_told(look)) {
		look->decision->again_ms = SIBLINGS_AGAIN_MS;
		return;
	}
	look->decision->step = c->fresh ? CLAIM_BIND : CLAIM_READ;
	if (c->fresh)
		claim_job_bind(c, &look->group, &look->decision->job);
}

/*
 * The claim is refused, and a record is left: that of an earlier claim of the same name which this
 * one does not take over, or the last of a group that was released.
 */
static bool is_left_over(const struct monitor *look, const struct claim_verdict *verdict)
{
	const struct claim_function *self = claim_group_self(&look->group);

	/* A device that may be another one is not released either: its record is needed to
	 * compare. */
	if (!verdict->ok && strcmp(verdict->reason, "IdentityByModelOnly") == 0)
		return false;
	/* Harvester has bound the group for two owners: a release would break it for the first
	 * one. */
	if (verdict->other_owner && !self->recorded)
		return false;
	if (verdict->ok || self->different || !self->pci ||
	    !claim_job_gives(look->c, &look->group, self))
		return false;
	if (claim_function_recorded_for(self, look->c->claim))
		return self->cover && !claim_function_is_bound(self);
	return !self->cover;
}

static void plan_judged(struct monitor *look, const struct claim_verdict *verdict)
{
	const struct claim_case *c = look->c;
	const struct claim_function *self = claim_group_self(&look->group);
	bool ours = !pcideviceclaim_is_skipped(c->claim) || self->recorded;
	bool due = verdict->ok && ours && is_due(&look->group);
	bool passthrough = ours && (verdict->ok || claim_function_is_bound(self));
	struct claim_trouble trouble;
	json_t *mark = NULL;

	if (due && c->unproven_ms > 0) {
		look->decision->again_ms = c->unproven_ms; /* its status is true until then */
		return;
	}
	if (passthrough && (!due || !claim_trouble_unpublished(c, &look->group)) &&
	    c->state != BINDER_IS_STUCK)
		mark = claim_mark(c, &look->group);
	if (mark) {
		write_step(look, CLAIM_MARK, mark);
		return;
	}
	if (verdict->ok && !due && claim_status_awaits_device(c, &look->group))
		return; /* a change of the PCIDevice enqueues the claim */
	claim_trouble_bind(c, &look->group, verdict, due && is_amiss(c, &look->group), &trouble);
	if (!tell(look, verdict, &trouble) && due && c->state != BINDER_IS_STUCK)
		plan_bind(look);
	claim_trouble_done(&trouble);
}

static void plan_live(struct monitor *look)
{
	const struct claim_case *c = look->c;
	struct claim_verdict verdict;

	claim_judge(c, &look->group, &verdict);
	if (is_left_over(look, &verdict) && !must_keep(c))
		release(look);
	else
		plan_judged(look, &verdict);
	if (look->decision->step == CLAIM_REST && look->decision->again_ms == 0 &&
	    ((c->usb_pods && c->usb_pods->len > 0) || c->bind_trouble || c->bound_for))
		look->decision->again_ms = HELD_AGAIN_MS;
	claim_verdict_done(&verdict);
}

/* A transition runs: only report that it takes long. */
static void plan_running(struct monitor *look)
{
	const struct claim_case *c = look->c;
	bool live = c->claim && !c->claim->meta.deletion_timestamp;
	struct claim_verdict verdict = { .ok = true };
	struct claim_trouble trouble;

	if (!c->claim || !claim_is_marked(c->claim))
		return;
	if (live)
		claim_judge(c, &look->group, &verdict);
	claim_trouble_late(c, live, &trouble);
	if (verdict.ok)
		(void)tell(look, live ? &verdict : NULL, &trouble);
	claim_trouble_done(&trouble);
	claim_verdict_done(&verdict);
}

void claim_plan(const struct claim_case *c, struct claim_decision *ret_decision)
{
	const struct pcideviceclaim *claim = c->claim;
	struct monitor look = { .c = c, .decision = ret_decision };

	*ret_decision = (struct claim_decision){ 0 };
	if ((c->state == BINDER_RUNNING && !c->trouble.late) ||
	    (claim && !claim_is_ours(c->node_name, c->name, claim)))
		return;
	claim_group_look(c, &look.group);
	claim_cover_group(c, &look.group);
	if (c->state == BINDER_RUNNING)
		plan_running(&look);
	else if (!claim || (claim->meta.deletion_timestamp && !claim_is_marked(claim)))
		plan_orphans(&look);
	else if (claim->meta.deletion_timestamp)
		plan_deleted(&look);
	else
		plan_live(&look);
	claim_group_done(&look.group);
}

/* --- binds on demand -------------------------------------------------------------------------- */

void claim_on_demand_decision_done(struct claim_on_demand_decision *decision)
{
	binder_job_done(&decision->job);
	free(decision->message);
	*decision = (struct claim_on_demand_decision){ 0 };
}

/* Takes @message. */
static void answer(struct claim_on_demand_decision *decision, enum claim_on_demand_step step,
		   char *message)
{
	decision->step = step;
	decision->message = message;
}

/* Who else uses or claims @f, for the caller to free; NULL: nobody. A function that we have bound
 * for a ResourceClaim that is gone is taken over. */
static char *claim_on_demand_other(const struct claim_case *c, const struct claim_group *group,
				   const struct claim_function *f)
{
	const char *owner = owner_of(f);

	if (store_get(c->claims, f->name))
		return xasprintf("%s has the PCIDeviceClaim '%s'", f->address, f->name);
	if (f->record && owner && store_get(c->claims, owner))
		return xasprintf("%s is bound for the PCIDeviceClaim '%s'", f->address, owner);
	if (!f->recorded && claim_driver_is_passthrough(c, f->driver))
		return xasprintf("another program has bound %s%s to %s",
				 f == claim_group_self(group) ? "" : "its IOMMU group's ",
				 f->address, f->driver);
	return NULL;
}

static char *find_other(const struct claim_case *c, const struct claim_group *group)
{
	char *other = NULL;

	for (size_t i = 0; i < group->len && !other; i++) {
		if (claim_group_member(group, &group->items[i]))
			other = claim_on_demand_other(c, group, &group->items[i]);
	}
	return other;
}

static char *outcome_text(const struct task_outcome *outcome)
{
	const char *name = outcome->error_name;
	const char *message = str_or_empty(outcome->message);

	return name && !strstr(message, name) ? xasprintf("%s (%s)", message, name)
					      : xstrdup(message);
}

/* The last attempt has failed. A helper that an earlier agent has left running will end soon. */
static void answer_outcome(const struct task_outcome *outcome,
			   struct claim_on_demand_decision *decision)
{
	bool busy = outcome->result == TASK_BUSY;

	answer(decision, busy ? CLAIM_ON_DEMAND_WAIT : CLAIM_ON_DEMAND_REFUSE,
	       outcome_text(outcome));
	decision->again_ms = busy ? BUSY_AGAIN_MS : 0;
}

/* The group may be bound, and a part of it is not bound yet. */
static void plan_on_demand_bind(const struct claim_case *c, const struct claim_group *group,
				struct claim_on_demand_decision *decision)
{
	if (c->state == BINDER_IS_STUCK) {
		answer(decision, CLAIM_ON_DEMAND_REFUSE,
		       xasprintf("hostdev-helper (pid %d) does not end: see the node's kernel log",
				 c->trouble.pid));
	} else if (claim_trouble_holds(c, true)) {
		answer_outcome(c->last.outcome, decision);
	} else if (c->unproven_ms > 0) {
		answer(decision, CLAIM_ON_DEMAND_WAIT,
		       xstrdup("the host used it until just now: it has to be free for a while"));
		decision->again_ms = c->unproven_ms;
	} else if (claim_trouble_unpublished(c, group)) {
		answer(decision, CLAIM_ON_DEMAND_WAIT,
		       xasprintf("the PCIDevice %s does not say yet which driver the device goes "
				 "back to",
				 c->name));
	} else if (is_puzzling(c, group)) {
		answer(decision, CLAIM_ON_DEMAND_WAIT,
		       xstrdup("the node's devices have to be read again after the bind"));
	} else {
		decision->step = CLAIM_ON_DEMAND_BIND;
		claim_job_bind(c, group, &decision->job);
		decision->job.on_demand = true;
	}
}

void claim_plan_on_demand(const struct claim_case *c, struct claim_on_demand_decision *ret_decision)
{
	struct claim_verdict verdict = { 0 };
	struct claim_group group;
	char *other;

	*ret_decision = (struct claim_on_demand_decision){ 0 };
	claim_group_look(c, &group);
	claim_cover_group(c, &group);
	claim_judge(c, &group, &verdict);
	other = find_other(c, &group);
	if (other)
		answer(ret_decision, CLAIM_ON_DEMAND_REFUSE, other);
	else if (!verdict.ok)
		answer(ret_decision, CLAIM_ON_DEMAND_REFUSE, take_ptr(verdict.message));
	else if (c->state == BINDER_RUNNING)
		answer(ret_decision, CLAIM_ON_DEMAND_WAIT,
		       xstrdup("a transition of its IOMMU group is under way"));
	else if (is_due(&group))
		plan_on_demand_bind(c, &group, ret_decision);
	else
		ret_decision->step = CLAIM_ON_DEMAND_BOUND;
	claim_verdict_done(&verdict);
	claim_group_done(&group);
}
