#include "agent/claim/claim_history.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/use_log.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

enum { FAILED_FIRST_MS = 1000, FAILED_MAX_MS = 5 * 60 * 1000 };

/* How long nothing is tried again after it came to this; FAILED: doubled with each failure. */
static const uint64_t hold_ms[] = {
	[BINDER_DONE] = 0,
	[BINDER_HELD] = 5000,
	[BINDER_REFUSED] = 30000,
	[BINDER_BUSY] = 250,
	[BINDER_FAILED] = FAILED_FIRST_MS,
	[BINDER_STUCK] = 0,
};

struct transition {
	struct transition *next;
	enum binder_verb verb;
	struct json_strs members;
	char *lead;
	char *name;
	char *uid; /* of the claim; NULL: none */
	int64_t generation;

	bool running;
	bool freed; /* it was stuck, and nobody told what it came to */
	bool woken;
	bool reported;
	unsigned failures; /* in a row */
	struct binder_outcome outcome;
	uint64_t ended_ms;
	char *seen; /* how the group looked to the first scan after the end */
};

struct claim_history {
	struct transition *all; /* a function is in one of them */
	const struct inventory *inventory;
	struct use_log *uses; /* of functions, by address */
};

static void transition_free(struct transition *t)
{
	json_strs_done(&t->members);
	free(t->lead);
	free(t->name);
	free(t->uid);
	binder_outcome_done(&t->outcome);
	free(t->seen);
	free(t);
}

struct claim_history *claim_history_new(void)
{
	struct claim_history *history = xcalloc(1, sizeof(*history));

	history->uses = use_log_new();
	return history;
}

struct claim_history *claim_history_free(struct claim_history *history)
{
	struct transition *t;

	if (!history)
		return NULL;
	use_log_free(history->uses);
	while ((t = history->all)) {
		history->all = t->next;
		transition_free(t);
	}
	free(history);
	return NULL;
}

static struct transition *find(const struct claim_history *history, const char *address)
{
	struct transition *t = history->all;

	while (t && !json_strs_has(&t->members, address))
		t = t->next;
	return t;
}

static void drop(struct transition **at)
{
	struct transition *t = *at;

	*at = t->next;
	transition_free(t);
}

/* Take @address out of what came before. */
static void supersede(struct claim_history *history, const char *address)
{
	struct transition **at = &history->all;

	while (*at) {
		json_strs_remove(&(*at)->members, address);
		if ((*at)->members.len == 0)
			drop(at);
		else
			at = &(*at)->next;
	}
}

void claim_history_begin(struct claim_history *history, const struct claim_begin *begin)
{
	const struct binder_job *job = begin->job;
	struct transition *t = xcalloc(1, sizeof(*t));
	const struct transition *before;

	assert(job->len > 0);
	before = find(history, job->items[0].address);
	assert(!before || !before->running);
	*t = (struct transition){
		.verb = job->verb,
		.lead = xstrdup(job->items[0].address),
		.name = xstrdup(begin->name),
		.uid = xstrdup_or_null(begin->claim ? begin->claim->meta.uid : NULL),
		.generation = begin->claim ? begin->claim->meta.generation : 0,
		.running = true,
		.failures = before && before->verb == job->verb ? before->failures : 0,
	};
	for (size_t i = 0; i < job->len; i++)
		json_strs_add_new(&t->members, job->items[i].address);
	for (size_t i = 0; i < begin->members->len; i++)
		json_strs_add_new(&t->members, begin->members->items[i]);
	for (size_t i = 0; i < t->members.len; i++)
		supersede(history, t->members.items[i]);
	t->next = history->all;
	history->all = t;
}

bool claim_history_idle(const struct claim_history *history, const struct binder *binder,
			const struct json_strs *members)
{
	for (size_t i = 0; i < members->len; i++) {
		const struct transition *t = find(history, members->items[i]);

		if ((t && t->running) ||
		    binder_look(binder, members->items[i], NULL) != BINDER_IDLE)
			return false;
	}
	return true;
}

