/* task: real children on a real loop, and what is heard of them. */
#include "agent/task/task.h"

#include <string.h>

#include "agent/process/helper_place.h"
#include "agent/task/task_line.h"
#include "api/json_map.h"
#include "api/json_values.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "unit/agent/fake_helper.h"

#define SAY(line)  "echo '" line "'\n"
#define STEP(step) SAY("{\"kind\":\"step\",\"step\":\"" step "\"}")
#define END(rest)  SAY("{\"kind\":\"end\",\"result\":" rest "}")
#define HANG       "read x <$gate\n"

struct bench {
	struct fake_helper fake;
	struct task *task;
	int ended;
	int stuck;
	int gone;
	struct task_outcome outcome;
	struct err err;
};

static void on_end(void *arg, struct task_outcome *outcome)
{
	struct bench *b = arg;

	b->ended++;
	uv_stop(&b->fake.loop);
	if (!outcome) {
		b->stuck++;
		assert_true(task_is_stuck(b->task));
		return;
	}
	b->task = NULL;
	b->outcome = *outcome;
	*outcome = (struct task_outcome){ 0 };
}

static void on_gone(void *arg)
{
	struct bench *b = arg;

	b->gone++;
	b->task = NULL;
	uv_stop(&b->fake.loop);
}

/* @is_tool: the script is a vendor's command. */
static void bench_start_as(struct bench *b, const char *body, bool is_tool)
{
	struct helper_place place = { .state_dir = "/state", .sysfs_root = "/tree" };
	struct json_strs words = { 0 };
	struct json_strs keys = { 0 };

	fake_helper_init(&b->fake, body);
	json_strs_add(&keys, "0000:03:10.0");
	json_strs_add(&keys, "0000:03:10.2");
	place.path = b->fake.path;
	json_strs_add(&words, "address=0000:03:00.0");
	json_strs_add(&words, "count=2");
	b->task = task_start(&(struct task_spec){ .loop = &b->fake.loop,
						  .helper = &place,
						  .node_address = "192.0.2.1",
						  .deadline_ms = AMPLE_MS,
						  .verb = "vfs",
						  .tool = is_tool ? b->fake.path : NULL,
						  .key = "node1-eth1",
						  .keys = &keys,
						  .words = &words,
						  .on_end = on_end,
						  .on_gone = on_gone,
						  .arg = b },
			     &b->err);
	json_strs_done(&words);
	json_strs_done(&keys);
	assert_int_equal(b->ended, 0);
}

static void bench_start(struct bench *b, const char *body)
{
	bench_start_as(b, body, false);
}

static void bench_done(struct bench *b)
{
	if (!b->fake.path)
		return;
	b->task = task_abandon(b->task);
	fake_helper_done(&b->fake);
	task_outcome_done(&b->outcome);
}

SUITE_CLOSING(bench, struct bench, bench_done);

