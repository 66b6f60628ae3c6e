#include "agent/gpu/gpu_deeds.h"

#include <stdlib.h>

#include "agent/gpu/gpu_acts.h"
#include "agent/gpu/gpu_memory.h"
#include "base/array.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/clock.h"

/* An act, or a question, under way. */
struct deed {
	struct gpu_deeds *deeds;
	char *key;
	char *card;
};

struct slot {
	struct deed *deed;
};

struct gpu_deeds {
	struct clock *clock;
	struct gpu_acts *acts;
	struct gpu_memory *memory;
	gpu_deeds_over_fn *over;
	void *arg;
	ARRAY(struct slot) items;
};

static void on_free(void *arg, const char *card)
{
	struct gpu_deeds *deeds = arg;

	gpu_memory_forget_look(deeds->memory, card);
	deeds->over(deeds->arg, NULL, card, true);
}

struct gpu_deeds *gpu_deeds_new(struct uv_loop_s *loop, struct clock *clock,
				const struct gpu_options *options, gpu_deeds_over_fn *over,
				void *arg)
{
	struct gpu_deeds *deeds = xcalloc(1, sizeof(*deeds));

	deeds->clock = clock;
	deeds->acts = gpu_acts_new(loop, options, on_free, deeds);
	deeds->memory = gpu_memory_new();
	deeds->over = over;
	deeds->arg = arg;
	return deeds;
}

static void deed_free(struct deed *deed)
{
	free(deed->key);
	free(deed->card);
	free(deed);
}

struct gpu_deeds *gpu_deeds_free(struct gpu_deeds *deeds)
{
	if (!deeds)
		return NULL;
	gpu_acts_free(deeds->acts);
	gpu_memory_free(deeds->memory);
	for (size_t i = 0; i < deeds->items.len; i++)
		deed_free(deeds->items.items[i].deed);
	array_done(&deeds->items);
	free(deeds);
	return NULL;
}

const struct gpu_acts *gpu_deeds_acts(const struct gpu_deeds *deeds)
{
	return deeds->acts;
}

struct gpu_memory *gpu_deeds_memory(struct gpu_deeds *deeds)
{
	return deeds->memory;
}

static struct deed *deed_new(struct gpu_deeds *deeds, const char *key, const char *card)
{
	struct deed *deed = xcalloc(1, sizeof(*deed));

	*deed = (struct deed){ .deeds = deeds, .key = xstrdup(key), .card = xstrdup(card) };
	array_add(&deeds->items)->deed = deed;
	return deed;
}

static void end_deed(struct deed *deed, bool changed)
{
	struct gpu_deeds *deeds = deed->deeds;

	for (size_t i = 0; i < deeds->items.len; i++) {
		if (deeds->items.items[i].deed == deed)
			deeds->items.items[i] = deeds->items.items[--deeds->items.len];
	}
	deeds->over(deeds->arg, deed->key, deed->card, changed);
	deed_free(deed);
}

static void on_acted(void *arg, const struct gpu_outcome *outcome)
{
	struct deed *deed = arg;
	struct gpu_deeds *deeds = deed->deeds;

	if (outcome->failed)
		log_warn("a card was not changed", log_str("object", deed->key),
			 log_str("card", deed->card), log_str("reason", outcome->message));
	gpu_memory_end(deeds->memory, deed->key, outcome, clock_now_ms(deeds->clock));
	gpu_memory_forget_look(deeds->memory, deed->card);
	end_deed(deed, true);
}

static void on_said(void *arg, struct mig_look *look, const struct gpu_outcome *outcome)
{
	struct deed *deed = arg;
	struct gpu_deeds *deeds = deed->deeds;

	gpu_memory_look(deeds->memory, deed->card, look, outcome, clock_now_ms(deeds->clock));
	end_deed(deed, false);
}

void gpu_deeds_act(struct gpu_deeds *deeds, const char *key, int64_t generation,
		   const struct gpu_act *act)
{
	if (gpu_acts_busy(deeds->acts, act->card))
		return;
	gpu_memory_begin(deeds->memory, key, generation, act);
	gpu_acts_start(deeds->acts, act, on_acted, deed_new(deeds, key, act->card));
}

void gpu_deeds_ask(struct gpu_deeds *deeds, const char *key, const char *card)
{
	if (!gpu_acts_busy(deeds->acts, card))
		gpu_acts_look(deeds->acts, card, on_said, deed_new(deeds, key, card));
}
