#include "agent/task/attempt.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

void attempt_done(struct attempt *attempt)
{
	task_outcome_done(&attempt->outcome);
	free(attempt->uid);
	*attempt = (struct attempt){ 0 };
}

static bool is_for(const struct attempt *attempt, const struct attempt_object *object)
{
	return attempt->uid && strcmp(attempt->uid, object->uid) == 0 &&
	       attempt->generation == object->generation && attempt->direction == object->direction;
}

void attempt_begin(struct attempt *attempt, const struct attempt_object *object,
		   enum attempt_effect effect, uint64_t now_ms)
{
	if (!is_for(attempt, object)) {
		str_set(&attempt->uid, object->uid);
		attempt->generation = object->generation;
		attempt->direction = object->direction;
		attempt->failures = 0;
		attempt->done_ms = 0;
	}
	task_outcome_done(&attempt->outcome);
	attempt->effect = effect;
	attempt->began_ms = now_ms;
}

/* The pause that a result has of its own; 0: none. */
static uint64_t own_pause_ms(enum task_result result, const struct attempt_backoff *backoff)
{
	switch (result) {
	case TASK_HELD:
		return backoff->held_ms;
	case TASK_REFUSED:
		return backoff->refused_ms;
	case TASK_BUSY:
		return backoff->busy_ms;
	case TASK_NONE:
	case TASK_DONE:
	case TASK_FAILED:
	case TASK_STUCK:
		return 0;
	}
	return 0;
}

static void count_failure(struct attempt *attempt, const struct attempt_backoff *backoff)
{
	enum task_result result = attempt->outcome.result;

	if (result != TASK_DONE && own_pause_ms(result, backoff) == 0)
		attempt->failures++;
	else if (result != TASK_BUSY)
		attempt->failures = 0;
}

static uint64_t pause_ms(const struct attempt *attempt, const struct attempt_backoff *backoff)
{
	enum task_result result = attempt->outcome.result;
	uint64_t pause_ms = own_pause_ms(result, backoff);

	if (result == TASK_DONE || pause_ms > 0)
		return pause_ms;
	pause_ms = backoff->first_ms;
	for (unsigned i = 1; i < attempt->failures && pause_ms < backoff->max_ms; i++)
		pause_ms *= 2;
	return pause_ms < backoff->max_ms ? pause_ms : backoff->max_ms;
}

/* May what scans show have changed, now that the task has come to @result? */
static bool has_changed(enum attempt_effect effect, enum task_result result)
{
	return effect == ATTEMPT_CHANGES_MANY ||
	       (effect == ATTEMPT_CHANGES_ONE && (result == TASK_DONE || result == TASK_FAILED));
}

bool attempt_end(struct attempt *attempt, struct task_outcome *outcome,
		 const struct attempt_backoff *backoff, uint64_t now_ms)
{
	enum task_result result = outcome->result;
	bool changed = has_changed(attempt->effect, result);

	task_outcome_done(&attempt->outcome);
	attempt->outcome = *outcome;
	*outcome = (struct task_outcome){ 0 };
	if (result == TASK_STUCK) {
		attempt->changed_ms = now_ms;
		return true;
	}
	if (result == TASK_DONE)
		attempt->done_ms = attempt->began_ms;
	count_failure(attempt, backoff);
	attempt->due_ms = now_ms + pause_ms(attempt, backoff);
	if (changed)
		attempt->changed_ms = now_ms;
	return changed;
}

void attempt_not_started(struct attempt *attempt, const struct attempt_object *object,
			 const struct attempt_backoff *backoff, const struct err *err,
			 uint64_t now_ms)
{
	struct task_outcome outcome;

	task_outcome_not_started(NULL, err, &outcome);
	attempt_begin(attempt, object, ATTEMPT_CHANGES_NOTHING, now_ms);
	(void)attempt_end(attempt, &outcome, backoff, now_ms);
}

void attempt_wake(struct attempt *attempt)
{
	attempt->due_ms = 0;
}

void attempt_end_unknown(struct attempt *attempt, uint64_t now_ms)
{
	task_outcome_done(&attempt->outcome);
	attempt->changed_ms = now_ms;
}

bool attempt_is_newer(const struct attempt *attempt, uint64_t scan_ms)
{
	return attempt->changed_ms > 0 && attempt->changed_ms >= scan_ms;
}

const struct task_outcome *attempt_failure(const struct attempt *attempt,
					   const struct attempt_object *object, uint64_t now_ms,
					   uint64_t *ret_hold_ms)
{
	enum task_result result = attempt->outcome.result;

	if (result == TASK_NONE || result == TASK_DONE || result == TASK_STUCK ||
	    !is_for(attempt, object))
		return NULL;
	*ret_hold_ms = attempt->due_ms > now_ms ? attempt->due_ms - now_ms : 0;
	return &attempt->outcome;
}

bool attempt_is_done(const struct attempt *attempt, const struct attempt_object *object,
		     uint64_t scan_ms)
{
	return is_for(attempt, object) && attempt->done_ms > 0 && attempt->done_ms >= scan_ms;
}
