/* binder: transitions by scripts in place of hostdev-helper, on a real loop. */
#include "agent/binder/binder.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "unit/agent/binder_bench.h"

static void a_transition_is_done(void **state)
{
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];
	struct binder_trouble trouble;

	bench_begin(b, STEP("Unbind") "echo 'not json'\n" DONE);
	owner_init(owner, b, "12", "0000:01:00.0");
	owner_start(owner);
	assert_int_equal(binder_look(b->binder, "0000:01:00.0", &trouble), BINDER_RUNNING);
	assert_string_equal(trouble.verb, "bind");
	assert_true(trouble.pid > 0);
	assert_int_equal(binder_look(b->binder, "0000:01:00.1", NULL), BINDER_IDLE);
	bench_run_until(b, &owner->ended, 1);
	assert_int_equal(owner->outcome.task.result, TASK_DONE);
	assert_int_equal(owner->outcome.task.kernel_us, 5);
	assert_int_equal(owner->outcome.task.helper_us, 9);
	assert_int_equal(owner->outcome.ended_ms, uv_now(&b->fake.loop));
	assert_int_equal(owner->outcome.lines.len, 0);
	assert_int_equal(binder_look(b->binder, "0000:01:00.0", NULL), BINDER_IDLE);
	bench_assert_metric(b, "hostdev_transitions_total{verb=\"bind\",result=\"Done\"} 1\n");
	bench_assert_metric(b, "hostdev_transition_seconds_count{verb=\"bind\"} 1\n");
	bench_done(b);
	assert_int_equal(b->freed, 0);
}

static void the_helper_gets_the_words(void **state)
{
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];

	bench_begin(b, "printf '%s|' \"$@\" >$here/words\n" DONE);
	binder_free(b->binder);
	b->options.helper.sysfs_root = "/s";
	b->options.helper.proc_root = "/p";
	b->options.helper.dev_root = "/d";
	b->binder = binder_new(&b->fake.loop, &b->options, bench_on_free, b);
	binder_set_node_address(b->binder, "10.0.0.1");
	owner_init(owner, b, "12", "0000:01:00.0");
	owner_add(owner, "0000:01:00.1");
	owner->job.verb = BINDER_PLAN_RELEASE;
	owner->job.items[0].native = xstrdup("");
	owner->job.items[1].serial = xstrdup("00-11");
	owner->job.items[1].identity = xstrdup("slot=3");
	owner->job.items[1].driverless = true;
	owner_start(owner);
	bench_run_until(b, &owner->ended, 1);
	{
		auto_free char *words = fake_helper_wrote(&b->fake, "words");

		assert_string_equal(
			words,
			"plan-release|--group|12|--state-dir|/state|--sysfs-root|/s|--proc-root|/p|"
			"--dev-root|/d|--node-address|10.0.0.1|address=0000:01:00.0|id=8086:10d3|"
			"native=|driver=vfio-pci|claim=vm1-000001000|uid=1-2|address=0000:01:00.1|"
			"id=8086:10d3|serial=00-11|identity=slot=3|driver=vfio-pci|claim=vm1-000001000|uid=1-2|release=none|");
	}
	assert_int_equal(owner->outcome.lines.len, 1);
}

static void a_job_without_a_group_says_so(void **state)
{
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];

	bench_begin(b, "printf '%s|' \"$@\" >$here/words\n" DONE);
	owner_init(owner, b, NULL, "0000:01:00.0");
	owner->job.verb = BINDER_RELEASE;
	owner_start(owner);
	bench_run_until(b, &owner->ended, 1);
	{
		auto_free char *words = fake_helper_wrote(&b->fake, "words");

		assert_memory_equal(words, "release|--group|-|--state-dir|/state|address=0", 46);
	}
}

#define FUNCTION(rest) SAY("{\"kind\":\"function\"," rest "}")

/* "0000:01:00.0=vfio-pci/- " for each function. */
static char *seen_text(const struct binder_seen_list *seen)
{
	struct str out = STR_INIT;

	for (size_t i = 0; i < seen->len; i++)
		str_addf(&out, "%s=%s/%s ", seen->items[i].address,
			 seen->items[i].driver ? seen->items[i].driver : "-",
			 seen->items[i].override ? seen->items[i].override : "-");
	return str_detach(&out);
}

