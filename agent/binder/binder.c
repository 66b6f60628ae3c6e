#include "agent/binder/binder.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/inventory/limits.h"
#include "agent/task/task.h"
#include "api/json_map.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "kube/metrics.h"

/* --- the command line ------------------------------------------------------------------------- */

static void add_word(struct json_strs *words, const char *key, const char *value)
{
	if (value)
		*array_add(words) = xasprintf("%s=%s", key, value);
}

/* Append what goes with the verb to @options, and the functions to @words. What the job does not
 * know has no word: the helper tells "none" and "not known" apart by that. */
static void binder_words(const struct binder_job *job, struct json_strs *options,
			 struct json_strs *words)
{
	json_strs_add(options, "--group");
	json_strs_add(options, job->group ? job->group : "-");
	for (size_t i = 0; i < job->len; i++) {
		const struct binder_function *function = &job->items[i];

		add_word(words, "address", function->address);
		add_word(words, "id", function->id);
		add_word(words, "serial", function->serial);
		add_word(words, "identity", function->identity);
		add_word(words, "native", function->native);
		add_word(words, "driver", function->driver);
		add_word(words, "claim", function->claim);
		add_word(words, "uid", function->uid);
		add_word(words, "release", function->driverless ? "none" : NULL);
		add_word(words, "allow-unknown", function->allow_unknown ? "1" : NULL);
	}
}

/* --- log lines and metrics -------------------------------------------------------------------- */

struct binder_note {
	struct metric *transitions;
	struct metric *seconds;
	struct metric *running;
	struct metric *stuck;
	struct metric *oldest;
};

/* Which transition; borrowed. */
struct binder_noted {
	enum binder_verb verb;
	const char *group; /* NULL: none */
	const struct json_strs *addresses;
};

enum { FUNCTIONS_MAX = 240 }; /* bytes of addresses in a log line */

static const struct metric_desc transitions_desc = {
	.name = "hostdev_transitions_total",
	.help = "Binds and releases of IOMMU groups, and plans of them, by verb and result.",
	.type = METRIC_COUNTER,
	.labels = { "verb", "result" },
};

static const struct metric_desc seconds_desc = {
	.name = "hostdev_transition_seconds",
	.help = "Duration of the helper that binds or releases an IOMMU group.",
	.type = METRIC_SECONDS,
	.labels = { "verb" },
	.buckets_ms = { 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 15000, 60000 },
};

static const struct metric_desc running_desc = {
	.name = "hostdev_transitions_running",
	.help = "Helpers that bind or release an IOMMU group now, including stuck ones.",
	.type = METRIC_GAUGE,
};

static const struct metric_desc stuck_desc = {
	.name = "hostdev_transitions_stuck",
	.help = "Helpers that bind or release an IOMMU group and are past their deadline.",
	.type = METRIC_GAUGE,
};

static const struct metric_desc oldest_desc = {
	.name = "hostdev_transitions_oldest_start_timestamp_seconds",
	.help = "Unix time at which the oldest running bind or release started; 0 if none runs.",
	.type = METRIC_GAUGE,
};

/* What there can be, from the start. */
static void show(const struct binder_note *note, enum binder_verb verb)
{
	const char *text = binder_verb_text(verb);

	metric_show(note->seconds, &text);
	for (enum task_result result = TASK_DONE; result <= TASK_STUCK; result++)
		metric_show(note->transitions,
			    (const char *const[]){ text, task_result_text(result) });
}

/* @metrics may be NULL. */
static void binder_note_init(struct binder_note *note, struct metrics *metrics)
{
	note->transitions = metrics_family(metrics, &transitions_desc);
	note->seconds = metrics_family(metrics, &seconds_desc);
	note->running = metrics_family(metrics, &running_desc);
	note->stuck = metrics_family(metrics, &stuck_desc);
	note->oldest = metrics_family(metrics, &oldest_desc);
	for (enum binder_verb verb = BINDER_BIND; verb <= BINDER_PLAN_RELEASE; verb++)
		show(note, verb);
}

