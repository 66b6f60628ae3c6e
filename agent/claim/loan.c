#include "agent/claim/loan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/claim/claim_plan.h"
#include "api/json_values.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"

struct loan {
	struct json_strs addresses;
	char *uid, *to;
	loan_end_fn *end;
	void *arg;
	char *waits; /* for what; NULL: it has not been looked at */
	bool due;    /* it is to be looked at */
	struct loan *next;
};

struct loans {
	struct loans_deps deps;
	struct loan *all;
	struct clock_timer *timer; /* runs while they are to be looked at */
	bool woken;                /* by a change since the last look      */
	uint64_t again_ms;         /* until one is to be looked at; 0: none is */
};

static void loan_free(struct loan *loan)
{
	json_strs_done(&loan->addresses);
	free(loan->uid);
	free(loan->to);
	free(loan->waits);
	free(loan);
}

static void leave(struct loans *loans, const struct loan *loan)
{
	struct loan **at = &loans->all;

	while (*at != loan)
		at = &(*at)->next;
	*at = loan->next;
}

/* The loan is gone afterwards. @message is NULL if all is bound. */
static void end_loan(struct loans *loans, struct loan *loan, const char *message)
{
	struct err err = { 0 };

	leave(loans, loan);
	if (message)
		err_set(&err, ERR_RETRY, -EBUSY, "%s", message);
	loan->end(loan->arg, message ? &err : NULL);
	loan_free(loan);
}

/* The group of the function is that of an earlier one. */
static bool is_along(const struct loans *loans, const struct loan *loan, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (loans->deps.is_one_group(loans->deps.arg, loan->addresses.items[i],
					     loan->addresses.items[at]))
			return true;
	}
	return false;
}

static void wait_for(struct loans *loans, struct loan *loan, const char *what, uint64_t again_ms)
{
	str_set(&loan->waits, what);
	if (again_ms > 0 && (loans->again_ms == 0 || again_ms < loans->again_ms))
		loans->again_ms = again_ms;
}

static void wait_for_bind(struct loans *loans, struct loan *loan, const char *address)
{
	auto_free char *what = xasprintf("%s is being bound", address);

	wait_for(loans, loan, what, 0);
}

static void begin_bind(struct loans *loans, struct loan *loan, const char *address,
		       const struct binder_job *job)
{
	const struct loan_spec spec = { &loan->addresses, loan->uid, loan->to };

	if (loans->deps.bind(loans->deps.arg, address, &spec, job))
		wait_for_bind(loans, loan, address);
	else
		wait_for(loans, loan, "another transition of its IOMMU group is under way", 0);
}

/* True if the group of @address is bound; else the loan waits or is gone. */
static bool bring(struct loans *loans, struct loan *loan, const char *address)
{
	struct claim_loan_decision decision;
	bool bound = false;

	loans->deps.plan(loans->deps.arg, address, loan->uid, &decision);
	switch (decision.step) {
	case CLAIM_LOAN_BOUND:
		bound = true;
		break;
	case CLAIM_LOAN_BIND:
		begin_bind(loans, loan, address, &decision.job);
		break;
	case CLAIM_LOAN_WAIT:
		wait_for(loans, loan, decision.message, decision.again_ms);
		break;
	case CLAIM_LOAN_REFUSE:
		end_loan(loans, loan, decision.message);
		break;
	}
	claim_loan_decision_done(&decision);
	return bound;
}

/* A function that is being bound for the ResourceClaim, perhaps since an earlier loan that was
 * stopped; NULL: none is. */
static const char *find_binding(const struct loans *loans, const struct loan *loan)
{
	for (size_t i = 0; i < loan->addresses.len; i++) {
		if (loans->deps.is_binding(loans->deps.arg, loan->addresses.items[i], loan->uid))
			return loan->addresses.items[i];
	}
	return NULL;
}

static void look(struct loans *loans, struct loan *loan)
{
	const char *binding = find_binding(loans, loan);

	if (binding) {
		wait_for_bind(loans, loan, binding);
		return;
	}
	for (size_t i = 0; i < loan->addresses.len; i++) {
		if (!is_along(loans, loan, i) && !bring(loans, loan, loan->addresses.items[i]))
			return;
	}
	end_loan(loans, loan, NULL);
}

static struct loan *next_due(const struct loans *loans)
{
	struct loan *loan = loans->all;

	while (loan && !loan->due)
		loan = loan->next;
	return loan;
}

/* The end of one may stop others, and begin some, which are looked at the next time. */
static void on_timer(void *arg)
{
	struct loans *loans = arg;
	struct loan *loan;

	loans->woken = false;
	loans->again_ms = 0;
	for (loan = loans->all; loan; loan = loan->next)
		loan->due = true;
	while ((loan = next_due(loans))) {
		loan->due = false;
		look(loans, loan);
	}
	if (loans->again_ms > 0 && !loans->woken)
		clock_timer_start(loans->deps.clock, loans->timer, loans->again_ms);
}

void loans_wake(struct loans *loans)
{
	if (!loans->all)
		return;
	loans->woken = true;
	clock_timer_start(loans->deps.clock, loans->timer, 0);
}

struct loan *loans_begin(struct loans *loans, const struct loan_spec *spec, loan_end_fn *end,
			 void *arg)
{
	struct loan *loan = xcalloc(1, sizeof(*loan));

	*loan = (struct loan){ .uid = xstrdup(spec->uid),
			       .to = xstrdup(spec->to),
			       .end = end,
			       .arg = arg,
			       .next = loans->all };
	for (size_t i = 0; i < spec->addresses->len; i++)
		json_strs_add(&loan->addresses, spec->addresses->items[i]);
	loans->all = loan;
	loans_wake(loans);
	return loan;
}

bool loans_stop(struct loans *loans, struct loan *loan, struct err *err)
{
	bool binding = find_binding(loans, loan) != NULL;

	err_set(err, ERR_RETRY, -EBUSY, "%s",
		loan->waits ? loan->waits : "its devices have not been looked at");
	leave(loans, loan);
	loan_free(loan);
	return binding;
}

struct loans *loans_new(const struct loans_deps *deps)
{
	struct loans *loans = xcalloc(1, sizeof(*loans));

	loans->deps = *deps;
	loans->timer = clock_timer_new(deps->clock, on_timer, loans);
	return loans;
}

struct loans *loans_free(struct loans *loans)
{
	struct loan *loan;

	if (!loans)
		return NULL;
	while ((loan = loans->all)) {
		loans->all = loan->next;
		loan_free(loan);
	}
	clock_timer_free(loans->deps.clock, loans->timer);
	free(loans);
	return NULL;
}
