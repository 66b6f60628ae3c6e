#include "agent/claim/on_demand_binds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/binder/binder.h"
#include "agent/claim/claim_attempts.h"
#include "agent/claim/claim_audit.h"
#include "agent/claim/claim_group.h"
#include "agent/claim/claim_plan.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/node/this_node.h"
#include "api/json_values.h"
#include "api/names.h"
#include "api/object.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "base/failpoint.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"

/* A transition that binds functions of one IOMMU group, and is under way. It goes on when the bind
 * that began it is stopped. */
struct transition {
	struct on_demand_binds *binds;
	struct json_strs addresses; /* of the functions that it binds */
	char *uid, *to;             /* of the ResourceClaim: as struct on_demand_spec */
	struct transition *next;
};

struct on_demand_bind {
	struct json_strs addresses;
	char *uid, *to;
	on_demand_end_fn *end;
	void *arg;
	char *waits; /* for what; NULL: it has not been planned yet */
	bool due;    /* it is to be planned */
	struct on_demand_bind *next;
};

struct on_demand_binds {
	struct on_demand_binds_deps deps;
	struct on_demand_bind *all;
	struct transition *transitions;
	struct clock_timer *timer; /* runs while binds are to be planned */
	bool woken;                /* by a change since the timer fired last */
	uint64_t again_ms;         /* until a bind is to be planned again; 0: none is */
};

/* --- transitions ------------------------------------------------------------------------------ */

static void transition_free(struct transition *t)
{
	json_strs_done(&t->addresses);
	free(t->uid);
	free(t->to);
	free(t);
}

static void on_transition_end(void *arg, const struct binder_outcome *outcome)
{
	struct transition *t = arg;
	struct on_demand_binds *binds = t->binds;
	struct claim_attempts *attempts = binds->deps.attempts;
	struct transition **at = &binds->transitions;
	const char *lead = t->addresses.items[0];

	failpoint("agent-lend-after");
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	claim_attempts_end(attempts, lead, outcome);
	if (outcome->task.result == TASK_DONE)
		claim_audit_on_demand(binds->deps.node, &t->addresses, t->to);
	binds->deps.ended(binds->deps.arg, claim_attempts_members(attempts, lead));
	transition_free(t);
}

static void begin_transition(struct on_demand_binds *binds, const struct on_demand_bind *bind,
			     const struct binder_job *job)
{
	struct transition *t = xcalloc(1, sizeof(*t));

	*t = (struct transition){ .binds = binds,
				  .uid = xstrdup(bind->uid),
				  .to = xstrdup(bind->to),
				  .next = binds->transitions };
	for (size_t i = 0; i < job->len; i++)
		json_strs_add(&t->addresses, job->items[i].address);
	binds->transitions = t;
	failpoint("agent-lend-before");
	binder_start(binds->deps.binder, job, on_transition_end, t);
}

/* A function that is being bound for the ResourceClaim, perhaps since an earlier bind that was
 * stopped; NULL: none is. A transition that is stuck has ended. */
static const char *find_binding(const struct on_demand_binds *binds,
				const struct on_demand_bind *bind)
{
	for (size_t i = 0; i < bind->addresses.len; i++) {
		const char *address = bind->addresses.items[i];

		for (const struct transition *t = binds->transitions; t; t = t->next) {
			if (strcmp(t->uid, bind->uid) == 0 && json_strs_has(&t->addresses, address))
				return address;
		}
	}
	return NULL;
}

/* A claim of the function @address, and of its group, that no API server has. The caller frees. */
static struct pcideviceclaim *claim_of(const struct on_demand_binds *binds, const char *address,
				       const char *uid)
{
	const struct this_node *node = binds->deps.node;
	struct pcideviceclaim *claim = api_object_new(&pcideviceclaim_kind);

	claim->meta.name = names_pcidevice(node->name, address);
	claim->meta.uid = xstrdup(uid);
	claim->spec.node_name = xstrdup(node->name);
	claim->spec.include_iommu_group = true;
	return claim;
}

