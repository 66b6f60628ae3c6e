/* nvml_run: what the agent makes of runs of hostdev-nvml, of scripts in its place, and of the
 * program itself beside a library that hangs. */
#include "agent/nvidia/nvml_run.h"

#include <errno.h>

#include "api/json_values.h"
#include "base/str.h"
#include "unit/agent/fake_helper.h"
#include "unit/nvidia/nvml_play.h"

struct owner {
	struct fake_helper fake;
	struct play play; /* only if the program itself runs */
	struct nvml_program *program;
	struct nvml_run *run;
	struct str log; /* "line gpu ADDRESS|answered|" */
	int ended;
	bool stops_at_line;
	uint64_t due_ms; /* what was left of the only deadline at the last line */
};

static void on_line(void *arg, const struct nvml_line *line)
{
	struct owner *o = arg;

	str_addf(&o->log, "%s %s|", line->kind_text, line->address ? line->address : "-");
	o->due_ms = 0;
	uv_walk(&o->fake.loop, fake_helper_find_due, &o->due_ms);
	if (o->stops_at_line)
		o->run = nvml_run_stop(o->run);
}

static void on_end(void *arg, const struct nvml_end *end)
{
	static const char *const kinds[] = { "answered", "failed", "silent", "died" };
	struct owner *o = arg;

	o->ended++;
	o->run = NULL;
	str_addf(&o->log, "%s", kinds[end->kind]);
	if (end->address)
		str_addf(&o->log, " %s", end->address);
	if (end->kind == NVML_FAILED || end->kind == NVML_DIED)
		str_addf(&o->log, ": %s", end->message);
	str_add_char(&o->log, '|');
	uv_stop(&o->fake.loop);
}

static int start(struct owner *o, enum nvml_verb verb, const char *a, const char *b)
{
	struct json_strs addresses = { 0 };
	struct nvml_run_spec spec = { .verb = verb,
				      .addresses = &addresses,
				      .deadline_ms = AMPLE_MS,
				      .on_line = on_line,
				      .on_end = on_end,
				      .arg = o };
	struct err err = { 0 };
	int r;

	json_strs_add(&addresses, a);
	if (b)
		json_strs_add(&addresses, b);
	r = nvml_run_start(o->program, &spec, &o->run, &err);
	json_strs_done(&addresses);
	return r;
}

static void begin(struct owner *o, const char *body)
{
	fake_helper_init(&o->fake, body);
	o->program = nvml_program_new(&o->fake.loop, o->fake.path, NULL);
}

static void run_until_ended(struct owner *o, int n)
{
	while (o->ended < n && uv_run(&o->fake.loop, UV_RUN_DEFAULT))
		;
	assert_int_equal(o->ended, n);
}

static void done(struct owner *o)
{
	nvml_run_stop(o->run);
	nvml_program_free(o->program);
	if (o->fake.path)
		fake_helper_done(&o->fake);
	if (o->play.program)
		play_close(&o->play);
	str_done(&o->log);
}

SUITE_CLOSING(owner, struct owner, done);

#define AT  "{\"kind\":\"at\",\"address\":\"0000:3b:00.0\"}"
#define GPU "{\"kind\":\"gpu\",\"n\":1,\"address\":\"0000:3b:00.0\",\"uuid\":\"GPU-1\"}"
#define FAIL \
	"{\"kind\":\"failed\",\"n\":1,\"function\":\"nvmlInit\",\"code\":9,\"message\":\"no driver\"}"
#define END "{\"kind\":\"end\",\"n\":1}"

static struct end_case {
	const char *name;
	const char *body;
	const char *log;
} ends[] = {
	{ "an answer", "echo '" AT "'; echo '" GPU "'; echo '" END "'",
	  "gpu 0000:3b:00.0|answered|" },
	{ "an error of the system", "echo '" FAIL "'; exit 1", "failed: nvmlInit: no driver|" },
	{ "an end without an answer", "echo '" GPU "'",
	  "gpu 0000:3b:00.0|died: hostdev-nvml: it ended without an answer|" },
	{ "an exit status", "exit 3", "died: hostdev-nvml: helper exited with status 3|" },
	{ "a signal", "kill -9 $$", "died: hostdev-nvml: helper was ended by signal 9 (Killed)|" },
	{ "something else than lines", "echo hello; echo '" END "'",
	  "died: hostdev-nvml: line of hostdev-nvml: JSON, line 1, column 5: "
	  "invalid token near 'hello'|" },
	{ "a line of a kind that is not known yet", "echo '{\"kind\":\"new\"}'; echo '" END "'",
	  "answered|" },
};

