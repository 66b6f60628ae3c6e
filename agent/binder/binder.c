#include "agent/binder/binder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/binder/binder_line.h"
#include "agent/binder/binder_note.h"
#include "agent/binder/binder_words.h"
#include "agent/process/helper_run.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/timefmt.h"

/* As long as it only looks, a busy machine makes a helper slow, not the kernel. */
enum { LOOK_DEADLINES = 4 };

struct task;

struct binder {
	struct uv_loop_s *loop;
	struct binder_options options;
	char *node_address;
	binder_free_fn *on_free;
	binder_late_fn *on_late; /* NULL: nobody asks */
	void *arg;
	struct binder_note note;

	struct task *tasks;     /* newest first                                  */
	struct map *by_address; /* the task that moves a function                */
	uv_timer_t unstarted;   /* tells of tasks without a helper from the loop */
};

/* A job under way. It is gone from the binder before anybody hears of its end, so that whoever hears
 * may start the next one or free the binder; but a stuck one stays until its helper has ended. */
struct task {
	struct binder *binder;
	struct task *next;
	enum binder_verb verb;
	char *group;
	struct json_strs addresses;
	struct json_pairs claims; /* name -> uid */
	binder_end_fn *end;
	void *arg;

	struct helper_run *run; /* NULL: none could be started      */
	int pid;                /* of the helper                    */
	struct err failure;     /* why there is none                */
	bool late;              /* its step takes longer than the deadline */
	bool stuck;             /* @end was told so                 */
	uint64_t began_ms;      /* monotonic                        */
	struct binder_lines lines;
};

struct binder *binder_new(struct uv_loop_s *loop, const struct binder_options *options,
			  binder_free_fn *on_free, void *arg)
{
	struct binder *binder = xcalloc(1, sizeof(*binder));

	binder->loop = loop;
	binder->options = *options;
	binder->on_free = on_free;
	binder->arg = arg;
	binder->by_address = map_new();
	binder_note_init(&binder->note, options->metrics);
	uv_timer_init(loop, &binder->unstarted);
	binder->unstarted.data = binder;
	return binder;
}

static void task_free(struct task *task)
{
	binder_lines_done(&task->lines);
	json_strs_done(&task->addresses);
	json_pairs_done(&task->claims);
	free(task->group);
	free(task);
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
	for (struct task *task = binder->tasks, *next; task; task = next) {
		next = task->next;
		helper_run_abandon(task->run);
		task_free(task);
	}
	binder->by_address = map_free(binder->by_address);
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

static uint64_t task_age_ms(const struct task *task)
{
	return timefmt_now_ms() - task->began_ms;
}

/* How many helpers are under way has changed, or how many of them are stuck. */
static void note_running(const struct binder *binder)
{
	size_t running = 0;
	size_t stuck = 0;
	uint64_t age_ms = 0;

	/* The last one is the oldest. */
	for (const struct task *task = binder->tasks; task; task = task->next) {
		if (!task->run)
			continue;
		running++;
		stuck += task->stuck;
		age_ms = task_age_ms(task);
	}
	binder_note_running(&binder->note, running, stuck, age_ms);
}

static struct binder_noted task_noted(const struct task *task)
{
	return (struct binder_noted){
		.verb = task->verb,
		.group = task->group,
		.addresses = &task->addresses,
	};
}

/* The functions of @task, and its group, are idle from now on. */
static void task_leave(struct task *task)
{
	struct binder *binder = task->binder;
	struct task **at = &binder->tasks;

	for (size_t i = 0; i < task->addresses.len; i++) {
		const char *address = task->addresses.items[i];

		if (map_get(binder->by_address, address) == task)
			map_remove(binder->by_address, address);
	}
	while (*at != task)
		at = &(*at)->next;
	*at = task->next;
}

/* Tell what @task came to. It is gone afterwards, unless it is stuck; the binder may be. */
static void task_end(struct task *task, int result, const struct err *err)
{
	struct binder *binder = task->binder;
	struct binder_noted what = task_noted(task);
	binder_end_fn *end = task->end;
	void *arg = task->arg;
	struct binder_outcome outcome;

	binder_lines_end(&task->lines, task->pid, task_age_ms(task), result, err, &outcome);
	outcome.ended_ms = uv_now(binder->loop);
	binder_note_end(&binder->note, &what, &outcome);
	task->stuck = outcome.result == BINDER_STUCK;
	if (!task->stuck) {
		/* It has told its end and only does not exit: nobody waits for that. */
		if (result < 0 && err->kind == ERR_STUCK)
			task->run = helper_run_abandon(task->run);
		task_leave(task);
		task_free(task);
	}
	note_running(binder);
	end(arg, &outcome);
	binder_outcome_done(&outcome);
}

static uint64_t task_deadline_ms(const struct task *task)
{
	uint64_t ms = task->binder->options.deadline_ms;

	return binder_lines_looks(&task->lines) ? ms * LOOK_DEADLINES : ms;
}

/* What a helper says is progress: the deadline is that of its step. */
static int on_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct task *task = arg;

	(void)err;
	task->late = false;
	binder_lines_take(&task->lines, line, len);
	helper_run_extend(task->run, task_deadline_ms(task));
	return 0;
}

static void on_late(void *arg)
{
	struct task *task = arg;
	struct binder *binder = task->binder;

	task->late = true;
	if (binder->on_late)
		binder->on_late(binder->arg, task->addresses.items[0]);
}

