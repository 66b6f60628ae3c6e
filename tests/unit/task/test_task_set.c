/* task: tasks that exclude each other by their keys, that are cancelled, and whose steps have
 * deadlines of their own. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "agent/process/helper_place.h"
#include "agent/process/helper_run.h"
#include "agent/task/task.h"
#include "agent/task/task_line.h"
#include "api/json_map.h"
#include "api/json_values.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "unit/agent/fake_helper.h"

#define SAY(line)  "echo '" line "'\n"
#define STEP(step) SAY("{\"kind\":\"step\",\"step\":\"" step "\"}")
#define DONE       SAY("{\"kind\":\"end\",\"result\":\"Done\"}")
#define HANG       "read x <$gate\n"

struct bench;

/* Who waits for one task. */
struct owner {
	struct bench *bench;
	struct task *task; /* NULL: none runs */
	int ended;         /* also: is stuck */
	int gone;
	int late;
	struct task_outcome outcome;
	struct err err;
};

struct bench {
	struct fake_helper fake;
	struct tasks *set;
	bool frees_set; /* at the next callback */
	struct str lines;
	struct owner owners[3];
};

static void react(struct bench *b)
{
	uv_stop(&b->fake.loop);
	if (b->frees_set)
		b->set = tasks_free(b->set);
	b->frees_set = false;
}

static void on_end(void *arg, struct task_outcome *outcome)
{
	struct owner *owner = arg;

	owner->ended++;
	if (outcome) {
		owner->task = NULL;
		owner->outcome = *outcome;
		*outcome = (struct task_outcome){ 0 };
	}
	react(owner->bench);
}

static void on_gone(void *arg)
{
	struct owner *owner = arg;

	owner->gone++;
	owner->task = NULL;
	react(owner->bench);
}

static void on_late(void *arg)
{
	struct owner *owner = arg;

	assert_true(task_is_late(owner->task));
	owner->late++;
}

static void on_line(void *arg, const char *line, size_t len)
{
	struct owner *owner = arg;

	str_addf(&owner->bench->lines, "%.*s\n", (int)len, line);
}

static void bench_begin(struct bench *b, const char *body)
{
	fake_helper_init(&b->fake, body);
	b->set = tasks_new();
	for (size_t i = 0; i < ARRAY_LEN(b->owners); i++)
		b->owners[i].bench = b;
}

static void bench_close(struct bench *b)
{
	if (!b->fake.path)
		return;
	tasks_free(b->set);
	fake_helper_done(&b->fake);
	for (size_t i = 0; i < ARRAY_LEN(b->owners); i++)
		task_outcome_done(&b->owners[i].outcome);
	str_done(&b->lines);
}

SUITE_CLOSING(bench, struct bench, bench_close);

/* For the object "vm1" with the uid "1-2". */
static void start(struct owner *owner, const char *key, const char *other, bool cancellable)
{
	struct bench *b = owner->bench;
	const struct helper_place place = { .path = b->fake.path, .state_dir = "/state" };
	struct json_strs options = { 0 };
	struct json_strs words = { 0 };
	struct json_strs keys = { 0 };
	struct json_pairs objects = { 0 };

	json_strs_add(&options, "--group");
	json_strs_add(&options, "12");
	json_strs_add(&words, "a=1");
	if (other)
		json_strs_add(&keys, other);
	json_pairs_set(&objects, "vm1", "1-2");
	owner->task = task_start(&(struct task_spec){ .loop = &b->fake.loop,
						      .set = b->set,
						      .helper = &place,
						      .proc = b->fake.folder.path,
						      .deadline_ms = AMPLE_MS,
						      .deadline_of_step = true,
						      .cancellable = cancellable,
						      .is_logged = true,
						      .verb = "bind",
						      .key = key,
						      .keys = &keys,
						      .options = &options,
						      .words = &words,
						      .objects = &objects,
						      .on_line = on_line,
						      .on_late = on_late,
						      .on_end = on_end,
						      .on_gone = on_gone,
						      .arg = owner },
				 &owner->err);
	json_strs_done(&options);
	json_strs_done(&words);
	json_strs_done(&keys);
	json_pairs_done(&objects);
	assert_int_equal(owner->ended, 0);
}

static void run_until(struct bench *b, const int *count)
{
	while (!*count && uv_run(&b->fake.loop, UV_RUN_DEFAULT))
		;
	assert_int_equal(*count, 1);
}

static void run_until_line(struct bench *b, const char *text)
{
	while (!strstr(str_cstr(&b->lines), text))
		uv_run(&b->fake.loop, UV_RUN_ONCE);
}

