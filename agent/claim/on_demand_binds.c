#include "agent/claim/on_demand_binds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/claim/claim_plan.h"
#include "api/json_values.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"

struct on_demand_bind {
	struct json_strs addresses;
	char *uid, *to;
	on_demand_end_fn *end;
	void *arg;
	char *waits; /* for what; NULL: it has not been looked at */
	bool due;    /* it is to be looked at */
	struct on_demand_bind *next;
};

struct on_demand_binds {
	struct on_demand_binds_deps deps;
	struct on_demand_bind *all;
	struct clock_timer *timer; /* runs while they are to be looked at */
	bool woken;                /* by a change since the last look      */
	uint64_t again_ms;         /* until one is to be looked at; 0: none is */
};

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

/* The group of the function is that of an earlier one. */
static bool is_along(const struct on_demand_binds *binds, const struct on_demand_bind *bind,
		     size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (binds->deps.is_one_group(binds->deps.arg, bind->addresses.items[i],
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

static void begin_bind(struct on_demand_binds *binds, struct on_demand_bind *bind,
		       const char *address, const struct binder_job *job)
{
	const struct on_demand_spec spec = { &bind->addresses, bind->uid, bind->to };

	if (binds->deps.bind(binds->deps.arg, address, &spec, job))
		wait_for_bind(binds, bind, address);
	else
		wait_for(binds, bind, "another transition of its IOMMU group is under way", 0);
}

/* True if the group of @address is bound; else the bind waits or is gone. */
static bool bring(struct on_demand_binds *binds, struct on_demand_bind *bind, const char *address)
{
	struct claim_on_demand_decision decision;
	bool bound = false;

	binds->deps.plan(binds->deps.arg, address, bind->uid, &decision);
	switch (decision.step) {
	case CLAIM_ON_DEMAND_BOUND:
		bound = true;
		break;
	case CLAIM_ON_DEMAND_BIND:
		begin_bind(binds, bind, address, &decision.job);
		break;
	case CLAIM_ON_DEMAND_WAIT:
		wait_for(binds, bind, decision.message, decision.again_ms);
		break;
	case CLAIM_ON_DEMAND_REFUSE:
		end_bind(binds, bind, decision.message);
		break;
	}
	claim_on_demand_decision_done(&decision);
	return bound;
}

/* A function that is being bound for the ResourceClaim, perhaps since an earlier bind that was
 * stopped; NULL: none is. */
static const char *find_binding(const struct on_demand_binds *binds,
				const struct on_demand_bind *bind)
{
	for (size_t i = 0; i < bind->addresses.len; i++) {
		if (binds->deps.is_binding(binds->deps.arg, bind->addresses.items[i], bind->uid))
			return bind->addresses.items[i];
	}
	return NULL;
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

/* The end of one may stop others, and begin some, which are looked at the next time. */
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
		clock_timer_start(binds->deps.clock, binds->timer, binds->again_ms);
}

void on_demand_binds_wake(struct on_demand_binds *binds)
{
	if (!binds->all)
		return;
	binds->woken = true;
	clock_timer_start(binds->deps.clock, binds->timer, 0);
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

struct on_demand_binds *on_demand_binds_new(const struct on_demand_binds_deps *deps)
{
	struct on_demand_binds *binds = xcalloc(1, sizeof(*binds));

	binds->deps = *deps;
	binds->timer = clock_timer_new(deps->clock, on_timer, binds);
	return binds;
}

struct on_demand_binds *on_demand_binds_free(struct on_demand_binds *binds)
{
	struct on_demand_bind *bind;

	if (!binds)
		return NULL;
	while ((bind = binds->all)) {
		binds->all = bind->next;
		on_demand_bind_free(bind);
	}
	clock_timer_free(binds->deps.clock, binds->timer);
	free(binds);
	return NULL;
}