static void functions_are_read_back(void **state)
{
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];
	auto_free char *text = NULL;
	struct binder_outcome copy;

	bench_begin(b, FUNCTION("\"address\":\"0000:01:00.0\",\"driver\":\"vfio-pci\","
				"\"override\":\"vfio\\u001b\"") FUNCTION("\"address\":\"../etc\"")
			       FUNCTION("\"driver\":\"none\"")
				       FUNCTION("\"address\":\"0000:01:00.1\"") DONE);
	owner_init(owner, b, "12", "0000:01:00.0");
	owner_start(owner);
	bench_run_until(b, &owner->ended, 1);
	binder_outcome_copy(&copy, &owner->outcome);
	text = seen_text(&copy.seen);
	assert_string_equal(text, "0000:01:00.0=vfio-pci/vfio\\x1b 0000:01:00.1=-/- ");
	binder_outcome_done(&copy);
}

static void a_plan_keeps_the_lines_that_can_be_read(void **state)
{
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];

	bench_begin(b, STEP("Unbind") "echo 'no line'\n" DONE STEP("Probe"));
	owner_init(owner, b, "12", "0000:01:00.0");
	owner->job.verb = BINDER_PLAN_BIND;
	owner_start(owner);
	bench_run_until(b, &owner->ended, 1);
	assert_int_equal(owner->outcome.lines.len, 2);
	assert_non_null(strstr(owner->outcome.lines.items[0], "Unbind"));
	assert_non_null(strstr(owner->outcome.lines.items[1], "Done"));
}

/* The sizes of what a helper prints have no end; those of an outcome have. */
static void an_outcome_is_bounded(void **state)
{
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];

	bench_begin(b,
		    "seq -f '{\"kind\":\"function\",\"address\":\"%04g:01:00.0\"}' 1 9000\n" DONE);
	owner_init(owner, b, "12", "0000:01:00.0");
	owner->job.verb = BINDER_PLAN_RELEASE;
	owner_start(owner);
	bench_run_until(b, &owner->ended, 1);
	assert_int_equal(owner->outcome.task.result, TASK_DONE);
	assert_int_equal(owner->outcome.seen.len, BINDER_FUNCTIONS_MAX);
	assert_int_equal(owner->outcome.lines.len, 8192);
}

static struct failed_case {
	const char *name;
	const char *body; /* NULL: there is no helper at all */
	size_t functions;
	const char *step;
	const char *says;
} failures[] = {
	{ "a helper that cannot be started is told from the loop", NULL, 1, NULL, "no such file" },
	{ "a helper that is killed has failed where it was", STEP("Unbind") "kill -9 $$\n", 1,
	  "Unbind",
	  "in step Unbind of 0000:01:00.0: helper was ended by signal 9 (Killed); what it said on "
	  "standard error is in the log of the agent" },
	{ "a helper that knows no such words has failed", "exit 2\n", 1, NULL, "status 2" },
	{ "a helper that says nothing has failed", "exit 0\n", 1, NULL, "without a result" },
	{ "a helper whose line has no end has failed", "head -c 100000 /dev/zero\n" DONE, 1, NULL,
	  "65536" },
	{ "a group can be too large", DONE, BINDER_FUNCTIONS_MAX + 1, NULL, "1025 functions" },
};

static void what_fails_is_told_once(void **state)
{
	const struct failed_case *c = suite_row(state);
	struct bench *b = *state;
	struct owner *owner = &b->owners[0];

	bench_begin(b, c->body ? c->body : "exit 0");
	if (!c->body)
		assert_int_equal(unlink(b->fake.path), 0);
	owner_init(owner, b, "12", "0000:01:00.0");
	while (owner->job.len < c->functions) {
		auto_free char *address = xasprintf("%04zx:02:00.0", owner->job.len);

		owner_add(owner, address);
	}
	owner_start(owner);
	assert_int_equal(binder_look(b->binder, "0000:01:00.0", NULL), BINDER_RUNNING);
	bench_run_until(b, &owner->ended, 1);
	assert_int_equal(owner->outcome.task.result, TASK_FAILED);
	assert_string_equal(owner->outcome.task.reason, "HelperFailed");
	if (!strstr(owner->outcome.task.message, c->says))
		fail_msg("no '%s' in '%s'", c->says, owner->outcome.task.message);
	if (c->step)
		assert_string_equal(owner->outcome.task.step, c->step);
	else
		assert_null(owner->outcome.task.step);
	assert_int_equal(binder_look(b->binder, "0000:01:00.0", NULL), BINDER_IDLE);
	bench_assert_metric(b, "hostdev_transitions_total{verb=\"bind\",result=\"Failed\"} 1\n");
	bench_done(b);
	assert_int_equal(owner->ended, 1);
}