static void get_stuck(struct owner *owner)
{
	run_until_line(owner->bench, "Unbind");
	while (!owner->ended)
		fake_helper_pass_look(&owner->bench->fake, &owner->ended);
	assert_true(task_is_stuck(owner->task));
}

static struct key_case {
	const char *name;
	const char *key;
	const char *other;
	bool stuck;
	bool busy;
} keys[] = {
	{ "one of the same key", "A", NULL, false, true },
	{ "one that has the key beside its own", "X", "A", false, true },
	{ "one whose key another has beside its own", "B", NULL, false, true },
	{ "one that shares what is beside", "X", "B", false, true },
	{ "one that is stuck has its keys still", "A", NULL, true, true },
	{ "one of other keys", "X", "Y", false, false },
};

static void keys_exclude(void **state)
{
	const struct key_case *c = suite_row(state);
	struct bench *b = *state;
	struct owner *first = &b->owners[0];
	struct owner *second = &b->owners[1];

	bench_begin(b, STEP("Unbind") HANG DONE);
	start(first, "A", "B", false);
	if (c->stuck)
		get_stuck(first);
	start(second, c->key, c->other, false);
	assert_int_equal(second->task == NULL, c->busy);
	assert_int_equal(tasks_count(b->set).running, c->busy ? 1 : 2);
	assert_int_equal(tasks_count(b->set).stuck, c->stuck);
	assert_ptr_equal(task_arg(tasks_find(b->set, "B")), first);
	if (c->busy) {
		auto_free char *pid = xasprintf("(pid %d)", task_pid(first->task));

		assert_int_equal(second->err.code, -EBUSY);
		assert_non_null(strstr(second->err.msg, pid));
	}
	fake_helper_open_gate(&b->fake);
	run_until(b, c->stuck ? &first->gone : &first->ended);
	assert_null(tasks_find(b->set, "A"));
	assert_null(tasks_find(b->set, "B"));
}

static void on_first_end(void *arg, struct task_outcome *outcome)
{
	struct bench *b = arg;

	(void)outcome;
	assert_null(tasks_find(b->set, "A"));
	start(&b->owners[1], "A", NULL, false);
}

static void who_is_told_can_start_the_next(void **state)
{
	struct bench *b = *state;
	const struct json_strs words = { 0 };
	struct helper_place place = { .state_dir = "/state" };

	bench_begin(b, DONE);
	place.path = b->fake.path;
	assert_non_null(task_start(&(struct task_spec){ .loop = &b->fake.loop,
							.set = b->set,
							.helper = &place,
							.deadline_ms = AMPLE_MS,
							.verb = "bind",
							.key = "A",
							.words = &words,
							.is_logged = true,
							.on_end = on_first_end,
							.on_gone = on_gone,
							.arg = b },
				   &b->owners[0].err));
	run_until(b, &b->owners[1].ended);
	assert_int_equal(b->owners[1].outcome.result, TASK_DONE);
}

static struct free_case {
	const char *name;
	bool stuck; /* reported as stuck */
	bool gone;  /* reported as ended after all */
} frees[] = {
	{ "at its end", false, false },
	{ "when it gets stuck", true, false },
	{ "when it has ended after all", true, true },
};

static void who_is_told_can_free_the_set(void **state)
{
	const struct free_case *c = suite_row(state);
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];
	struct owner *other = &b->owners[1];

	bench_begin(b, c->stuck ? STEP("Unbind") HANG DONE : DONE);
	start(owner, "A", NULL, false);
	b->frees_set = !c->gone;
	if (c->stuck) {
		run_until_line(b, "Unbind");
		while (!owner->ended)
			fake_helper_pass_look(&b->fake, &owner->ended);
	}
	if (c->gone) {
		start(other, "X", NULL, false);
		b->frees_set = true;
		assert_int_equal(kill(task_pid(owner->task), SIGKILL), 0); /* the other one stays */
		run_until(b, &owner->gone);
	}
	run_until(b, &owner->ended);
	assert_null(b->set);
	uv_run(&b->fake.loop, UV_RUN_NOWAIT);
	assert_int_equal(owner->gone, c->gone);
	assert_int_equal(other->ended, 0);
}

static struct cancel_case {
	const char *name;
	const char *object;
	const char *uid;
	bool cancellable;
	bool cancelled;
} cancels[] = {
	{ "its object is gone", "vm1", NULL, true, true },
	{ "another one has its name", "vm1", "1-3", true, true },
	{ "its object is there", "vm1", "1-2", true, false },
	{ "another object is gone", "vm2", NULL, true, false },
	{ "it cannot be cancelled", "vm1", NULL, false, false },
};

