#include "agent/binder/binder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/binder/binder_line.h"
#include "agent/binder/binder_note.h"
#include "agent/binder/binder_words.h"
#include "agent/task/task.h"
#include "agent/task/task_line.h"
#include "base/err.h"
#include "base/mem.h"

struct transition;

struct binder {
	struct uv_loop_s *loop;
	struct binder_options options;
	char *node_address;
	binder_free_fn *on_free;
	binder_late_fn *on_late; /* NULL: no callback */
	void *arg;
	struct binder_note note;

	struct tasks *tasks; /* by group and functions; the arg of each is a transition */
	struct transition
		*transitions; /* newest first, also those without a task                 */
	uv_timer_t unstarted; /* tells of transitions without a task from the loop       */
};

/* A running job. It is removed from the binder before the callback reports its end, so the callback
 * may start the next job or free the binder. A stuck job stays until its helper has ended. */
struct transition {
	struct binder *binder;
	struct transition *next;
	enum binder_verb verb;
	char *group;
	struct json_strs addresses;
	binder_end_fn *end;
	void *arg;

	struct task *task;  /* NULL: none could be started */
	struct err failure; /* why there is none           */
	struct binder_lines lines;
};

struct binder *binder_new(struct uv_loop_s *loop, const struct binder_options *options,
			  binder_free_fn *on_free, void *arg)
{
	struct binder *binder = xcalloc(1, sizeof(*binder));

	binder->loop = loop;
	binder->options = *options;
	/* Its runs are metered with the binder's. */
	binder->options.helper.metrics = options->metrics;
	binder->on_free = on_free;
	binder->arg = arg;
	binder->tasks = tasks_new();
	binder_note_init(&binder->note, options->metrics);
	uv_timer_init(loop, &binder->unstarted);
	binder->unstarted.data = binder;
	return binder;
}

static void transition_free(struct transition *t)
{
	binder_lines_done(&t->lines);
	json_strs_done(&t->addresses);
	free(t->group);
	free(t);
}

static void on_closed(uv_handle_t *handle)
{
	struct binder *binder = handle->data;

	free(binder->node_address);
	free(binder);
}

struct binder *binder_free(struct binder *binder)
{
	if (!binder)
		return NULL;
	binder->tasks = tasks_free(binder->tasks);
	for (struct transition *t = binder->transitions, *next; t; t = next) {
		next = t->next;
		transition_free(t);
	}
	uv_close((uv_handle_t *)&binder->unstarted, on_closed);
	return NULL;
}

void binder_set_late(struct binder *binder, binder_late_fn *on_late)
{
	binder->on_late = on_late;
}

void binder_set_node_address(struct binder *binder, const char *address)
{
	free(binder->node_address);
	binder->node_address = xstrdup_or_null(address);
}

/* How many helpers are under way has changed, or how many of them are stuck. */
static void note_running(const struct binder *binder)
{
	const struct tasks_count count = tasks_count(binder->tasks);

	binder_note_running(&binder->note, count.running, count.stuck, count.oldest_ms);
}

static struct binder_noted noted(const struct transition *t)
{
	return (struct binder_noted){
		.verb = t->verb,
		.group = t->group,
		.addresses = &t->addresses,
	};
}

static void leave(struct transition *t)
{
	struct transition **at = &t->binder->transitions;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
}

/* Tell what @t came to. It is gone afterwards, unless it is stuck; the binder may be. */
static void end_transition(struct transition *t, const struct err *err)
{
	struct binder *binder = t->binder;
	struct binder_noted what = noted(t);
	binder_end_fn *tell = t->end;
	void *arg = t->arg;
	struct binder_outcome outcome;

	binder_lines_end(&t->lines, t->task ? task_pid(t->task) : 0,
			 t->task ? task_age_ms(t->task) : 0, err->code, err, &outcome);
	outcome.ended_ms = uv_now(binder->loop);
	binder_note_end(&binder->note, &what, &outcome);
	if (!t->task || !task_is_stuck(t->task)) {
		leave(t);
		transition_free(t);
	}
	note_running(binder);
	tell(arg, &outcome);
	binder_outcome_done(&outcome);
}

static void on_line(void *arg, const char *line, size_t len)
{
	struct transition *t = arg;

	binder_lines_take(&t->lines, line, len);
}

static void on_late(void *arg)
{
	const struct transition *t = arg;
	struct binder *binder = t->binder;

	if (binder->on_late)
		binder->on_late(binder->arg, t->addresses.items[0]);
}

static void on_end(void *arg, struct task_outcome *outcome)
{
	struct err err = { 0 };

	if (!outcome)
		err_set(&err, ERR_STUCK, -ETIMEDOUT, "the helper waits");
	else if (outcome->exit)
		err_set(&err, ERR_RETRY, -EPIPE, "%s", outcome->exit);
	end_transition(arg, &err);
}

static void on_gone(void *arg)
{
	struct transition *t = arg;
	struct binder *binder = t->binder;
	struct binder_noted what = noted(t);
	auto_free char *group = xstrdup(t->group ? t->group : "");

	binder_note_gone(&binder->note, &what, task_pid(t->task), task_age_ms(t->task));
	leave(t);
	transition_free(t);
	note_running(binder);
	if (binder->on_free)
		binder->on_free(binder->arg, group);
}

