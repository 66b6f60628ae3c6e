#include "agent/nvidia/nvidia_plan.h"

#include "agent/nvidia/nvidia_gpus.h"

/* Without its UUID, it is not known whether a pod has a GPU that a claim takes: that one is asked
 * until it answers or fails. */
static bool needs_look(const struct nvidia_gpu *gpu)
{
	if (gpu->altered) /* the library does not know it */
		return false;
	if (gpu->claim)
		return !gpu->looked && !gpu->trouble;
	return !gpu->looked || gpu->doubted;
}

static bool needs_probe(const struct nvidia_gpu *gpu)
{
	return gpu->looked && !gpu->claim && !gpu->altered &&
	       (gpu->trouble || gpu->urgent || nvidia_migs_trouble(&gpu->migs));
}

static bool needs_release(const struct nvidia_gpu *gpu)
{
	return gpu->claim && gpu->vacant && !gpu->released;
}

static bool needs_attach(const struct nvidia_gpu *gpu)
{
	return !gpu->claim && gpu->altered;
}

/* A question, and about whom. */
struct question {
	bool (*needs)(const struct nvidia_gpu *gpu); /* NULL: as add_topology() says */
	enum nvml_verb verb;
	bool silent; /* about silent ones, or the others */
	bool alone;  /* about one of them                */
};

/* Add those that need it, as soon as they may be asked. */
static bool add(const struct nvidia_case *c, const struct question *question,
		struct nvidia_step *step)
{
	for (size_t i = 0; i < c->gpus->len; i++) {
		const struct nvidia_gpu *gpu = &c->gpus->items[i];
		uint64_t from_ms = gpu->ask_ms > c->ask_ms ? gpu->ask_ms : c->ask_ms;

		if (!question->needs(gpu) || gpu->silent != question->silent ||
		    (question->alone && step->asked.len > 0))
			continue;
		if (from_ms <= c->now_ms)
			json_strs_add(&step->asked, gpu->address);
		else if (from_ms < step->again_ms)
			step->again_ms = from_ms;
	}
	return step->asked.len > 0;
}

/* All that are well, if there is one whose place is not known. */
static bool add_topology(const struct nvidia_case *c, struct nvidia_step *step)
{
	bool all_placed = true;

	for (size_t i = 0; i < c->gpus->len; i++) {
		const struct nvidia_gpu *gpu = &c->gpus->items[i];

		if (!gpu->looked || gpu->trouble || gpu->claim || gpu->altered)
			continue;
		json_strs_add(&step->asked, gpu->address);
		all_placed = all_placed && gpu->placed;
	}
	if (step->asked.len > 1 && !all_placed && c->ask_ms <= c->now_ms)
		return true;
	if (step->asked.len > 1 && !all_placed && c->ask_ms < step->again_ms)
		step->again_ms = c->ask_ms;
	json_strs_done(&step->asked);
	return false;
}

static void plan_question(const struct nvidia_case *c, struct nvidia_step *step)
{
	static const struct question rows[] = {
		{ needs_look, NVML_ASK_INVENTORY, false, false },
		{ needs_release, NVML_ASK_RELEASE, false, true },
		{ needs_attach, NVML_ASK_ATTACH, false, true },
		{ needs_probe, NVML_ASK_PROBE, false, false },
		{ NULL, NVML_ASK_TOPOLOGY, false, false },
		{ needs_look, NVML_ASK_INVENTORY, true, true },
		{ needs_release, NVML_ASK_RELEASE, true, true },
		{ needs_attach, NVML_ASK_ATTACH, true, true },
		{ needs_probe, NVML_ASK_PROBE, true, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !step->ask; i++) {
		if (rows[i].verb == NVML_ASK_ATTACH && c->no_attach)
			continue;
		step->ask = rows[i].needs ? add(c, &rows[i], step) : add_topology(c, step);
		step->verb = rows[i].verb;
	}
}

/* A watch goes on while it has all that it should; what it has lost, it has dropped itself. One
 * of a GPU that a claim takes has its device node open, so it ends at once. */
static void plan_watch(const struct nvidia_case *c, struct nvidia_step *step)
{
	bool has_all = c->watches;

	for (size_t i = 0; i < c->gpus->len; i++) {
		const struct nvidia_gpu *gpu = &c->gpus->items[i];

		if (gpu->claim && c->watches && json_strs_has(c->watched, gpu->address))
			step->end_watch = true;
		if (gpu->unwatched || gpu->claim || gpu->altered)
			continue;
		json_strs_add(&step->watched, gpu->address);
		has_all = has_all && json_strs_has(c->watched, gpu->address);
	}
	if ((has_all && !step->end_watch) || c->no_watch || step->watched.len == 0)
		return;
	if (c->watch_ms <= c->now_ms || step->end_watch)
		step->watch = true;
	else if (c->watch_ms < step->again_ms)
		step->again_ms = c->watch_ms;
}

void nvidia_plan(const struct nvidia_case *c, struct nvidia_step *ret_step)
{
	*ret_step = (struct nvidia_step){ .again_ms = UINT64_MAX };
	if (!c->asks)
		plan_question(c, ret_step);
	plan_watch(c, ret_step);
}

void nvidia_step_done(struct nvidia_step *step)
{
	json_strs_done(&step->asked);
	json_strs_done(&step->watched);
}