/* What is not cancelled has its standard input open, or none at all. */
static void cancels_match(void **state)
{
	const struct cancel_case *c = suite_row(state);
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];

	bench_begin(b, STEP("Unbind") "test -c /dev/stdin && exec <$gate\nread x\n" DONE);
	start(owner, "A", NULL, c->cancellable);
	run_until_line(b, "Unbind");
	tasks_cancel(b->set, c->object, c->uid);
	for (int i = 0; i < 20 && !owner->ended && !c->cancelled; i++) {
		uv_run(&b->fake.loop, UV_RUN_NOWAIT);
		(void)usleep(5000);
	}
	assert_int_equal(owner->ended, 0);
	if (!c->cancelled)
		return;
	run_until(b, &owner->ended);
	assert_int_equal(owner->outcome.result, TASK_DONE); /* and it is not stuck */
}

static void a_cancellable_one_is_told_so(void **state)
{
	struct bench *b = *state;
	auto_free char *words = NULL;

	bench_begin(b, "printf '%s|' \"$@\" >$here/words\n" DONE);
	start(&b->owners[0], "A", NULL, true);
	run_until(b, &b->owners[0].ended);
	words = fake_helper_wrote(&b->fake, "words");
	assert_string_equal(words, "bind|--group|12|--state-dir|/state|--cancel-fd|0|a=1|");
}

/* A line of the next step says that this one was only late. */
static void a_late_step_is_told_and_forgotten(void **state)
{
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];

	bench_begin(b, STEP("Unbind") HANG STEP("Probe") HANG DONE);
	folder_put(&b->fake.folder, "loadavg", "9.1 9.1 9.1 9999/9999 77");
	start(owner, "A", NULL, false);
	run_until_line(b, "Unbind");
	for (int i = 0; i < 5; i++)
		fake_helper_pass_look(&b->fake, &owner->ended);
	assert_int_equal(owner->late, 1);
	assert_int_equal(owner->ended, 0);
	assert_int_equal(write(b->fake.gate_fd, "\n", 1), 1);
	run_until_line(b, "Probe");
	assert_false(task_is_late(owner->task));
	fake_helper_open_gate(&b->fake);
	run_until(b, &owner->ended);
	assert_int_equal(owner->outcome.result, TASK_DONE);
}

static struct deadline_case {
	const char *name;
	const char *body;
	const char *line;
	int deadlines;
} deadlines[] = {
	{ "one that takes the lock only looks", STEP("WaitLock") HANG DONE, "WaitLock", 4 },
	{ "one that looks for holders only looks", STEP("CheckHolders") HANG DONE, "CheckHolders",
	  4 },
	{ "a change has one deadline", STEP("CheckHolders") STEP("Unbind") HANG DONE, "Unbind", 1 },
};

/* The first of two looks is halfway through. */
static void deadlines_match(void **state)
{
	const struct deadline_case *c = suite_row(state);
	struct bench *b = *state;
	uint64_t due_ms = 0;

	bench_begin(b, c->body);
	start(&b->owners[0], "A", NULL, false);
	run_until_line(b, c->line);
	uv_walk(&b->fake.loop, fake_helper_find_due, &due_ms);
	assert_in_range(due_ms, (uint64_t)(c->deadlines - 1) * AMPLE_MS / 2 + 1,
			(uint64_t)c->deadlines * AMPLE_MS / 2);
}

static void nothing_can_be_freed(void **state)
{
	(void)state;
	assert_null(tasks_free(NULL));
}

/* Also a helper that goes on after its result has come to that. */
static void lines_are_heard_to_the_end(void **state)
{
	struct bench *b = *state;

	bench_begin(b, STEP("Unbind") "echo oops\n" DONE STEP("Probe"));
	start(&b->owners[0], "group 12", NULL, false);
	uv_run(&b->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(b->owners[0].ended, 1);
	assert_string_equal(str_cstr(&b->lines), "{\"kind\":\"step\",\"step\":\"Unbind\"}\n"
						 "oops\n"
						 "{\"kind\":\"end\",\"result\":\"Done\"}\n");
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_add(&suite, "freeing nothing is nothing", nothing_can_be_freed, NULL);
	suite_fixture(&suite, &bench_fixture);
	suite_rows(&suite, keys, keys_exclude);
	suite_add(&suite, "who is told can start the next", who_is_told_can_start_the_next, NULL);
	suite_rows(&suite, frees, who_is_told_can_free_the_set);
	suite_rows(&suite, cancels, cancels_match);
	suite_add(&suite, "a cancellable one is told so", a_cancellable_one_is_told_so, NULL);
	suite_add(&suite, "a late step is told, and forgotten", a_late_step_is_told_and_forgotten,
		  NULL);
	suite_rows(&suite, deadlines, deadlines_match);
	suite_add(&suite, "lines are heard to the end", lines_are_heard_to_the_end, NULL);
	return suite_run(&suite, "task_set");
}
