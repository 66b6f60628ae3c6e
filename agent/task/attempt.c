#include "agent/task/attempt.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void attempt_done(struct attempt *attempt)
{
	task_outcome_done(&attempt->outcome);
	free(attempt->uid);
	*attempt = (struct attempt){ 0 };
}

static bool is_for(const struct attempt *attempt, const struct attempt_object *object)
{
	return attempt->uid && strcmp(attempt->uid, object->uid) == 0 &&
	       attempt->generation == object->generation;
}

void attempt_begin(struct attempt *attempt, const struct attempt_object *object, bool changes,
		   uint64_t now_ms)
{
	if (!is_for(attempt, object)) {
		free(attempt->uid);
		attempt->uid = xstrdup(object->uid);
		attempt->generation = object->generation;
		attempt->failures = 0;
		attempt->done_ms = 0;
	}
	task_outcome_done(&attempt->outcome);
	attempt->changes = changes;
	attempt->began_ms = now_ms;
}

static uint64_t pause_ms(const struct attempt *attempt, const struct attempt_backoff *backoff)
{
	uint64_t pause_ms = backoff->first_ms;

	switch (attempt->outcome.result) {
	case TASK_NONE:
	case TASK_DONE:
		return 0;
	case TASK_HELD:
		return backoff->held_ms;
	case TASK_REFUSED:
		return backoff->refused_ms;
	case TASK_FAILED:
		break;
	}
	for (unsigned i = 1; i < attempt->failures && pause_ms < backoff->max_ms; i++)
		pause_ms *= 2;
	return pause_ms < backoff->max_ms ? pause_ms : backoff->max_ms;
}

bool attempt_end(struct attempt *attempt, struct task_outcome *outcome,
		 const struct attempt_backoff *backoff, uint64_t now_ms)
{
	enum task_result result = outcome->result;
	bool changed = attempt->changes && (result == TASK_DONE || result == TASK_FAILED);

	task_outcome_done(&attempt->outcome);
	attempt->outcome = *outcome;
	*outcome = (struct task_outcome){ 0 };
	if (result == TASK_DONE)
		attempt->done_ms = attempt->began_ms;
	attempt->failures = result == TASK_DONE ? 0 : attempt->failures + 1;
	attempt->due_ms = now_ms + pause_ms(attempt, backoff);
	if (changed)
		attempt->changed_ms = now_ms;
	return changed;
}

void attempt_end_unknown(struct attempt *attempt, uint64_t now_ms)
{
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

	if (result == TASK_NONE || result == TASK_DONE || !is_for(attempt, object))
		return NULL;
	*ret_hold_ms = attempt->due_ms > now_ms ? attempt->due_ms - now_ms : 0;
	return &attempt->outcome;
}

bool attempt_is_done(const struct attempt *attempt, const struct attempt_object *object,
		     uint64_t scan_ms)
{
	return is_for(attempt, object) && attempt->done_ms > 0 && attempt->done_ms >= scan_ms;
}
