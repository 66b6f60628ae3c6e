#include "agent/gpu/gpu_memory.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

enum {
	BUSY_AGAIN_MS = 5000,
	FIRST_AGAIN_MS = 5000,
	DOUBLINGS = 7, /* so that the longest is about ten minutes */
};

struct deed {
	struct gpu_act act;
	int64_t generation;
	bool running;
	uint64_t ended_ms;
	unsigned failures; /* of this act, in a row */
	struct gpu_outcome outcome;
};

struct answer {
	struct mig_look look;
	uint64_t at_ms;
	char *reason;
	char *trouble;
};

struct gpu_memory {
	struct map *deeds;   /* key -> struct deed    */
	struct map *answers; /* card -> struct answer */
};

struct gpu_memory *gpu_memory_new(void)
{
	struct gpu_memory *memory = xcalloc(1, sizeof(*memory));

	memory->deeds = map_new();
	memory->answers = map_new();
	return memory;
}

static void deed_free(struct deed *deed)
{
	if (!deed)
		return;
	gpu_outcome_done(&deed->outcome);
	free(deed);
}

static void answer_free(struct answer *answer)
{
	if (!answer)
		return;
	mig_look_done(&answer->look);
	free(answer->reason);
	free(answer->trouble);
	free(answer);
}

struct gpu_memory *gpu_memory_free(struct gpu_memory *memory)
{
	size_t cursor = 0;
	void *value;

	if (!memory)
		return NULL;
	while (map_next(memory->deeds, &cursor, NULL, &value))
		deed_free(value);
	cursor = 0;
	while (map_next(memory->answers, &cursor, NULL, &value))
		answer_free(value);
	map_free(memory->deeds);
	map_free(memory->answers);
	free(memory);
	return NULL;
}

void gpu_memory_begin(struct gpu_memory *memory, const char *key, int64_t generation,
		      const struct gpu_act *act)
{
	struct deed *before = map_get(memory->deeds, key);
	struct deed *deed = xcalloc(1, sizeof(*deed));

	*deed = (struct deed){ .act = *act, .generation = generation, .running = true };
	if (before && gpu_act_same(&before->act, act))
		deed->failures = before->failures;
	deed_free(map_set(memory->deeds, key, deed));
}

void gpu_memory_end(struct gpu_memory *memory, const char *key, const struct gpu_outcome *outcome,
		    uint64_t now_ms)
{
	struct deed *deed = map_get(memory->deeds, key);

	if (!deed)
		return;
	deed->running = false;
	deed->ended_ms = now_ms;
	deed->failures = outcome->failed ? deed->failures + 1 : 0;
	gpu_outcome_done(&deed->outcome);
	deed->outcome = (struct gpu_outcome){ .failed = outcome->failed,
					      .busy = outcome->busy,
					      .reason = xstrdup_or_null(outcome->reason),
					      .message = xstrdup_or_null(outcome->message) };
}

/* What nvidia-smi does is seen by asking it again, not by a scan. */
static bool is_seen_by_scan(enum gpu_verb verb)
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

static uint64_t pause_ms(const struct deed *deed)
{
	unsigned doublings = deed->failures > 1 ? deed->failures - 1 : 0;

	if (deed->outcome.busy)
		return BUSY_AGAIN_MS;
	return (uint64_t)FIRST_AGAIN_MS << (doublings < DOUBLINGS ? doublings : DOUBLINGS);
}

void gpu_memory_past(const struct gpu_memory *memory, const char *key, int64_t generation,
		     uint64_t facts_ms, uint64_t now_ms, struct gpu_past *ret_past)
{
	const struct deed *deed = map_get(memory->deeds, key);
	uint64_t due_ms;

	*ret_past = (struct gpu_past){ 0 };
	if (!deed)
		return;
	ret_past->act = &deed->act;
	ret_past->newer =
		deed->running || (is_seen_by_scan(deed->act.verb) && deed->ended_ms >= facts_ms);
	ret_past->failed = deed->outcome.failed;
	ret_past->reason = deed->outcome.reason;
	ret_past->message = deed->outcome.message;
	due_ms = deed->ended_ms + pause_ms(deed);
	if (deed->outcome.failed && deed->generation == generation && due_ms > now_ms)
		ret_past->wait_ms = due_ms - now_ms;
}

void gpu_memory_forget(struct gpu_memory *memory, const char *key)
{
	const struct deed *deed = map_get(memory->deeds, key);

	if (deed && !deed->running)
		deed_free(map_remove(memory->deeds, key));
}

void gpu_memory_look(struct gpu_memory *memory, const char *card, struct mig_look *look,
		     const struct gpu_outcome *outcome, uint64_t now_ms)
{
	struct answer *answer = xcalloc(1, sizeof(*answer));

	answer->at_ms = now_ms;
	if (look) {
		answer->look = *look;
		*look = (struct mig_look){ 0 };
	} else {
		answer->reason = xstrdup_or_null(outcome->reason);
		answer->trouble = xstrdup_or_null(outcome->message);
	}
	answer_free(map_set(memory->answers, card, answer));
}

void gpu_memory_forget_look(struct gpu_memory *memory, const char *card)
{
	answer_free(map_remove(memory->answers, card));
}

void gpu_memory_said(const struct gpu_memory *memory, const char *card, uint64_t now_ms,
		     uint64_t max_age_ms, struct gpu_said *ret_said)
{
	const struct answer *answer = map_get(memory->answers, card);

	*ret_said = (struct gpu_said){ 0 };
	if (!answer || now_ms - answer->at_ms >= max_age_ms)
		return;
	ret_said->look = answer->look.known ? &answer->look : NULL;
	ret_said->reason = answer->reason;
	ret_said->trouble = answer->trouble;
}