static void run_until_end(struct bench *b)
{
	uv_run(&b->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(b->ended, 1);
}

static void the_command_line_says_verb_places_and_words(void **state)
{
	struct bench *b = *state;
	auto_free char *line = NULL;

	bench_start(b, "echo \"$@\" >$here/line\n" END("\"Done\""));
	run_until_end(b);
	line = fake_helper_wrote(&b->fake, "line");
	assert_true(strncmp(line, "vfs ", strlen("vfs ")) == 0);
	assert_non_null(strstr(line, "/state"));
	assert_non_null(strstr(line, "/tree"));
	assert_non_null(strstr(line, "192.0.2.1"));
	assert_non_null(strstr(line, " address=0000:03:00.0 count=2\n"));
}

/* Its words are the vendor's, and so is what it prints. */
static void a_vendors_command_gets_its_words_alone(void **state)
{
	struct bench *b = *state;
	auto_free char *line = NULL;
	auto_free char *text = NULL;

	bench_start_as(b, "echo \"$@\" >$here/line\n" END("\"Done\"") "echo no\nexit 3\n", true);
	text = task_describe(b->task);
	assert_non_null(strstr(text, b->fake.path));
	assert_non_null(strstr(text, ") does not end"));
	run_until_end(b);
	line = fake_helper_wrote(&b->fake, "line");
	assert_string_equal(line, "address=0000:03:00.0 count=2\n");
	assert_int_equal(b->outcome.result, TASK_FAILED);
	assert_string_equal(b->outcome.reason, "ToolFailed");
	assert_non_null(strstr(b->outcome.message, "; no"));
	assert_string_equal(b->outcome.exit, "helper exited with status 3");
}

static struct end_case {
	const char *name;
	const char *body;
	enum task_result result;
	const char *reason;
} ends[] = {
	{ "one that is done", STEP("A") END("\"Done\""), TASK_DONE, NULL },
	{ "one that is refused", END("\"Refused\",\"reason\":\"TooMany\""), TASK_REFUSED,
	  "TooMany" },
	{ "one that says nothing", "exit 0\n", TASK_FAILED, "HelperFailed" },
	{ "one that dies in a step", STEP("A") "exit 3\n", TASK_FAILED, "HelperFailed" },
};

static void an_end_is_heard_once(void **state)
{
	const struct end_case *c = suite_row(state);
	struct bench *b = *state;

	bench_start(b, c->body);
	run_until_end(b);
	assert_int_equal(b->outcome.result, c->result);
	if (c->reason)
		assert_string_equal(b->outcome.reason, c->reason);
	else
		assert_null(b->outcome.reason);
	assert_int_equal(uv_run(&b->fake.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(b->ended, 1);
	assert_int_equal(b->gone, 0);
}

static void pass_deadlines(struct bench *b)
{
	while (!b->ended)
		fake_helper_pass_look(&b->fake, &b->ended);
}

/* Until its line of the step has been read. */
static void run_until_step(struct bench *b, const char *step)
{
	for (;;) {
		auto_free char *text = task_describe(b->task);

		if (strstr(text, step))
			return;
		uv_run(&b->fake.loop, UV_RUN_ONCE);
	}
}

static void assert_has_keys(const struct task *task)
{
	assert_true(task_has_key(task, "node1-eth1"));
	assert_true(task_has_key(task, "0000:03:10.0"));
	assert_true(task_has_key(task, "0000:03:10.2"));
	assert_false(task_has_key(task, "0000:03:10.1"));
}

static void a_stuck_one_stays_until_it_has_ended(void **state)
{
	struct bench *b = *state;
	auto_free char *text = NULL;

	bench_start(b, STEP("Unbind") HANG END("\"Done\""));
	assert_false(task_is_stuck(b->task));
	assert_has_keys(b->task);
	run_until_step(b, "in step Unbind");
	pass_deadlines(b);
	assert_int_equal(b->stuck, 1);
	assert_has_keys(b->task);
	text = task_describe(b->task);
	assert_non_null(strstr(text, "hostdev-helper (pid "));
	assert_non_null(strstr(text, ") is blocked in step Unbind"));
	assert_string_equal(task_step(b->task), "Unbind");
	assert_string_equal(task_address(b->task), "");
	fake_helper_open_gate(&b->fake);
	uv_run(&b->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(b->gone, 1);
	assert_int_equal(b->ended, 1);
}

/* Its result is known: the task does not wait for the process. */
static void one_that_does_not_exit_after_its_result_has_ended(void **state)
{
	struct bench *b = *state;

	bench_start(b, STEP("Last") END("\"Done\"") HANG);
	run_until_step(b, "in step Last");
	pass_deadlines(b);
	assert_int_equal(b->stuck, 0);
	assert_int_equal(b->outcome.result, TASK_DONE);
	fake_helper_open_gate(&b->fake);
	uv_run(&b->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(b->ended + b->gone, 1);
}

static void an_abandoned_one_is_not_heard_of(void **state)
{
	struct bench *b = *state;

	bench_start(b, STEP("Unbind") HANG END("\"Done\""));
	b->task = task_abandon(b->task);
	fake_helper_open_gate(&b->fake);
	uv_run(&b->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(b->ended + b->gone, 0);
}

static void one_that_cannot_be_started_is_an_error(void **state)
{
	struct bench *b = *state;
	struct json_strs words = { 0 };
	const struct helper_place place = { .path = "/nowhere/helper", .state_dir = "/state" };

	fake_helper_init(&b->fake, "exit 0");
	assert_null(task_start(&(struct task_spec){ .loop = &b->fake.loop,
						    .helper = &place,
						    .deadline_ms = AMPLE_MS,
						    .verb = "vfs",
						    .key = "node1-eth1",
						    .words = &words,
						    .on_end = on_end,
						    .on_gone = on_gone,
						    .arg = b },
			       &b->err));
	assert_true(b->err.code < 0);
	uv_run(&b->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(b->ended + b->gone, 0);
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_fixture(&suite, &bench_fixture);
	suite_rows(&suite, ends, an_end_is_heard_once);
	suite_add(&suite, "the command line says verb, places and words",
		  the_command_line_says_verb_places_and_words, NULL);
	suite_add(&suite, "a vendor's command gets its words alone",
		  a_vendors_command_gets_its_words_alone, NULL);
	suite_add(&suite, "a stuck one stays until it has ended",
		  a_stuck_one_stays_until_it_has_ended, NULL);
	suite_add(&suite, "one that does not exit after its result has ended",
		  one_that_does_not_exit_after_its_result_has_ended, NULL);
	suite_add(&suite, "an abandoned one is not heard of", an_abandoned_one_is_not_heard_of,
		  NULL);
	suite_add(&suite, "one that cannot be started is an error",
		  one_that_cannot_be_started_is_an_error, NULL);
	return suite_run(&suite, "task");
}