/* End one transition per call, because the callback may free the binder. The timer is started again
 * first, for the others. */
static void on_unstarted(uv_timer_t *timer)
{
	struct binder *binder = timer->data;
	struct transition *oldest = NULL;
	size_t n = 0;

	for (struct transition *t = binder->transitions; t; t = t->next) {
		if (t->task)
			continue;
		oldest = t;
		n++;
	}
	if (n > 1)
		uv_timer_start(timer, on_unstarted, 0, 0);
	if (oldest)
		end_transition(oldest, &oldest->failure);
}

/* A group is a key as its functions are. NULL of none; the caller frees. */
static char *group_key(const char *group)
{
	return group ? xasprintf("group %s", group) : NULL;
}

/* The task that already moves the group of @job or one of its functions; NULL: none. */
static const struct task *find_other(const struct binder *binder, const struct binder_job *job)
{
	auto_free char *group = group_key(job->group);
	const struct task *other = group ? tasks_find(binder->tasks, group) : NULL;

	for (size_t i = 0; !other && i < job->len; i++)
		other = tasks_find(binder->tasks, job->items[i].address);
	return other;
}

static struct transition *new_transition(struct binder *binder, const struct binder_job *job)
{
	struct transition *t = xcalloc(1, sizeof(*t));

	t->binder = binder;
	t->verb = job->verb;
	t->group = xstrdup_or_null(job->group);
	binder_lines_init(&t->lines, job->verb);
	for (size_t i = 0; i < job->len; i++)
		json_strs_add(&t->addresses, job->items[i].address);
	t->next = binder->transitions;
	binder->transitions = t;
	return t;
}

/* Start the helper of @t; without one, t->failure says why. */
static void start_task(struct transition *t, const struct binder_job *job)
{
	struct binder *binder = t->binder;
	auto_free char *group = group_key(job->group);
	struct json_strs options = { 0 };
	struct json_strs words = { 0 };
	struct json_pairs claims = { 0 };
	struct task_spec spec = {
		.loop = binder->loop,
		.set = binder->tasks,
		.helper = &binder->options.helper,
		.node_address = binder->node_address,
		.proc = binder->options.proc,
		.deadline_ms = binder->options.deadline_ms,
		.deadline_of_step = true,
		.cancellable = job->verb == BINDER_BIND,
		.is_logged = true,
		.verb = binder_verb_text(job->verb),
		.key = group ? group : t->addresses.items[0],
		.keys = &t->addresses,
		.options = &options,
		.words = &words,
		.objects = &claims,
		.on_line = on_line,
		.on_late = on_late,
		.on_end = on_end,
		.on_gone = on_gone,
		.arg = t,
	};

	binder_words(job, &options, &words);
	for (size_t i = 0; i < job->len; i++)
		json_pairs_set(&claims, job->items[i].claim, job->items[i].uid);
	t->task = task_start(&spec, &t->failure);
	json_strs_done(&options);
	json_strs_done(&words);
	json_pairs_done(&claims);
}

void binder_start(struct binder *binder, const struct binder_job *job, binder_end_fn *end,
		  void *arg)
{
	const struct task *other = find_other(binder, job);
	struct transition *t = new_transition(binder, job);

	t->end = end;
	t->arg = arg;
	if (other)
		binder_lines_busy(&t->lines, task_pid(other));
	else if (job->len > BINDER_FUNCTIONS_MAX)
		err_set(&t->failure, ERR_INVALID, -E2BIG,
			"a group of %zu functions, where %d is the most", job->len,
			BINDER_FUNCTIONS_MAX);
	else
		start_task(t, job);
	note_running(binder);
	if (!t->task)
		uv_timer_start(&binder->unstarted, on_unstarted, 0, 0);
}

void binder_cancel(struct binder *binder, const char *claim, const char *uid)
{
	tasks_cancel(binder->tasks, claim, uid);
}

/* What moves @address; one without a task is only about to be told so. */
static const struct transition *find(const struct binder *binder, const char *address)
{
	const struct task *task = tasks_find(binder->tasks, address);
	const struct transition *t = binder->transitions;

	if (task)
		return task_arg(task);
	while (t && (t->task || !json_strs_has(&t->addresses, address)))
		t = t->next;
	return t;
}

enum binder_state binder_look(const struct binder *binder, const char *address,
			      struct binder_trouble *ret_trouble)
{
	const struct transition *t = find(binder, address);

	if (!t)
		return BINDER_IDLE;
	if (ret_trouble)
		*ret_trouble = (struct binder_trouble){
			.pid = t->task ? task_pid(t->task) : 0,
			.verb = binder_verb_text(t->verb),
			.step = t->lines.step ? t->lines.step : "",
			.address = t->lines.address ? t->lines.address : "",
			.age_ms = t->task ? task_age_ms(t->task) : 0,
			.late = t->task && task_is_late(t->task),
		};
	return t->task && task_is_stuck(t->task) ? BINDER_IS_STUCK : BINDER_RUNNING;
}