/* The first hangs, the second ends: they are side by side. */
static void groups_move_side_by_side(void **state)
{
	struct bench *b = *state;
	struct owner *first = &b->owners[0];
	struct owner *second = &b->owners[1];

	bench_begin(b, "case $3 in 12)" STEP("Unbind") HANG ";; esac\n" DONE);
	owner_init(first, b, "12", "0000:01:00.0");
	owner_init(second, b, "13", "0000:02:00.0");
	owner_start(first);
	owner_start(second);
	bench_run_until(b, &second->ended, 1);
	assert_int_equal(first->ended, 0);
	assert_int_equal(binder_look(b->binder, "0000:01:00.0", NULL), BINDER_RUNNING);
	assert_int_equal(binder_look(b->binder, "0000:02:00.0", NULL), BINDER_IDLE);
	fake_helper_open_gate(&b->fake);
	bench_run_until(b, &first->ended, 1);
	assert_int_equal(first->outcome.task.result, TASK_DONE);
}

static struct way_case {
	const char *name;
	const char *group;
	const char *address;
	bool stuck;
} ways[] = {
	{ "a group under way is not moved a second time", "12", "0000:01:00.1", false },
	{ "a group that is stuck is not moved a second time", "12", "0000:01:00.0", true },
	{ "a function under way is not moved by another group's job", NULL, "0000:01:00.0", false },
};

static void who_is_in_the_way_is_told(void **state)
{
	const struct way_case *c = suite_row(state);
	struct bench *b = *state;
	struct owner *first = &b->owners[0];
	struct owner *second = &b->owners[1];
	struct binder_trouble trouble;

	bench_begin(b, STEP("Unbind") HANG "echo ran >>$here/ran\n" DONE);
	owner_init(first, b, "12", "0000:01:00.0");
	if (c->stuck)
		owner_get_stuck(first, "0000:01:00.0");
	else
		owner_start(first);
	assert_int_not_equal(binder_look(b->binder, "0000:01:00.0", &trouble), BINDER_IDLE);
	owner_init(second, b, c->group, c->address);
	owner_start(second);
	bench_run_until(b, &second->ended, 1);
	assert_int_equal(second->outcome.task.result, TASK_BUSY);
	assert_string_equal(second->outcome.task.reason, "Busy");
	assert_int_equal(second->outcome.task.holder_pid, trouble.pid);
	assert_non_null(strstr(second->outcome.task.message, ") moves the IOMMU group"));
	assert_int_not_equal(binder_look(b->binder, "0000:01:00.0", NULL), BINDER_IDLE);
	fake_helper_open_gate(&b->fake);
	bench_run_until(b, c->stuck ? &b->freed : &first->ended, 1);
	assert_int_equal(binder_look(b->binder, "0000:01:00.0", NULL), BINDER_IDLE);
	assert_int_equal(binder_look(b->binder, "0000:01:00.1", NULL), BINDER_IDLE);
	{
		auto_free char *ran = fake_helper_wrote(&b->fake, "ran");

		assert_string_equal(ran, "ran\n");
	}
}

static void all_that_cannot_be_started_are_told(void **state)
{
	struct bench *b = *state;
	struct owner *first = &b->owners[0];
	struct owner *second = &b->owners[1];

	bench_begin(b, "exit 0");
	assert_int_equal(unlink(b->fake.path), 0);
	owner_init(first, b, "12", "0000:01:00.0");
	owner_init(second, b, "12", "0000:01:00.0");
	owner_start(first);
	owner_start(second);
	bench_run_until(b, &first->ended, 1);
	bench_run_until(b, &second->ended, 1);
	assert_int_equal(binder_look(b->binder, "0000:01:00.0", NULL), BINDER_IDLE);
}