/* What is under way now: so many helpers, so many of them stuck, the oldest for @age_ms (0:
 * none). */
static void binder_note_running(const struct binder_note *note, size_t running, size_t stuck,
				uint64_t age_ms)
{
	metric_set(note->running, (int64_t)running, NULL);
	metric_set(note->stuck, (int64_t)stuck, NULL);
	metric_set(note->oldest, running > 0 ? (timefmt_wall_ms() - (int64_t)age_ms) / 1000 : 0,
		   NULL);
}

static void add_addresses(struct str *out, const struct json_strs *addresses)
{
	for (size_t i = 0; i < addresses->len && out->len <= FUNCTIONS_MAX; i++) {
		if (i > 0)
			str_add_char(out, ',');
		str_add(out, addresses->items[i]);
	}
	str_cut(out, FUNCTIONS_MAX);
}

static bool is_plan(enum binder_verb verb)
{
	return verb == BINDER_PLAN_BIND || verb == BINDER_PLAN_RELEASE;
}

static enum log_level level_of(const struct binder_noted *what, enum task_result result)
{
	if (is_plan(what->verb))
		return LOG_DEBUG;
	/* Tried again every few seconds: who waits for it tells it once. */
	if (result == TASK_HELD || result == TASK_BUSY)
		return LOG_DEBUG;
	return result == TASK_STUCK ? LOG_WARN : LOG_INFO;
}

static void add_text(struct log_field *fields, size_t *n, const char *key, const char *text)
{
	if (text && *text)
		fields[(*n)++] = log_str(key, text);
}

static void log_end(const struct binder_noted *what, const struct binder_outcome *outcome)
{
	auto_str struct str functions = STR_INIT;
	struct log_field fields[13] = { 0 };
	size_t n = 0;
	const struct task_outcome *task = &outcome->task;

	add_addresses(&functions, what->addresses);
	fields[n++] = log_str("verb", binder_verb_text(what->verb));
	fields[n++] = log_str("group", what->group);
	fields[n++] = log_str("functions", str_cstr(&functions));
	fields[n++] = log_str("result", task_result_text(task->result));
	fields[n++] = log_str("reason", task->reason);
	fields[n++] = log_int("took_ms", outcome->took_ms);
	fields[n++] = log_int("helper_us", task->helper_us);
	fields[n++] = log_int("kernel_us", task->kernel_us);
	add_text(fields, &n, "step", task->step);
	add_text(fields, &n, "address", task->address);
	add_text(fields, &n, "errno", task->error_name);
	add_text(fields, &n, "message", task->message);
	log_write(level_of(what, task->result),
		  task->result == TASK_STUCK ? "transition is stuck" : "transition ended", fields);
}

/* A transition ended with @outcome. Plans appear in debug lines only. A stuck one is measured when
 * it has ended. */
static void binder_note_end(const struct binder_note *note, const struct binder_noted *what,
			    const struct binder_outcome *outcome)
{
	const char *verb = binder_verb_text(what->verb);

	metric_count(note->transitions, verb, task_result_text(outcome->task.result));
	if (outcome->task.result != TASK_STUCK)
		metric_observe(note->seconds, outcome->took_ms, (const char *const[]){ verb });
	log_end(what, outcome);
}

/* The helper of a transition that was stuck has ended, @took_ms after its start. */
static void binder_note_gone(const struct binder_note *note, const struct binder_noted *what,
			     int pid, uint64_t took_ms)
{
	const char *verb = binder_verb_text(what->verb);

	metric_observe(note->seconds, took_ms, (const char *const[]){ verb });
	log_info("stuck transition ended", log_str("verb", verb), log_str("group", what->group),
		 log_int("pid", pid), log_int("took_ms", took_ms));
}