static void end_matches_table(void **state)
{
	struct owner *o = *state;
	const struct end_case *c = suite_row(state);

	begin(o, c->body);
	assert_int_equal(start(o, NVML_ASK_INVENTORY, "0000:3b:00.0", NULL), 0);
	assert_int_equal(o->ended, 0);
	run_until_ended(o, 1);
	assert_string_equal(str_cstr(&o->log), c->log);
}

static void a_question_is_on_its_input(void **state)
{
	struct owner *o = *state;
	auto_free char *wrote = NULL;

	begin(o, "echo \"$*\" >$here/wrote; cat >>$here/wrote; echo '" END "'");
	nvml_program_free(o->program);
	o->program = nvml_program_new(&o->fake.loop, o->fake.path, "/driver");
	assert_int_equal(start(o, NVML_ASK_PROBE, "0000:3b:00.0", "0000:3c:00.0"), 0);
	run_until_ended(o, 1);
	wrote = fake_helper_wrote(&o->fake, "wrote");
	assert_string_equal(wrote, "ask --driver-root /driver\n"
				   "{\"n\":1,\"ask\":\"probe\",\"gpus\":[\"0000:3b:00.0\","
				   "\"0000:3c:00.0\"]}\n");
}

static void a_watch_has_the_addresses_as_words(void **state)
{
	struct owner *o = *state;
	auto_free char *wrote = NULL;

	begin(o, "echo \"$*\" >$here/wrote; echo '" END "'");
	assert_int_equal(start(o, NVML_WATCH, "0000:3b:00.0", "0000:3c:00.0"), 0);
	run_until_ended(o, 1);
	wrote = fake_helper_wrote(&o->fake, "wrote");
	assert_string_equal(wrote, "watch 0000:3b:00.0 0000:3c:00.0\n");
}

static void run_until_log(struct owner *o, const char *log)
{
	while (strcmp(str_cstr(&o->log), log) != 0)
		uv_run(&o->fake.loop, UV_RUN_ONCE);
}

static void a_silent_child_is_killed_and_its_gpu_is_told(void **state)
{
	struct owner *o = *state;
	int pid;

	begin(o, "echo '" GPU "'; echo '" AT "'; echo '" GPU "'; read x <$gate; echo '" END "'");
	assert_int_equal(start(o, NVML_ASK_PROBE, "0000:3b:00.0", NULL), 0);
	pid = nvml_run_pid(o->run);
	run_until_log(o, "gpu 0000:3b:00.0|gpu 0000:3b:00.0|");
	fake_helper_expire(&o->fake, NULL);
	run_until_ended(o, 1);
	assert_non_null(strstr(str_cstr(&o->log), "|silent 0000:3b:00.0|"));
	/* Reaped: there is no such process any more. */
	while (kill(pid, 0) == 0)
		uv_run(&o->fake.loop, UV_RUN_ONCE);
	assert_int_equal(start(o, NVML_ASK_PROBE, "0000:3b:00.0", NULL), 0);
}

static void every_line_begins_the_deadline_again(void **state)
{
	struct owner *o = *state;

	begin(o, "sleep 0.2; echo '" GPU "'; read x <$gate");
	assert_int_equal(start(o, NVML_ASK_PROBE, "0000:3b:00.0", NULL), 0);
	run_until_log(o, "gpu 0000:3b:00.0|");
	assert_int_equal(o->due_ms, AMPLE_MS);
}

/* One that has begun tells every five seconds that it lives. */
static void a_watch_may_not_be_silent_for_long(void **state)
{
	struct owner *o = *state;

	begin(o, "echo '{\"kind\":\"watching\",\"gpus\":1}'; read x <$gate");
	assert_int_equal(start(o, NVML_WATCH, "0000:3b:00.0", NULL), 0);
	run_until_log(o, "watching -|");
	assert_int_equal(o->due_ms, NVML_WATCH_SILENT_MS);
}

/* As a process in the kernel would, what the shell leaves behind outlives the kill. */
static void killed_children_that_do_not_end_are_limited(void **state)
{
	struct owner *o = *state;

	begin(o, "{ read x <$gate; } & echo '" GPU "'; wait");
	for (int i = 1; i <= NVML_KILLED_MAX; i++) {
		assert_int_equal(start(o, NVML_ASK_PROBE, "0000:3b:00.0", NULL), 0);
		str_clear(&o->log);
		run_until_log(o, "gpu 0000:3b:00.0|");
		fake_helper_expire(&o->fake, NULL);
		run_until_ended(o, i);
	}
	assert_int_equal(start(o, NVML_ASK_PROBE, "0000:3b:00.0", NULL), -EBUSY);
	fake_helper_open_gate(&o->fake);
	while (start(o, NVML_ASK_PROBE, "0000:3b:00.0", NULL) < 0)
		uv_run(&o->fake.loop, UV_RUN_ONCE);
}