static void on_end(void *arg, int result, const struct err *err)
{
	task_end(arg, result, err);
}

static void on_gone(void *arg, struct helper_run *run)
{
	struct task *task = arg;
	struct binder *binder = task->binder;
	struct binder_noted what = task_noted(task);
	auto_free char *group = xstrdup(task->group ? task->group : "");

	(void)run;
	binder_note_gone(&binder->note, &what, task->pid, task_age_ms(task));
	task_leave(task);
	task_free(task);
	note_running(binder);
	if (binder->on_free)
		binder->on_free(binder->arg, group);
}

/* One task at a time: what is told may free the binder. The timer is on again before, for the
 * others. */
static void on_unstarted(uv_timer_t *timer)
{
	struct binder *binder = timer->data;
	struct task *oldest = NULL;
	size_t n = 0;

	for (struct task *task = binder->tasks; task; task = task->next) {
		if (task->run)
			continue;
		oldest = task;
		n++;
	}
	if (n > 1)
		uv_timer_start(timer, on_unstarted, 0, 0);
	if (oldest)
		task_end(oldest, oldest->failure.code, &oldest->failure);
}

/* Who moves the group of @job, or a function of it, already; NULL if nobody. */
static const struct task *task_in_the_way(const struct binder *binder, const struct binder_job *job)
{
	for (const struct task *task = binder->tasks; job->group && task; task = task->next) {
		if (task->run && task->group && strcmp(task->group, job->group) == 0)
			return task;
	}
	for (size_t i = 0; i < job->len; i++) {
		const struct task *task = map_get(binder->by_address, job->items[i].address);

		if (task && task->run)
			return task;
	}
	return NULL;
}

static struct task *task_new(struct binder *binder, const struct binder_job *job)
{
	struct task *task = xcalloc(1, sizeof(*task));
	const struct task *other;

	task->binder = binder;
	task->verb = job->verb;
	task->group = xstrdup_or_null(job->group);
	task->began_ms = timefmt_now_ms();
	binder_lines_init(&task->lines, job->verb);
	for (size_t i = 0; i < job->len; i++) {
		const char *address = job->items[i].address;

		json_strs_add(&task->addresses, address);
		json_pairs_set(&task->claims, job->items[i].claim, job->items[i].uid);
		/* One without a helper is only about to be told so. */
		other = map_get(binder->by_address, address);
		if (!other || !other->run)
			map_set(binder->by_address, address, task);
	}
	task->next = binder->tasks;
	binder->tasks = task;
	return task;
}

/* Start the helper of @task; without one, task->failure says why. */
static void task_start(struct task *task, const struct binder_job *job)
{
	struct binder *binder = task->binder;
	struct json_strs words = { 0 };
	auto_free const char **args = NULL;
	struct helper_spec spec = {
		.path = binder->options.helper.path,
		.deadline_ms = task_deadline_ms(task),
		.patience = HELPER_PATIENCE,
		.proc = binder->options.proc,
		.metrics = binder->options.metrics,
		.on_line = on_line,
		.on_end = on_end,
		.on_gone = on_gone,
		.on_late = on_late,
		.cancellable = job->verb == BINDER_BIND,
		.arg = task,
	};

	binder_words(&binder->options.helper, binder->node_address, job, &words);
	args = xcalloc(words.len + 1, sizeof(*args));
	for (size_t i = 0; i < words.len; i++)
		args[i] = words.items[i];
	spec.args = args;
	if (helper_run_start(binder->loop, &spec, &task->run, &task->failure) == 0)
		task->pid = helper_run_pid(task->run);
	json_strs_done(&words);
}

void binder_start(struct binder *binder, const struct binder_job *job, binder_end_fn *end,
		  void *arg)
{
	const struct task *other = task_in_the_way(binder, job);
	struct task *task = task_new(binder, job);

	task->end = end;
	task->arg = arg;
	if (other)
		binder_lines_busy(&task->lines, other->pid);
	else if (job->len > BINDER_FUNCTIONS_MAX)
		err_set(&task->failure, ERR_INVALID, -E2BIG,
			"a group of %zu functions, where %d is the most", job->len,
			BINDER_FUNCTIONS_MAX);
	else
		task_start(task, job);
	note_running(binder);
	if (!task->run)
		uv_timer_start(&binder->unstarted, on_unstarted, 0, 0);
}

void binder_cancel(struct binder *binder, const char *claim, const char *uid)
{
	for (struct task *task = binder->tasks; task; task = task->next) {
		const char *begun = json_pairs_get(&task->claims, claim);

		if (task->run && begun && (!uid || strcmp(begun, uid) != 0))
			helper_run_cancel(task->run);
	}
}

enum binder_state binder_look(const struct binder *binder, const char *address,
			      struct binder_trouble *ret_trouble)
{
	const struct task *task = map_get(binder->by_address, address);

	if (!task)
		return BINDER_IDLE;
	if (ret_trouble)
		*ret_trouble = (struct binder_trouble){
			.pid = task->pid,
			.verb = binder_verb_text(task->verb),
			.step = task->lines.step ? task->lines.step : "",
			.address = task->lines.address ? task->lines.address : "",
			.age_ms = task_age_ms(task),
			.late = task->late,
		};
	return task->stuck ? BINDER_IS_STUCK : BINDER_RUNNING;
}
