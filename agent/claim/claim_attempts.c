#include "agent/claim/claim_attempts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/use_log.h"
#include "agent/node/this_node.h"
#include "agent/task/attempt.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

/* How long no other attempt is made, by the result of the last one. */
static const struct attempt_backoff backoff = {
	.held_ms = 5000,
	.refused_ms = 30000,
	.busy_ms = 250,
	.first_ms = 1000,
	.max_ms = 300000,
};

/* The last attempt for a group. */
struct transition {
	struct transition *next;
	struct json_strs members;
	char *lead;
	char *name; /* of the claim that it was begun for */

	struct attempt attempt; /* its direction is a verb of the binder */
	bool running;
	bool on_demand; /* as the job has it */
	bool reported;
	struct binder_outcome rest; /* the part of the outcome that @attempt does not keep */
	char *look; /* state of the group to compare with; NULL: that of the next scan */
};

struct claim_attempts {
	struct transition *all; /* a function is in one of them */
	const struct this_node *node;
	struct use_log *uses; /* of functions, by address */
};

static void transition_free(struct transition *t)
{
	json_strs_done(&t->members);
	free(t->lead);
	free(t->name);
	attempt_done(&t->attempt);
	binder_outcome_done(&t->rest);
	free(t->look);
	free(t);
}

struct claim_attempts *claim_attempts_new(const struct this_node *node)
{
	struct claim_attempts *attempts = xcalloc(1, sizeof(*attempts));

	attempts->node = node;
	attempts->uses = use_log_new();
	return attempts;
}

struct claim_attempts *claim_attempts_free(struct claim_attempts *attempts)
{
	struct transition *t;

	if (!attempts)
		return NULL;
	use_log_free(attempts->uses);
	while ((t = attempts->all)) {
		attempts->all = t->next;
		transition_free(t);
	}
	free(attempts);
	return NULL;
}