/* --- binds ------------------------------------------------------------------------------------ */

static void on_demand_bind_free(struct on_demand_bind *bind)
{
	json_strs_done(&bind->addresses);
	free(bind->uid);
	free(bind->to);
	free(bind->waits);
	free(bind);
}

static void leave(struct on_demand_binds *binds, const struct on_demand_bind *bind)
{
	struct on_demand_bind **at = &binds->all;

	while (*at != bind)
		at = &(*at)->next;
	*at = bind->next;
}

/* The bind is gone afterwards. @message is NULL if all is bound. */
static void end_bind(struct on_demand_binds *binds, struct on_demand_bind *bind,
		     const char *message)
{
	struct err err = { 0 };

	leave(binds, bind);
	if (message)
		err_set(&err, ERR_RETRY, -EBUSY, "%s", message);
	bind->end(bind->arg, message ? &err : NULL);
	on_demand_bind_free(bind);
}

static bool is_one_group(const struct inventory *inventory, const char *a, const char *b)
{
	const struct pci_facts *one = inventory ? facts_find_pci(inventory->facts, a) : NULL;
	const struct pci_facts *other = inventory ? facts_find_pci(inventory->facts, b) : NULL;

	return one && other && str_match(one->iommu_group, other->iommu_group);
}

/* The group of the function is that of an earlier one. */
static bool is_along(const struct on_demand_binds *binds, const struct on_demand_bind *bind,
		     size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (is_one_group(binds->deps.node->inventory, bind->addresses.items[i],
				 bind->addresses.items[at]))
			return true;
	}
	return false;
}

static void wait_for(struct on_demand_binds *binds, struct on_demand_bind *bind, const char *what,
		     uint64_t again_ms)
{
	str_set(&bind->waits, what);
	if (again_ms > 0 && (binds->again_ms == 0 || again_ms < binds->again_ms))
		binds->again_ms = again_ms;
}

static void wait_for_bind(struct on_demand_binds *binds, struct on_demand_bind *bind,
			  const char *address)
{
	auto_free char *what = xasprintf("%s is being bound", address);

	wait_for(binds, bind, what, 0);
}

/* Begin the job of @claim; if something is in the way, its end wakes the bind. */
static void begin_bind(struct on_demand_binds *binds, struct on_demand_bind *bind,
		       const char *address, const struct pcideviceclaim *claim,
		       const struct binder_job *job)
{
	const struct on_demand_binds_deps *deps = &binds->deps;
	struct json_strs members = { 0 };

	claim_group_add_members(deps->node->inventory, address, &members);
	if (claim_attempts_idle(deps->attempts, deps->binder, &members)) {
		claim_attempts_begin(deps->attempts,
				     &(struct claim_begin){ .job = job,
							    .members = &members,
							    .name = claim->meta.name,
							    .claim = claim },
				     clock_now_ms(deps->node->clock));
		begin_transition(binds, bind, job);
		wait_for_bind(binds, bind, address);
	} else {
		wait_for(binds, bind, "another transition of its IOMMU group is under way", 0);
	}
	json_strs_done(&members);
}

/* True if the group of @address is bound; else the bind waits or is gone. */
static bool bring(struct on_demand_binds *binds, struct on_demand_bind *bind, const char *address)
{
	struct pcideviceclaim *claim = claim_of(binds, address, bind->uid);
	struct claim_on_demand_decision decision;
	bool bound = false;

	binds->deps.plan(binds->deps.arg, address, claim, true, &decision);
	switch (decision.step) {
	case CLAIM_ON_DEMAND_BOUND:
		bound = true;
		break;
	case CLAIM_ON_DEMAND_BIND:
		begin_bind(binds, bind, address, claim, &decision.job);
		break;
	case CLAIM_ON_DEMAND_WAIT:
		wait_for(binds, bind, decision.message, decision.again_ms);
		break;
	case CLAIM_ON_DEMAND_REFUSE:
		end_bind(binds, bind, decision.message);
		break;
	}
	claim_on_demand_decision_done(&decision);
	api_object_free(&pcideviceclaim_kind, claim);
	return bound;
}