static void who_stops_at_a_line_hears_no_more(void **state)
{
	struct owner *o = *state;

	begin(o, "echo '" GPU "'; echo '" GPU "'; read x <$gate");
	o->stops_at_line = true;
	assert_int_equal(start(o, NVML_WATCH, "0000:3b:00.0", NULL), 0);
	run_until_log(o, "gpu 0000:3b:00.0|");
	fake_helper_open_gate(&o->fake);
	uv_run(&o->fake.loop, UV_RUN_DEFAULT);
	assert_string_equal(str_cstr(&o->log), "gpu 0000:3b:00.0|");
	assert_int_equal(o->ended, 0);
}

/* ---- the program itself ---- */

static void begin_with_program(struct owner *o, const char *scene)
{
	auto_free char *link = NULL;

	fake_helper_init(&o->fake, "exit 1");
	play_open(&o->play);
	play_scene(&o->play, scene);
	folder_put(&o->play.folder, "lib64/none", "");
	link = folder_path(&o->play.folder, "lib64/libnvidia-ml.so.1");
	assert_int_equal(symlink(o->play.library, link), 0);
	assert_int_equal(setenv("HOSTDEV_FAKE_NVML", o->play.folder.path, 1), 0);
	o->program = nvml_program_new(&o->fake.loop, o->play.program, o->play.folder.path);
}

static void the_program_answers(void **state)
{
	struct owner *o = *state;

	begin_with_program(o, THREE);
	assert_int_equal(start(o, NVML_ASK_PROBE, ADDRESS(0), ADDRESS(2)), 0);
	run_until_ended(o, 1);
	assert_string_equal(str_cstr(&o->log),
			    "probe " ADDRESS(0) "|probe " ADDRESS(2) "|answered|");
}

static void the_gpu_at_which_the_program_hangs_is_told(void **state)
{
	struct owner *o = *state;
	auto_free char *name = NULL;
	auto_free char *path = NULL;

	begin_with_program(o, THREE "hang 2 DeviceGetMemoryInfo\n");
	assert_int_equal(start(o, NVML_ASK_PROBE, ADDRESS(0), ADDRESS(2)), 0);
	name = xasprintf("%d.hangs", nvml_run_pid(o->run));
	path = folder_path(&o->play.folder, name);
	run_until_log(o, "probe " ADDRESS(0) "|");
	while (access(path, F_OK) != 0)
		(void)usleep(1000);
	/* Its word about the next GPU. */
	for (int i = 0; i < 3; i++)
		uv_run(&o->fake.loop, UV_RUN_NOWAIT);
	fake_helper_expire(&o->fake, NULL);
	run_until_ended(o, 1);
	assert_string_equal(str_cstr(&o->log), "probe " ADDRESS(0) "|silent " ADDRESS(2) "|");
}

static void the_program_watches(void **state)
{
	struct owner *o = *state;

	begin_with_program(o, THREE);
	assert_int_equal(start(o, NVML_WATCH, ADDRESS(1), NULL), 0);
	run_until_log(o, "watched " ADDRESS(1) "|watching -|");
	o->play.pid = nvml_run_pid(o->run);
	play_tell(&o->play, "xid 1 79\n");
	o->play.pid = -1;
	run_until_log(o, "watched " ADDRESS(1) "|watching -|event " ADDRESS(1) "|");
}

int main(void)
{
	struct suite suite = { 0 };

	(void)signal(SIGPIPE, SIG_IGN);
	suite_fixture(&suite, &owner_fixture);
	suite_rows(&suite, ends, end_matches_table);
	suite_add(&suite, "a question is on its input", a_question_is_on_its_input, NULL);
	suite_add(&suite, "a watch has the addresses as words", a_watch_has_the_addresses_as_words,
		  NULL);
	suite_add(&suite, "a silent child is killed, and its GPU is told",
		  a_silent_child_is_killed_and_its_gpu_is_told, NULL);
	suite_add(&suite, "every line begins the deadline again",
		  every_line_begins_the_deadline_again, NULL);
	suite_add(&suite, "a watch may not be silent for long", a_watch_may_not_be_silent_for_long,
		  NULL);
	suite_add(&suite, "killed children that do not end are limited",
		  killed_children_that_do_not_end_are_limited, NULL);
	suite_add(&suite, "who stops at a line hears no more", who_stops_at_a_line_hears_no_more,
		  NULL);
	suite_add(&suite, "the program answers", the_program_answers, NULL);
	suite_add(&suite, "the GPU at which the program hangs is told",
		  the_gpu_at_which_the_program_hangs_is_told, NULL);
	suite_add(&suite, "the program watches", the_program_watches, NULL);
	return suite_run(&suite, "nvml_run");
}