static struct transition *find(const struct claim_attempts *attempts, const char *address)
{
	struct transition *t = attempts->all;

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
static void supersede(struct claim_attempts *attempts, const char *address)
{
	struct transition **at = &attempts->all;

	while (*at) {
		json_strs_remove(&(*at)->members, address);
		if ((*at)->members.len == 0)
			drop(at);
		else
			at = &(*at)->next;
	}
}

/* The state of the functions of @t, as far as the result of an attempt depends on it. */
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

static const char *uid_of(const struct pcideviceclaim *claim)
{
	return claim && claim->meta.uid ? claim->meta.uid : "";
}

void claim_attempts_begin(struct claim_attempts *attempts, const struct claim_begin *begin,
			  uint64_t now_ms)
{
	const struct binder_job *job = begin->job;
	const struct attempt_object object = {
		.uid = uid_of(begin->claim),
		.generation = begin->claim ? begin->claim->meta.generation : 0,
		.direction = (int)job->verb,
	};
	struct transition *t = xcalloc(1, sizeof(*t));
	const struct transition *before;

	assert(job->len > 0);
	before = find(attempts, job->items[0].address);
	assert(!before || !before->running);
	*t = (struct transition){
		.lead = xstrdup(job->items[0].address),
		.name = xstrdup(begin->name),
		.running = true,
		.on_demand = job->on_demand,
	};
	attempt_begin(&t->attempt, &object, ATTEMPT_CHANGES_MANY, now_ms);
	/* Failures are counted per group, not per claim. */
	if (before && before->attempt.direction == object.direction)
		t->attempt.failures = before->attempt.failures;
	for (size_t i = 0; i < job->len; i++)
		json_strs_add_new(&t->members, job->items[i].address);
	for (size_t i = 0; i < begin->members->len; i++)
		json_strs_add_new(&t->members, begin->members->items[i]);
	for (size_t i = 0; i < t->members.len; i++)
		supersede(attempts, t->members.items[i]);
	if (attempts->node->inventory)
		t->look = look_of(t, attempts->node->inventory);
	t->next = attempts->all;
	attempts->all = t;
}

bool claim_attempts_idle(const struct claim_attempts *attempts, const struct binder *binder,
			 const struct json_strs *members)
{
	for (size_t i = 0; i < members->len; i++) {
		const struct transition *t = find(attempts, members->items[i]);

		if ((t && t->running) ||
		    binder_look(binder, members->items[i], NULL) != BINDER_IDLE)
			return false;
	}
	return true;
}

static bool is_stuck(const struct transition *t)
{
	return t->attempt.outcome.result == TASK_STUCK;
}

void claim_attempts_end(struct claim_attempts *attempts, const char *address,
			const struct binder_outcome *outcome)
{
	struct transition *t = find(attempts, address);

	assert(t && t->running);
	t->running = false;
	if (outcome->task.result != TASK_REFUSED) { /* the helper may have changed the group */
		free(t->look);
		t->look = NULL;
	}
	binder_outcome_copy(&t->rest, outcome);
	(void)attempt_end(&t->attempt, &t->rest.task, &backoff, outcome->ended_ms);
}

void claim_attempts_unstick(struct claim_attempts *attempts, const struct binder *binder,
			    uint64_t now_ms, struct json_strs *ret_members)
{
	for (struct transition *t = attempts->all; t; t = t->next) {
		if (!is_stuck(t) || binder_look(binder, t->lead, NULL) == BINDER_IS_STUCK)
			continue;
		attempt_end_unknown(&t->attempt, now_ms);
		for (size_t j = 0; j < t->members.len; j++)
			json_strs_add_new(ret_members, t->members.items[j]);
	}
}

/* It ended after the inventory's scan began. */
static bool is_newer(const struct claim_attempts *attempts, const struct transition *t)
{
	const struct inventory *inventory = attempts->node->inventory;

	return !inventory || attempt_is_newer(&t->attempt, inventory->began_ms);
}

/* What the claim @name wants, as an object of the attempt. The claims of a group share an attempt;
 * UID and generation are compared only for the claim that it was begun for. */
static struct attempt_object wanted(const struct transition *t, const char *name,
				    const struct pcideviceclaim *claim)
{
	bool live = claim && !claim->meta.deletion_timestamp;
	bool same = claim && strcmp(t->name, name) == 0;

	return (struct attempt_object){
		.uid = same ? uid_of(claim) : t->attempt.uid,
		.generation = same ? claim->meta.generation : t->attempt.generation,
		.direction = live ? BINDER_BIND : BINDER_RELEASE,
	};
}

/* The attempt is of the same claim, or of another one of the group, in the same direction. Edits
 * since then do not matter. */
static bool is_of(const struct transition *t, const struct attempt_object *object)
{
	return t->attempt.direction == object->direction &&
	       strcmp(t->attempt.uid, object->uid) == 0;
}

void claim_attempts_view(const struct claim_attempts *attempts, const char *address,
			 const char *name, const struct pcideviceclaim *claim, uint64_t now_ms,
			 struct claim_view *ret_view)
{
	const struct transition *t = find(attempts, address);
	struct attempt_object object;
	uint64_t hold_ms = 0;