void claim_history_end(struct claim_history *history, const char *address,
		       const struct binder_outcome *outcome)
{
	struct transition *t = find(history, address);

	assert(t && t->running);
	t->running = false;
	binder_outcome_copy(&t->outcome, outcome);
	t->ended_ms = outcome->ended_ms;
	t->failures = outcome->result == BINDER_FAILED ? t->failures + 1 : 0;
}

void claim_history_unstick(struct claim_history *history, const struct binder *binder,
			   uint64_t now_ms, struct json_strs *ret_members)
{
	for (struct transition *t = history->all; t; t = t->next) {
		if (t->running || t->freed || t->outcome.result != BINDER_STUCK ||
		    binder_look(binder, t->lead, NULL) == BINDER_IS_STUCK)
			continue;
		t->freed = true;
		t->woken = true;
		t->ended_ms = now_ms;
		for (size_t j = 0; j < t->members.len; j++)
			json_strs_add_new(ret_members, t->members.items[j]);
	}
}

/* It ended after the inventory's scan began. Within the same millisecond nobody knows, so the scan
 * is not believed: another one follows every end. */
static bool newer(const struct claim_history *history, const struct transition *t)
{
	return !history->inventory || t->ended_ms >= history->inventory->began_ms;
}

/* When the next try is due, of something that did not end well and is not stuck. */
static uint64_t due_ms(const struct transition *t)
{
	uint64_t hold = hold_ms[t->outcome.result];

	for (unsigned i = 1; i < t->failures && hold < FAILED_MAX_MS; i++)
		hold *= 2;
	if (t->outcome.result == BINDER_FAILED && hold > FAILED_MAX_MS)
		hold = FAILED_MAX_MS;
	return t->ended_ms + hold;
}

static bool same_direction(const struct transition *t, const struct pcideviceclaim *claim)
{
	bool live = claim && !claim->meta.deletion_timestamp;

	return live == (t->verb == BINDER_BIND);
}

/* Is the claim that it was begun for another one now? */
static bool replaced(const struct transition *t, const char *name,
		     const struct pcideviceclaim *claim)
{
	if (!claim || strcmp(t->name, name) != 0)
		return false;
	return !t->uid || !claim->meta.uid || strcmp(t->uid, claim->meta.uid) != 0;
}

/* Was it edited since? A deletion raises the generation, too, and is no new wish for a release. */
static bool edited(const struct transition *t, const char *name, const struct pcideviceclaim *claim)
{
	return claim && strcmp(t->name, name) == 0 && t->generation != claim->meta.generation;
}

/* What it came to, if that still holds back the next try. */
static void look_failed(const struct transition *t, bool is_edited, uint64_t now_ms,
			struct claim_view *view)
{
	uint64_t due = due_ms(t);

	if (t->woken || is_edited || now_ms >= due) {
		view->unsure = view->past.newer && (t->freed || t->failures > 0);
		return;
	}
	view->past.outcome = &t->outcome;
	view->hold_ms = due - now_ms;
}

void claim_history_look(const struct claim_history *history, const char *address, const char *name,
			const struct pcideviceclaim *claim, uint64_t now_ms,
			struct claim_view *ret_view)
{
	const struct transition *t = find(history, address);

	*ret_view = (struct claim_view){ .lead = t ? t->lead : NULL, .running = t && t->running };
	if (!t || t->running)
		return;
	ret_view->past = (struct claim_past){ .verb = t->verb, .newer = newer(history, t) };
	if (t->outcome.result == BINDER_STUCK && !t->freed) {
		ret_view->past.outcome = &t->outcome;
		ret_view->hold_ms = UINT64_MAX;
	} else if (!same_direction(t, claim) || replaced(t, name, claim)) {
		ret_view->unsure = ret_view->past.newer;
	} else if (t->outcome.result == BINDER_DONE) {
		ret_view->past.outcome = &t->outcome;
	} else {
		look_failed(t, edited(t, name, claim), now_ms, ret_view);
	}
}

