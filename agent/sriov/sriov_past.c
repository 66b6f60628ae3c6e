#include "agent/sriov/sriov_past.h"

enum {
	RETRY_FIRST_MS = 1000,
	RETRY_DOUBLINGS = 6, /* so that the longest is 64 s */
	HELD_AGAIN_MS = 5000,
	REFUSED_AGAIN_MS = 30000,
};

void sriov_past_done(struct sriov_past *past)
{
	sriov_outcome_done(&past->failure);
	*past = (struct sriov_past){ 0 };
}

void sriov_past_begin(struct sriov_past *past, int64_t generation, bool counted, uint64_t now_ms)
{
	if (generation != past->generation)
		past->failures = 0;
	past->generation = generation;
	past->counted = counted;
	past->began_ms = now_ms;
}

static uint64_t retry_ms(const struct sriov_past *past)
{
	unsigned doublings = past->failures - 1;

	if (past->failure.held)
		return HELD_AGAIN_MS;
	if (past->failure.refused)
		return REFUSED_AGAIN_MS;
	return (uint64_t)RETRY_FIRST_MS
	       << (doublings < RETRY_DOUBLINGS ? doublings : RETRY_DOUBLINGS);
}

bool sriov_past_end(struct sriov_past *past, struct sriov_outcome *outcome, uint64_t now_ms)
{
	bool moved = past->counted && !outcome->refused && !outcome->held;

	sriov_outcome_done(&past->failure);
	if (outcome->done) {
		past->verified_ms = past->began_ms;
		past->failures = 0;
		sriov_outcome_done(outcome);
	} else {
		past->failure = *outcome;
		*outcome = (struct sriov_outcome){ 0 };
		past->failures++;
		past->due_ms = now_ms + retry_ms(past);
	}
	if (moved)
		past->moved_ms = now_ms;
	return moved;
}

void sriov_past_lose(struct sriov_past *past, uint64_t now_ms)
{
	past->moved_ms = now_ms;
}

void sriov_past_forget(struct sriov_past *past)
{
	sriov_outcome_done(&past->failure);
	past->failures = 0;
	past->verified_ms = 0;
}

bool sriov_past_is_unsure(const struct sriov_past *past, uint64_t began_ms)
{
	return past->moved_ms > 0 && past->moved_ms >= began_ms;
}

const struct sriov_outcome *sriov_past_failure(const struct sriov_past *past, int64_t generation,
					       uint64_t now_ms, uint64_t *ret_hold_ms)
{
	if (!past->failure.reason || past->generation != generation)
		return NULL;
	*ret_hold_ms = past->due_ms > now_ms ? past->due_ms - now_ms : 0;
	return &past->failure;
}

bool sriov_past_is_verified(const struct sriov_past *past, int64_t generation, uint64_t began_ms)
{
	return past->generation == generation && past->verified_ms > 0 &&
	       past->verified_ms >= began_ms;
}
