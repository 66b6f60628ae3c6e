#include "agent/claim/claim_trouble.h"

#include <stdlib.h>
#include <string.h>

#include "agent/claim/claim_group.h"
#include "agent/claim/claim_judge.h"
#include "agent/claim/claim_native.h"
#include "agent/claim/claim_plan.h"
#include "agent/inventory/native_driver.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"

enum { REASON_MAX = 64 };

void claim_trouble_done(struct claim_trouble *trouble)
{
	free(trouble->text);
	*trouble = (struct claim_trouble){ 0 };
}

/* Takes @text. */
static void set(struct claim_trouble *trouble, const char *reason, char *text)
{
	free(trouble->text);
	trouble->reason = reason;
	trouble->text = text;
	trouble->message = text;
}

static const struct api_condition *seen(const struct claim_case *c, const char *type)
{
	return api_conditions_find(&c->claim->status.conditions, type);
}

static const struct api_condition *find_stuck(const struct claim_case *c)
{
	const struct api_condition *ready = seen(c, "Ready");
	const struct api_condition *bound = seen(c, "DriverBound");

	if (ready && strcmp(str_or_empty(ready->reason), "Stuck") == 0)
		return ready;
	return bound && strcmp(str_or_empty(bound->reason), "Stuck") == 0 ? bound : NULL;
}

/* The message has the start of the wait, not its length, so it does not change while the wait
 * lasts. */
static void set_stuck(const struct claim_case *c, struct claim_trouble *trouble)
{
	const struct binder_trouble *t = &c->trouble;
	bool step = t->step && *t->step;
	auto_free char *what =
		xasprintf("hostdev-helper (pid %d) waits in step %s of %s since ", t->pid,
			  step ? t->step : "WaitLock",
			  t->address && *t->address ? t->address : "the IOMMU group");
	const struct api_condition *told = find_stuck(c);
	char since[TIMEFMT_MAX];

	trouble->step = step ? t->step : NULL;
	trouble->unclear = true;
	if (told && strncmp(str_or_empty(told->message), what, strlen(what)) == 0) {
		set(trouble, "Stuck", xstrdup(told->message));
		return;
	}
	timefmt_rfc3339(c->now_wall_ms - (int64_t)t->age_ms, since);
	set(trouble, "Stuck",
	    xasprintf("%s%s; nothing else is done with the group until the kernel lets it go: see "
		      "the node's kernel log; if a process still uses the device, end it",
		      what, since));
}

static bool is_reason(const char *text)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t len = strlen(text);

	return len > 0 && len <= REASON_MAX && strspn(text, letters) == len &&
	       !(text[0] >= '0' && text[0] <= '9');
}

static const char *reason_of(const struct task_outcome *outcome)
{
	static const char *const reasons[] = {
		[TASK_HELD] = "Held",   [TASK_REFUSED] = "HelperFailed", [TASK_BUSY] = "Busy",
		[TASK_STUCK] = "Stuck", [TASK_FAILED] = "HelperFailed",
	};

	if (outcome->reason && is_reason(outcome->reason))
		return outcome->reason;
	return reasons[outcome->result];
}

static void set_outcome(const struct task_outcome *outcome, const char *step,
			struct claim_trouble *trouble)
{
	const char *message = str_or_empty(outcome->message);
	const char *name = outcome->error_name;

	trouble->step = outcome->result == TASK_HELD || !outcome->step ? step : outcome->step;
	trouble->holder = outcome->holder;
	if (name && !strstr(message, name))
		set(trouble, reason_of(outcome), xasprintf("%s (%s)", message, name));
	else
		set(trouble, reason_of(outcome), xstrdup(message));
}

bool claim_trouble_holds(const struct claim_case *c, bool live)
{
	const struct task_outcome *outcome = c->last.outcome;

	return outcome && outcome->result != TASK_DONE &&
	       c->last.verb == (live ? BINDER_BIND : BINDER_RELEASE);
}

/* The next attempt begins. The status keeps the result of the last one until this one has ended, so
 * attempts that fail in the same way write nothing. */
static bool keep_told(const struct claim_case *c, struct claim_trouble *trouble)
{
	static const char *const passing[] = { "Bound",
					       "Waiting",
					       "Binding",
					       "Releasing",
					       "Released",
					       "Stuck",
					       "SkippedByAnnotation" };
	const struct api_condition *bound = seen(c, "DriverBound");

	if (!bound || !bound->reason || !is_reason(bound->reason) ||
	    bound->observed_generation != c->claim->meta.generation)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(passing); i++) {
		if (strcmp(bound->reason, passing[i]) == 0)
			return false;
	}
	trouble->step = c->claim->status.step;
	trouble->holder = c->claim->status.holder;
	set(trouble, bound->reason, xstrdup(str_or_empty(bound->message)));
	return true;
}