static void look(struct on_demand_binds *binds, struct on_demand_bind *bind)
{
	const char *binding = find_binding(binds, bind);

	if (binding) {
		wait_for_bind(binds, bind, binding);
		return;
	}
	for (size_t i = 0; i < bind->addresses.len; i++) {
		if (!is_along(binds, bind, i) && !bring(binds, bind, bind->addresses.items[i]))
			return;
	}
	end_bind(binds, bind, NULL);
}

static struct on_demand_bind *next_due(const struct on_demand_binds *binds)
{
	struct on_demand_bind *bind = binds->all;

	while (bind && !bind->due)
		bind = bind->next;
	return bind;
}

/* The end of a bind may stop others, and begin new ones, which are planned the next time. */
static void on_timer(void *arg)
{
	struct on_demand_binds *binds = arg;
	struct on_demand_bind *bind;

	binds->woken = false;
	binds->again_ms = 0;
	for (bind = binds->all; bind; bind = bind->next)
		bind->due = true;
	while ((bind = next_due(binds))) {
		bind->due = false;
		look(binds, bind);
	}
	if (binds->again_ms > 0 && !binds->woken)
		clock_timer_start(binds->deps.node->clock, binds->timer, binds->again_ms);
}

void on_demand_binds_wake(struct on_demand_binds *binds)
{
	if (!binds->all)
		return;
	binds->woken = true;
	clock_timer_start(binds->deps.node->clock, binds->timer, 0);
}

struct on_demand_bind *on_demand_binds_begin(struct on_demand_binds *binds,
					     const struct on_demand_spec *spec,
					     on_demand_end_fn *end, void *arg)
{
	struct on_demand_bind *bind = xcalloc(1, sizeof(*bind));

	*bind = (struct on_demand_bind){ .uid = xstrdup(spec->uid),
					 .to = xstrdup(spec->to),
					 .end = end,
					 .arg = arg,
					 .next = binds->all };
	for (size_t i = 0; i < spec->addresses->len; i++)
		json_strs_add(&bind->addresses, spec->addresses->items[i]);
	binds->all = bind;
	on_demand_binds_wake(binds);
	return bind;
}

bool on_demand_binds_stop(struct on_demand_binds *binds, struct on_demand_bind *bind,
			  struct err *err)
{
	bool binding = find_binding(binds, bind) != NULL;

	err_set(err, ERR_RETRY, -EBUSY, "%s",
		bind->waits ? bind->waits : "its devices have not been looked at");
	leave(binds, bind);
	on_demand_bind_free(bind);
	return binding;
}

char *on_demand_binds_trouble(const struct on_demand_binds *binds, const char *address)
{
	struct pcideviceclaim *claim = claim_of(binds, address, "none");
	struct claim_on_demand_decision decision;
	char *trouble = NULL;

	binds->deps.plan(binds->deps.arg, address, claim, false, &decision);
	if (decision.step == CLAIM_ON_DEMAND_REFUSE)
		trouble = take_ptr(decision.message);
	claim_on_demand_decision_done(&decision);
	api_object_free(&pcideviceclaim_kind, claim);
	return trouble;
}

struct on_demand_binds *on_demand_binds_new(const struct on_demand_binds_deps *deps)
{
	struct on_demand_binds *binds = xcalloc(1, sizeof(*binds));

	binds->deps = *deps;
	binds->timer = clock_timer_new(deps->node->clock, on_timer, binds);
	return binds;
}

struct on_demand_binds *on_demand_binds_free(struct on_demand_binds *binds)
{
	struct on_demand_bind *bind;
	struct transition *t;

	if (!binds)
		return NULL;
	while ((t = binds->transitions)) {
		binds->transitions = t->next;
		transition_free(t);
	}
	while ((bind = binds->all)) {
		binds->all = bind->next;
		on_demand_bind_free(bind);
	}
	clock_timer_free(binds->deps.node->clock, binds->timer);
	free(binds);
	return NULL;
}