	*ret_view = (struct claim_view){ .lead = t ? t->lead : NULL,
					 .running = t && t->running,
					 .on_demand = t && t->on_demand };
	if (!t || t->running)
		return;
	object = wanted(t, name, claim);
	ret_view->last = (struct claim_attempt){ .verb = (enum binder_verb)t->attempt.direction,
						 .newer = is_newer(attempts, t),
						 .seen = &t->rest.seen };
	if (is_stuck(t)) {
		ret_view->last.outcome = &t->attempt.outcome;
		ret_view->hold_ms = UINT64_MAX;
	} else if (!is_of(t, &object)) {
		ret_view->unsure = ret_view->last.newer;
	} else if (t->attempt.outcome.result == TASK_DONE) {
		ret_view->last.outcome = &t->attempt.outcome;
	} else if (attempt_failure(&t->attempt, &object, now_ms, &hold_ms) && hold_ms > 0) {
		ret_view->last.outcome = &t->attempt.outcome;
		ret_view->hold_ms = hold_ms;
	} else {
		/* An attempt that failed or has no known outcome may have changed anything. */
		ret_view->unsure =
			ret_view->last.newer && (t->attempt.outcome.result == TASK_NONE ||
						 t->attempt.outcome.result == TASK_FAILED);
	}
}

int claim_attempts_failure(const struct claim_attempts *attempts, const char *address,
			   const char *name, uint64_t now_ms, struct err *err)
{
	const struct transition *t = find(attempts, address);
	bool failed = t && t->attempt.outcome.result == TASK_FAILED;

	if (!t || t->running || t->reported || strcmp(t->name, name) != 0 ||
	    !(failed || is_stuck(t)))
		return 0;
	err_set(err, failed ? ERR_RETRY : ERR_STUCK, failed ? -ENODEV : -ETIMEDOUT, "%s: %s",
		t->attempt.outcome.reason ? t->attempt.outcome.reason : "Failed",
		t->attempt.outcome.message);
	err->wait_ms =
		failed && t->attempt.due_ms > now_ms ? (unsigned)(t->attempt.due_ms - now_ms) : 0;
	return err->code;
}

void claim_attempts_report(struct claim_attempts *attempts, const char *address)
{
	struct transition *t = find(attempts, address);

	if (t)
		t->reported = true;
}

void claim_attempts_wake(struct claim_attempts *attempts, const char *address)
{
	struct transition *t = find(attempts, address);

	if (t && !t->running)
		attempt_wake(&t->attempt);
}

/* A refused attempt changed nothing, so if the group differs from its state before the attempt, try
 * again. After any other attempt, later scans are compared with the first one. */
static void compare(struct transition *t, const struct inventory *inventory)
{
	auto_free char *look = look_of(t, inventory);

	if (t->look && strcmp(t->look, look) != 0)
		attempt_wake(&t->attempt);
	free(t->look);
	t->look = take_ptr(look);
}

/* The result of @t does not matter any more. */
static bool is_over(const struct claim_attempts *attempts, const struct transition *t)
{
	return !t->running && !is_newer(attempts, t) &&
	       (t->attempt.outcome.result == TASK_DONE || t->attempt.outcome.result == TASK_NONE);
}

static void see_uses(struct claim_attempts *attempts, const struct inventory *inventory)
{
	use_log_scan(attempts->uses, inventory->began_ms);
	for (size_t i = 0; i < inventory->facts->pci.len; i++) {
		const struct verdict *verdict = &inventory->pci_verdicts[i];

		if (!verdict->claimable)
			use_log_add(attempts->uses, inventory->facts->pci.items[i].address,
				    verdict->reason);
	}
}

uint64_t claim_attempts_unproven_ms(const struct claim_attempts *attempts, const char *address,
				    bool refused, uint64_t now_ms)
{
	return use_log_unproven_ms(attempts->uses, address, refused, now_ms);
}

void claim_attempts_update(struct claim_attempts *attempts)
{
	const struct inventory *inventory = attempts->node->inventory;
	struct transition **at = &attempts->all;

	see_uses(attempts, inventory);
	while (*at) {
		struct transition *t = *at;

		if (is_over(attempts, t)) {
			drop(at);
			continue;
		}
		if (!t->running && !is_newer(attempts, t))
			compare(t, inventory);
		at = &t->next;
	}
}

bool claim_attempts_moving(const struct claim_attempts *attempts, const char *address)
{
	const struct transition *t = find(attempts, address);

	if (!t)
		return false;
	return t->running || is_newer(attempts, t);
}

const struct json_strs *claim_attempts_members(const struct claim_attempts *attempts,
					       const char *address)
{
	const struct transition *t = find(attempts, address);

	return t ? &t->members : NULL;
}