bool claim_trouble_unpublished(const struct claim_case *c, const struct claim_group *group)
{
	const struct claim_function *self = claim_group_self(group);
	const char *native = claim_native(c, self);
	const char *told;

	if (self->recorded)
		return false;
	if (!c->device)
		return true;
	told = api_meta_annotation(&c->device->meta, NAMES_ANNOTATION_DRIVER);
	/* A PCIDevice never has a passthrough driver as its native driver. */
	return native && *native && !claim_driver_is_passthrough(c, native) &&
	       !native_driver_valid(told);
}

static void set_binding(const struct claim_case *c, const struct claim_group *group,
			struct claim_trouble *trouble)
{
	const struct claim_function *self = claim_group_self(group);
	const char *driver = claim_driver(c->claim);

	trouble->step = "Bind";
	if (self->recorded && self->driver && strcmp(self->driver, driver) != 0)
		set(trouble, "Binding",
		    xasprintf("%s was found on %s: it is bound to %s again", self->address,
			      self->driver, driver));
	else
		set(trouble, "Binding",
		    xasprintf("%s is being bound to %s", self->address, driver));
}

static void set_skipped(const struct claim_case *c, struct claim_trouble *trouble)
{
	(void)c;
	set(trouble, "SkippedByAnnotation",
	    xstrdup("hostdev does not bind it: the claim has the "
		    "annotation " NAMES_ANNOTATION_SKIP_VFIO));
}

void claim_trouble_bind(const struct claim_case *c, const struct claim_group *group,
			const struct claim_verdict *verdict, bool due,
			struct claim_trouble *ret_trouble)
{
	*ret_trouble = (struct claim_trouble){ 0 };
	if (c->state == BINDER_IS_STUCK)
		set_stuck(c, ret_trouble);
	else if (!verdict->ok)
		set(ret_trouble, "Waiting", xasprintf("not accepted: %s", verdict->message));
	else if (pcideviceclaim_is_skipped(c->claim) && !claim_group_self(group)->vendor &&
		 !claim_function_is_bound(claim_group_self(group)))
		set_skipped(c, ret_trouble);
	else if (!due)
		return;
	else if (claim_trouble_unpublished(c, group))
		set(ret_trouble, "Waiting",
		    xasprintf("the PCIDevice %s does not say yet which driver the device goes back "
			      "to; the agent is about to write it there",
			      c->name));
	else if (claim_trouble_holds(c, true))
		set_outcome(c->last.outcome, "Bind", ret_trouble);
	else if (!keep_told(c, ret_trouble))
		set_binding(c, group, ret_trouble);
}

/* Such a pod has no object that could be deleted. */
static bool is_deleted(const char *holder)
{
	return strstr(holder, "a deleted pod") != NULL;
}

/* The pod of another function of the group may belong to another user, who has claimed that
 * function. Holders with a UID in place of a name are in no list. */
static void set_allocated(const struct claim_case *c, struct claim_trouble *trouble)
{
	auto_free char *name = names_pcidevice(c->node_name, c->allocated);

	trouble->step = "Release";
	if (strcmp(name, c->name) == 0) {
		trouble->holder = c->allocated_to;
		set(trouble, "Held",
		    xasprintf("%s has it: %sthe device is released when its processes have ended",
			      c->allocated_to,
			      is_deleted(c->allocated_to) ? ""
							  : "delete the pod if it still exists; "));
		return;
	}
	trouble->holder = "a pod that has another function of the IOMMU group";
	if (strncmp(c->allocated_to, "pod ", 4) != 0)
		set(trouble, "Held",
		    xasprintf("%s has %s of its IOMMU group: the device is released when that pod "
			      "has ended",
			      c->allocated_to, c->allocated));
	else
		set(trouble, "Held",
		    xasprintf("a pod has %s of its IOMMU group: delete the pod, and the device is "
			      "released; kubectl hostdev who %s names it",
			      c->allocated, name));
}

void claim_trouble_release(const struct claim_case *c, struct claim_trouble *ret_trouble)
{
	*ret_trouble = (struct claim_trouble){ 0 };
	if (c->state == BINDER_IS_STUCK)
		set_stuck(c, ret_trouble);
	else if (c->allocated)
		set_allocated(c, ret_trouble);
	else
		set_outcome(c->last.outcome, "Release", ret_trouble);
}

/* The message has no time and no pid, so it is written once for each step. */
void claim_trouble_late(const struct claim_case *c, bool live, struct claim_trouble *ret_trouble)
{
	const struct binder_trouble *t = &c->trouble;
	bool step = t->step && *t->step;

	*ret_trouble = (struct claim_trouble){ .step = step ? t->step : NULL, .unclear = true };
	set(ret_trouble, live ? "Binding" : "Releasing",
	    xasprintf("step %s of %s takes longer than usual: the node is busy, or the kernel "
		      "waits for the device",
		      step ? t->step : "WaitLock",
		      t->address && *t->address ? t->address : "the IOMMU group"));
}