/* --- transitions ------------------------------------------------------------------------------ */

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
	/* Newest first, also those without a task */
	struct transition *transitions;
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

	struct task *task;             /* NULL: none could be started                           */
	struct binder_outcome outcome; /* so far; without a task, what it came to    */
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
	binder_outcome_done(&t->outcome);
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
	str_set(&binder->node_address, address);
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
static void end_transition(struct transition *t)
{
	struct binder *binder = t->binder;
	struct binder_noted what = noted(t);
	binder_end_fn *tell = t->end;
	void *arg = t->arg;
	struct binder_outcome came_to = t->outcome;

	t->outcome = (struct binder_outcome){ 0 };
	came_to.took_ms = t->task ? task_age_ms(t->task) : 0;
	came_to.ended_ms = uv_now(binder->loop);
	binder_note_end(&binder->note, &what, &came_to);
	if (came_to.task.result != TASK_STUCK) {
		leave(t);
		transition_free(t);
	}
	note_running(binder);
	tell(arg, &came_to);
	binder_outcome_done(&came_to);
}

/* --- lines that only a transition has --------------------------------------------------------- */

enum {
	ADDRESS_MAX = 64,
	DRIVER_MAX = 256,
	LINES_MAX = 8192, /* of a plan that are kept: some for each function */
};

/* A function as the helper reads it back at its end. */
struct function_line {
	char *kind;
	char *address;
	char *driver;
	char *override;
};

static const struct json_row line_map[] = {
	JSON_STR(struct function_line, kind, "kind", JSON_REQUIRED),
	JSON_STR(struct function_line, address, "address", JSON_OPTIONAL),
	JSON_STR(struct function_line, driver, "driver", JSON_OPTIONAL),
	JSON_STR(struct function_line, override, "override", JSON_OPTIONAL),
	JSON_END,
};

static void take_function(struct binder_seen_list *seen, const struct function_line *line)
{
	if (!line->address || !limit_is_address(line->address, ADDRESS_MAX) ||
	    seen->len >= BINDER_FUNCTIONS_MAX)
		return;
	*array_add(seen) = (struct binder_seen){
		.address = xstrdup(line->address),
		.driver = str_clean(line->driver, DRIVER_MAX),
		.override = str_clean(line->override, DRIVER_MAX),
	};
}

static void on_line(void *arg, const char *line, size_t len)
{
	struct transition *t = arg;
	struct function_line fields;

	if (json_map_parse(line_map, line, len, &fields, NULL) < 0)
		return;
	if (is_plan(t->verb) && t->outcome.lines.len < LINES_MAX)
		*array_add(&t->outcome.lines) = xstrndup(line, len);
	if (strcmp(fields.kind, "function") == 0)
		take_function(&t->outcome.seen, &fields);
	json_map_done(line_map, &fields);
}

/* --- the course of a transition --------------------------------------------------------------- */

static void on_late(void *arg)
{
	const struct transition *t = arg;
	struct binder *binder = t->binder;

	if (binder->on_late)
		binder->on_late(binder->arg, t->addresses.items[0]);
}

static struct task_outcome stuck_outcome(const struct transition *t)
{
	const char *step = task_step(t->task);
	const char *address = task_address(t->task);
	struct str message = STR_INIT;

	str_addf(&message, "hostdev-helper (pid %d) waits", task_pid(t->task));
	if (*step)
		str_addf(&message, " in step %s", step);
	if (*step && *address)
		str_addf(&message, " of %s", address);
	str_addf(&message,
		 " for %llu s; nothing else is started for its IOMMU group until it ends: free the "
		 "device from what uses it, or see the kernel's log for its driver",
		 (unsigned long long)(task_age_ms(t->task) / 1000));
	return (struct task_outcome){
		.result = TASK_STUCK,
		.reason = xstrdup("Stuck"),
		.message = str_detach(&message),
		.step = *step ? xstrdup(step) : NULL,
		.address = *address ? xstrdup(address) : NULL,
		.holder_pid = task_pid(t->task),
	};
}