int claim_history_failure(struct claim_history *history, const char *address, const char *name,
			  uint64_t now_ms, struct err *err)
{
	struct transition *t = find(history, address);
	const struct binder_outcome *outcome;
	bool stuck;
	uint64_t due;

	if (!t || t->running || t->reported || t->freed || strcmp(t->name, name) != 0)
		return 0;
	outcome = &t->outcome;
	stuck = outcome->result == BINDER_STUCK;
	if (!stuck && outcome->result != BINDER_FAILED)
		return 0;
	t->reported = true;
	due = due_ms(t);
	err_set(err, stuck ? ERR_STUCK : ERR_RETRY, stuck ? -ETIMEDOUT : -ENODEV, "%s: %s",
		outcome->reason ? outcome->reason : "Failed", outcome->message);
	err->wait_ms = due > now_ms ? (unsigned)(due - now_ms) : 0;
	return err->code;
}

void claim_history_wake(struct claim_history *history, const char *address)
{
	struct transition *t = find(history, address);

	if (t && !t->running && t->outcome.result != BINDER_STUCK)
		t->woken = true;
}

/* All that a try depends on, of the functions of @t. */
static char *look_of(const struct transition *t, const struct inventory *inventory)
{
	struct str text = STR_INIT;

	for (size_t i = 0; i < inventory->facts->pci.len; i++) {
		const struct pci_facts *pci = &inventory->facts->pci.items[i];
		const struct verdict *verdict = &inventory->pci_verdicts[i];

		if (!json_strs_has(&t->members, pci->address))
			continue;
		str_addf(&text, "%s %s:%s %s %s %s %s\n", pci->address,
			 pci->vendor ? pci->vendor : "", pci->device ? pci->device : "",
			 pci->serial ? pci->serial : "", pci->driver ? pci->driver : "",
			 verdict->reason, verdict->message);
	}
	return str_detach(&text);
}

/* The first scan after the end is what later ones are compared with. */
static void compare(struct transition *t, const struct inventory *inventory)
{
	auto_free char *seen = look_of(t, inventory);

	if (t->seen && strcmp(t->seen, seen) != 0 && t->outcome.result != BINDER_STUCK)
		t->woken = true;
	free(t->seen);
	t->seen = take_ptr(seen);
}

/* True if nothing that @t came to matters any more. */
static bool is_over(const struct claim_history *history, const struct transition *t)
{
	return !t->running && !newer(history, t) && (t->outcome.result == BINDER_DONE || t->freed);
}

static void see_uses(struct claim_history *history, const struct inventory *inventory)
{
	use_log_scan(history->uses, inventory->began_ms);
	for (size_t i = 0; i < inventory->facts->pci.len; i++) {
		const struct verdict *verdict = &inventory->pci_verdicts[i];

		if (!verdict->claimable)
			use_log_add(history->uses, inventory->facts->pci.items[i].address,
				    verdict->reason);
	}
}

uint64_t claim_history_unproven_ms(const struct claim_history *history, const char *address,
				   bool refused, uint64_t now_ms)
{
	return use_log_unproven_ms(history->uses, address, refused, now_ms);
}

void claim_history_set(struct claim_history *history, const struct inventory *inventory)
{
	struct transition **at = &history->all;

	history->inventory = inventory;
	see_uses(history, inventory);
	while (*at) {
		struct transition *t = *at;

		if (is_over(history, t)) {
			drop(at);
			continue;
		}
		if (!t->running && !newer(history, t))
			compare(t, inventory);
		at = &t->next;
	}
}

bool claim_history_moving(const struct claim_history *history, const char *address)
{
	const struct transition *t = find(history, address);

	if (!t)
		return false;
	return t->running || newer(history, t);
}

const struct json_strs *claim_history_members(const struct claim_history *history,
					      const char *address)
{
	const struct transition *t = find(history, address);

	return t ? &t->members : NULL;
}