static void on_first_end(void *arg, const struct binder_outcome *outcome)
{
	struct owner *pair = arg;

	owner_on_end(&pair[0], outcome);
	assert_int_equal(binder_look(pair->bench->binder, "0000:01:00.0", NULL), BINDER_IDLE);
	owner_start(&pair[1]);
}

static void who_is_told_can_move_the_group_again(void **state)
{
	struct bench *b = *state;
	struct owner *pair = b->owners;

	bench_begin(b, DONE);
	owner_init(&pair[0], b, "12", "0000:01:00.0");
	owner_init(&pair[1], b, "12", "0000:01:00.0");
	pair[1].job.verb = BINDER_RELEASE;
	binder_start(b->binder, &pair[0].job, on_first_end, pair);
	bench_run_until(b, &pair[1].ended, 1);
	assert_int_equal(pair[0].outcome.task.result, TASK_DONE);
	assert_int_equal(pair[1].outcome.task.result, TASK_DONE);
	bench_assert_metric(b, "hostdev_transitions_total{verb=\"release\",result=\"Done\"} 1\n");
}

/* What the agent logs while one transition runs. The caller frees. */
static char *log_of(struct bench *b, enum binder_verb verb)
{
	struct owner owner;
	auto_free char *path = folder_path(&b->fake.folder, "log");
	auto_close int saved = dup(STDERR_FILENO);
	auto_close int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	owner_init(&owner, b, "12", "0000:01:00.0");
	owner_add(&owner, "0000:01:00.1");
	owner.job.verb = verb;
	assert_true(dup2(file, STDERR_FILENO) >= 0);
	owner_start(&owner);
	bench_run_until(b, &owner.ended, 1);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	owner_done(&owner);
	return fake_helper_wrote(&b->fake, "log");
}

static void every_transition_is_logged(void **state)
{
	struct bench *b = *state;
	auto_free char *failed = NULL;
	auto_free char *plan = NULL;

	bench_begin(b,
		    SAY("{\"kind\":\"end\",\"result\":\"Failed\",\"reason\":\"ProbeFailed\","
			"\"step\":\"Probe\",\"errno\":\"EIO\",\"message\":\"no\",\"micros\":3}"));
	failed = log_of(b, BINDER_BIND);
	assert_non_null(strstr(failed, " level=info msg=\"transition ended\" verb=bind group=12 "
				       "functions=0000:01:00.0,0000:01:00.1 result=Failed "
				       "reason=ProbeFailed took_ms="));
	assert_non_null(strstr(failed, " helper_us=3 kernel_us=0 step=Probe errno=EIO "
				       "message=no\n"));
	plan = log_of(b, BINDER_PLAN_BIND);
	assert_string_equal(plan, "");
	bench_assert_metric(b,
			    "hostdev_transitions_total{verb=\"plan-bind\",result=\"Failed\"} 1\n");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a transition is done", a_transition_is_done, NULL);
	suite_add(&suite, "the helper gets the job as words", the_helper_gets_the_words, NULL);
	suite_add(&suite, "a job without a group says so", a_job_without_a_group_says_so, NULL);
	suite_rows(&suite, failures, what_fails_is_told_once);
	suite_add(&suite, "functions are read back", functions_are_read_back, NULL);
	suite_add(&suite, "a plan keeps the lines that can be read",
		  a_plan_keeps_the_lines_that_can_be_read, NULL);
	suite_add(&suite, "an outcome is bounded, whatever is printed", an_outcome_is_bounded,
		  NULL);
	suite_add(&suite, "groups move side by side", groups_move_side_by_side, NULL);
	suite_rows(&suite, ways, who_is_in_the_way_is_told);
	suite_add(&suite, "all that cannot be started are told",
		  all_that_cannot_be_started_are_told, NULL);
	suite_add(&suite, "who is told can move the group again",
		  who_is_told_can_move_the_group_again, NULL);
	suite_add(&suite, "every transition is logged, a plan is not", every_transition_is_logged,
		  NULL);
	return suite_run(&suite, "binder");
}