static char *busy_message(int pid)
{
	return xasprintf("another hostdev-helper (pid %d) moves the IOMMU group", pid);
}

static struct task_outcome busy_outcome(int pid)
{
	return (struct task_outcome){
		.result = TASK_BUSY,
		.reason = xstrdup("Busy"),
		.message = busy_message(pid),
		.holder_pid = pid,
	};
}

static struct task_outcome failed_outcome(const struct transition *t, const struct err *err)
{
	return (struct task_outcome){
		.result = TASK_FAILED,
		.reason = xstrdup("HelperFailed"),
		.message = xasprintf("hostdev-helper %s: %s", binder_verb_text(t->verb), err->msg),
	};
}

static void set_message(struct task_outcome *outcome, char *message)
{
	free(outcome->message);
	outcome->message = message;
}

static void on_end(void *arg, struct task_outcome *outcome)
{
	struct transition *t = arg;
	struct task_outcome *task = &t->outcome.task;

	if (outcome) {
		*task = *outcome;
		*outcome = (struct task_outcome){ 0 };
	} else {
		*task = stuck_outcome(t);
	}
	if (task->result == TASK_BUSY && task->holder_pid)
		set_message(task, busy_message(task->holder_pid));
	if (task->died)
		set_message(task,
			    xasprintf("%s; what it said on standard error is in the log of the "
				      "agent",
				      task->message));
	end_transition(t);
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
		end_transition(oldest);
}

static struct transition *new_transition(struct binder *binder, const struct binder_job *job)
{
	struct transition *t = xcalloc(1, sizeof(*t));

	t->binder = binder;
	t->verb = job->verb;
	t->group = xstrdup_or_null(job->group);
	for (size_t i = 0; i < job->len; i++)
		json_strs_add(&t->addresses, job->items[i].address);
	t->next = binder->transitions;
	binder->transitions = t;
	return t;
}

/* Start the helper of @t; without one, t->outcome says why. */
static void start_task(struct transition *t, const struct binder_job *job)
{
	struct binder *binder = t->binder;
	/* A group is a key as its functions are. */
	auto_free char *group = job->group ? xasprintf("group %s", job->group) : NULL;
	const struct task *other;
	struct json_strs options = { 0 };
	struct json_strs words = { 0 };
	struct json_pairs claims = { 0 };
	struct err err = { 0 };
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
	for (size_t i = 0; i < job->len && !job->on_demand; i++)
		json_pairs_set(&claims, job->items[i].claim, job->items[i].uid);
	other = tasks_find_any(binder->tasks, spec.key, spec.keys);
	if (other)
		t->outcome.task = busy_outcome(task_pid(other));
	else
		t->task = task_start(&spec, &err);
	if (err.code < 0)
		t->outcome.task = failed_outcome(t, &err);
	json_strs_done(&options);
	json_strs_done(&words);
	json_pairs_done(&claims);
}

void binder_start(struct binder *binder, const struct binder_job *job, binder_end_fn *end,
		  void *arg)
{
	struct transition *t = new_transition(binder, job);
	struct err err = { 0 };

	t->end = end;
	t->arg = arg;
	if (job->len > BINDER_FUNCTIONS_MAX) {
		err_set(&err, ERR_INVALID, -E2BIG, "a group of %zu functions, where %d is the most",
			job->len, BINDER_FUNCTIONS_MAX);
		t->outcome.task = failed_outcome(t, &err);
	} else {
		start_task(t, job);
	}
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
			.step = t->task ? task_step(t->task) : "",
			.address = t->task ? task_address(t->task) : "",
			.age_ms = t->task ? task_age_ms(t->task) : 0,
			.late = t->task && task_is_late(t->task),
		};
	return t->task && task_is_stuck(t->task) ? BINDER_IS_STUCK : BINDER_RUNNING;
}
