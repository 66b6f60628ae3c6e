#include "agent/generic/pre_open.h"

#include <stdlib.h>

#include "agent/node/this_node.h"
#include "agent/process/helper_place.h"
#include "agent/task/task.h"
#include "agent/task/task_line.h"
#include "api/json_map.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"

/* One node. */
struct opening {
	struct pre_open *opens;
	char *path;
	struct task *task;         /* NULL: none is under way            */
	char *trouble;             /* NULL: it has been opened           */
	bool tried;                /* an attempt has come to an end      */
	struct clock_timer *timer; /* the next attempt */
};

struct pre_open {
	const struct this_node *node;
	void (*changed)(void *arg);
	void *arg;
	struct map *openings; /* by path */
};

/* Why it cannot be opened; NULL: it has been. */
static void set_trouble(struct opening *opening, const char *why)
{
	free(opening->trouble);
	opening->trouble = why ? xasprintf("%s cannot be opened: %s", opening->path, why) : NULL;
	opening->tried = true;
}

/* @outcome: NULL: it is stuck. */
static void on_end(void *arg, struct task_outcome *outcome)
{
	struct opening *opening = arg;
	struct pre_open *opens = opening->opens;
	auto_free char *stuck = NULL;

	if (!outcome) {
		stuck = xasprintf(
			"helper (pid %d) is still waiting for the kernel; it is left to end by "
			"itself",
			task_pid(opening->task));
		set_trouble(opening, stuck);
	} else if (outcome->result == TASK_DONE) {
		opening->task = NULL;
		set_trouble(opening, NULL);
	} else {
		opening->task = NULL;
		set_trouble(opening, outcome->message);
		clock_timer_start(opens->node->clock, opening->timer, PRE_OPEN_RETRY_MS);
	}
	opens->changed(opens->arg);
}

/* The kernel came back after all; how it went is for the next attempt. */
static void on_gone(void *arg)
{
	struct opening *opening = arg;

	opening->task = NULL;
	clock_timer_start(opening->opens->node->clock, opening->timer, 0);
}

static void begin(struct opening *opening)
{
	const struct this_node *node = opening->opens->node;
	const struct helper_place place = { .path = node->helper.path,
					    .dev_root = node->helper.dev_root,
					    .metrics = node->metrics };
	struct json_strs words = { 0 };
	struct err err = { 0 };

	json_strs_add(&words, opening->path);
	opening->task = task_start(&(struct task_spec){ .loop = node->loop,
							.helper = &place,
							.deadline_ms = PRE_OPEN_DEADLINE_MS,
							.is_logged = true,
							.verb = "open",
							.key = opening->path,
							.words = &words,
							.on_end = on_end,
							.on_gone = on_gone,
							.arg = opening },
				   &err);
	json_strs_done(&words);
	if (opening->task)
		return;
	set_trouble(opening, err.msg);
	clock_timer_start(node->clock, opening->timer, PRE_OPEN_RETRY_MS);
}

static void on_due(void *arg)
{
	begin(arg);
}

bool pre_open_untried(const struct pre_open *opens, const char *path)
{
	const struct opening *opening = map_get(opens->openings, path);

	return !opening || !opening->tried;
}

const char *pre_open_trouble(struct pre_open *opens, const char *path)
{
	struct opening *opening = map_get(opens->openings, path);

	if (opening)
		return opening->trouble;
	opening = xcalloc(1, sizeof(*opening));
	opening->opens = opens;
	opening->path = xstrdup(path);
	opening->trouble = xasprintf("%s is being opened", path);
	opening->timer = clock_timer_new(opens->node->clock, on_due, opening);
	map_set(opens->openings, path, opening);
	begin(opening);
	return opening->trouble;
}

struct pre_open *pre_open_new(const struct this_node *node, void (*changed)(void *arg), void *arg)
{
	struct pre_open *opens = xcalloc(1, sizeof(*opens));

	opens->node = node;
	opens->changed = changed;
	opens->arg = arg;
	opens->openings = map_new();
	return opens;
}

struct pre_open *pre_open_free(struct pre_open *opens)
{
	size_t cursor = 0;
	void *item = NULL;

	if (!opens)
		return NULL;
	while (map_next(opens->openings, &cursor, NULL, &item)) {
		struct opening *opening = item;

		task_abandon(opening->task);
		clock_timer_free(opens->node->clock, opening->timer);
		free(opening->path);
		free(opening->trouble);
		free(opening);
	}
	map_free(opens->openings);
	free(opens);
	return NULL;
}
