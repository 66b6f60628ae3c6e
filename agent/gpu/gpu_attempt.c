#include "agent/gpu/gpu_attempt.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

enum {
	BUSY_AGAIN_MS = 5000,
	FIRST_AGAIN_MS = 5000,
	DOUBLINGS = 7, /* so that the longest is about ten minutes */
};

struct attempt {
	struct gpu_act act;
	int64_t generation;
	bool running;
	uint64_t ended_ms;
	unsigned failures; /* of this act, in a row */
	struct gpu_outcome outcome;
};

/* What is known of one card. */
struct answer {
	bool known; /* nvidia-smi was asked, and the card was not changed since */
	struct mig_look look;
	uint64_t at_ms;
	char *reason;
	char *trouble;
	uint64_t changed_ms; /* when a task that changes it ended last; 0: none did */
};

struct gpu_attempts {
	struct map *by_key;  /* key -> struct attempt    */
	struct map *answers; /* card -> struct answer */
};

struct gpu_attempts *gpu_attempts_new(void)
{
	struct gpu_attempts *attempts = xcalloc(1, sizeof(*attempts));

	attempts->by_key = map_new();
	attempts->answers = map_new();
	return attempts;
}

static void attempt_free(struct attempt *attempt)
{
	if (!attempt)
		return;
	gpu_outcome_done(&attempt->outcome);
	free(attempt);
}

static void answer_clear(struct answer *answer)
{
	mig_look_done(&answer->look);
	free(take_ptr(answer->reason));
	free(take_ptr(answer->trouble));
	answer->known = false;
}

/* Empty, but for when the card was changed. */
static struct answer *answer_new(struct gpu_attempts *attempts, const char *card)
{
	struct answer *answer = map_get(attempts->answers, card);

	if (answer) {
		answer_clear(answer);
		return answer;
	}
	answer = xcalloc(1, sizeof(*answer));
	(void)map_set(attempts->answers, card, answer);
	return answer;
}

struct gpu_attempts *gpu_attempts_free(struct gpu_attempts *attempts)
{
	size_t cursor = 0;
	void *value;

	if (!attempts)
		return NULL;
	while (map_next(attempts->by_key, &cursor, NULL, &value))
		attempt_free(value);
	cursor = 0;
	while (map_next(attempts->answers, &cursor, NULL, &value)) {
		answer_clear(value);
		free(value);
	}
	map_free(attempts->by_key);
	map_free(attempts->answers);
	free(attempts);
	return NULL;
}

void gpu_attempts_begin(struct gpu_attempts *attempts, const char *key, int64_t generation,
			const struct gpu_act *act)
{
	struct attempt *before = map_get(attempts->by_key, key);
	struct attempt *attempt = xcalloc(1, sizeof(*attempt));

	*attempt = (struct attempt){ .act = *act, .generation = generation, .running = true };
	if (before && gpu_act_same(&before->act, act))
		attempt->failures = before->failures;
	attempt_free(map_set(attempts->by_key, key, attempt));
}

void gpu_attempts_end(struct gpu_attempts *attempts, const char *key,
		      const struct gpu_outcome *outcome, uint64_t now_ms)
{
	struct attempt *attempt = map_get(attempts->by_key, key);

	if (!attempt)
		return;
	attempt->running = false;
	attempt->ended_ms = now_ms;
	attempt->failures = outcome->failed ? attempt->failures + 1 : 0;
	gpu_outcome_done(&attempt->outcome);
	attempt->outcome = (struct gpu_outcome){ .failed = outcome->failed,
						 .busy = outcome->busy,
						 .reason = xstrdup_or_null(outcome->reason),
						 .message = xstrdup_or_null(outcome->message) };
}

bool gpu_attempts_is_scanned(enum gpu_verb verb)
{
	switch (verb) {
	case GPU_ENABLE_VFS:
	case GPU_DISABLE_VFS:
	case GPU_SET_TYPE:
	case GPU_MAKE_MDEV:
	case GPU_REMOVE_MDEV:
		return true;
	case GPU_MIG_MODE_ON:
	case GPU_MIG_CREATE:
	case GPU_MIG_REMOVE_COMPUTE:
	case GPU_MIG_REMOVE:
		return false;
	}
	return true;
}

static uint64_t pause_ms(const struct attempt *attempt)
{
	unsigned doublings = attempt->failures > 1 ? attempt->failures - 1 : 0;

	if (attempt->outcome.busy)
		return BUSY_AGAIN_MS;
	return (uint64_t)FIRST_AGAIN_MS << (doublings < DOUBLINGS ? doublings : DOUBLINGS);
}

void gpu_attempts_last(const struct gpu_attempts *attempts, const char *key, int64_t generation,
		       uint64_t facts_ms, uint64_t now_ms, struct gpu_past *ret_past)
{
	const struct attempt *attempt = map_get(attempts->by_key, key);
	uint64_t due_ms;

	*ret_past = (struct gpu_past){ 0 };
	if (!attempt)
		return;
	ret_past->act = &attempt->act;
	ret_past->newer = attempt->running || (gpu_attempts_is_scanned(attempt->act.verb) &&
					       attempt->ended_ms >= facts_ms);
	ret_past->failed = attempt->outcome.failed;
	ret_past->reason = attempt->outcome.reason;
	ret_past->message = attempt->outcome.message;
	due_ms = attempt->ended_ms + pause_ms(attempt);
	if (attempt->outcome.failed && attempt->generation == generation && due_ms > now_ms)
		ret_past->wait_ms = due_ms - now_ms;
}

void gpu_attempts_forget(struct gpu_attempts *attempts, const char *key)
{
	const struct attempt *attempt = map_get(attempts->by_key, key);

	if (attempt && !attempt->running)
		attempt_free(map_remove(attempts->by_key, key));
}

void gpu_attempts_keep_look(struct gpu_attempts *attempts, const char *card, struct mig_look *look,
			    const struct gpu_outcome *outcome, uint64_t now_ms)
{
	struct answer *answer = answer_new(attempts, card);

	answer->known = true;
	answer->at_ms = now_ms;
	if (look) {
		answer->look = *look;
		*look = (struct mig_look){ 0 };
	} else {
		answer->reason = xstrdup_or_null(outcome->reason);
		answer->trouble = xstrdup_or_null(outcome->message);
	}
}

void gpu_attempts_change_card(struct gpu_attempts *attempts, const char *card, uint64_t now_ms)
{
	struct answer *answer = answer_new(attempts, card);

	if (now_ms > 0)
		answer->changed_ms = now_ms;
}

bool gpu_attempts_is_outdated(const struct gpu_attempts *attempts, const char *card,
			      uint64_t facts_ms)
{
	const struct answer *answer = map_get(attempts->answers, card);

	return answer && answer->changed_ms > 0 && answer->changed_ms >= facts_ms;
}

void gpu_attempts_look(const struct gpu_attempts *attempts, const char *card, uint64_t now_ms,
		       uint64_t max_age_ms, struct gpu_said *ret_said)
{
	const struct answer *answer = map_get(attempts->answers, card);

	*ret_said = (struct gpu_said){ 0 };
	if (!answer || !answer->known || now_ms - answer->at_ms >= max_age_ms)
		return;
	ret_said->look = answer->look.known ? &answer->look : NULL;
	ret_said->reason = answer->reason;
	ret_said->trouble = answer->trouble;
}
