/* helper_run: real children on a real loop; every way for one to end, and not to end. */
#include "agent/process/helper_run.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/str.h"
#include "kube/metrics.h"
#include "unit/agent/fake_helper.h"

struct listener {
	struct fake_helper fake;
	struct helper_run *run;
	struct metrics *metrics; /* NULL: nothing is counted */
	struct str heard;        /* "line|line|", the first of them */
	size_t lines;
	size_t longest;
	const char *refuse;  /* a line to refuse                */
	const char *give_up; /* a line at which the owner leaves */
	int ended;
	int late;
	int gone;
	int result;
	struct err err;
};

static int on_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct listener *l = arg;

	assert_int_equal(l->ended, 0);
	l->lines++;
	l->longest = len > l->longest ? len : l->longest;
	if (l->heard.len < 1000) {
		str_add_mem(&l->heard, line, len);
		str_add_char(&l->heard, '|');
	}
	if (l->refuse && strlen(l->refuse) == len && memcmp(line, l->refuse, len) == 0)
		return err_set(err, ERR_INVALID, -EBADMSG, "not this");
	if (l->give_up && strlen(l->give_up) == len && memcmp(line, l->give_up, len) == 0)
		l->run = helper_run_abandon(l->run);
	return 0;
}

static void on_end(void *arg, int result, const struct err *err)
{
	struct listener *l = arg;

	l->ended++;
	uv_stop(&l->fake.loop);
	l->result = result;
	l->err = *err;
}

static void on_gone(void *arg, struct helper_run *run)
{
	struct listener *l = arg;

	assert_ptr_equal(run, l->run);
	assert_int_equal(l->ended, 1);
	l->gone++;
	uv_stop(&l->fake.loop);
}

static void on_late(void *arg)
{
	struct listener *l = arg;

	assert_int_equal(l->ended, 0);
	l->late++;
}

static int start(struct listener *l, const char *const *args)
{
	struct helper_spec spec = {
		.path = l->fake.path,
		.args = args,
		.deadline_ms = AMPLE_MS,
		.metrics = l->metrics,
		.on_line = on_line,
		.on_end = on_end,
		.on_gone = on_gone,
		.arg = l,
	};

	return helper_run_start(&l->fake.loop, &spec, &l->run, &l->err);
}

static void begin_with(struct listener *l, struct metrics *metrics, const char *verb,
		       const char *body)
{
	const char *const args[] = { verb, NULL };

	*l = (struct listener){ .result = 1, .metrics = metrics };
	fake_helper_init(&l->fake, body);
	assert_int_equal(start(l, args), 0);
	assert_int_equal(l->ended, 0);
}

static void begin(struct listener *l, const char *body)
{
	begin_with(l, NULL, "scan", body);
}

/* What is waited for stops the loop. To run it once at a time would not do: a timer may be due
 * before the loop waits for anything else, which then may never come. */
static void run_until(struct listener *l, const int *flag)
{
	while (!*flag && uv_run(&l->fake.loop, UV_RUN_DEFAULT))
		;
	assert_int_equal(*flag, 1);
}

static void done(struct listener *l)
{
	fake_helper_done(&l->fake);
	str_done(&l->heard);
}

SUITE_CLOSING(listener, struct listener, done);

static struct end_case {
	const char *name;
	const char *body;
	const char *refuse;
	const char *heard;
	int result;
	enum err_kind kind;
	const char *says;
} ends[] = {
	{ "lines come in order", "echo one; echo two; echo; echo three", NULL, "one|two||three|", 0,
	  ERR_NONE, "" },
	{ "a line written in parts is one line", "printf o; printf n; echo e", NULL, "one|", 0,
	  ERR_NONE, "" },
	{ "no line is no error", "exit 0", NULL, "", 0, ERR_NONE, "" },
	{ "text without a newline is no line", "echo one; printf two", NULL, "one|", 0, ERR_NONE,
	  "" },
	{ "a status is an error, whatever was printed", "echo one; exit 3", NULL, "one|", -EPIPE,
	  ERR_RETRY, "status 3" },
	{ "a signal is an error", "echo one; kill -9 $$", NULL, "one|", -EPIPE, ERR_RETRY,
	  "signal 9" },
	{ "after a refused line none is told, and the refusal is the end",
	  "echo one; echo two; echo three; exit 3", "two", "one|two|", -EBADMSG, ERR_INVALID,
	  "not this" },
	{ "a child that prints on after a refusal can end",
	  "echo two; head -c 500000 /dev/zero | tr '\\0' '\\n'", "two", "two|", -EBADMSG,
	  ERR_INVALID, "not this" },
	{ "a line without end is refused", "head -c 100000 /dev/zero", NULL, "", -EMSGSIZE,
	  ERR_INVALID, "65536" },
};

static void child_ends(void **state)
{
	const struct end_case *c = *state;
	struct listener l;

	begin(&l, c->body);
	l.refuse = c->refuse;
	run_until(&l, &l.ended);
	assert_int_equal(l.result, c->result);
	assert_int_equal(l.err.kind, c->kind);
	assert_non_null(strstr(l.err.msg, c->says));
	assert_string_equal(str_cstr(&l.heard), c->heard);
	done(&l);
	assert_int_equal(l.ended, 1);
	assert_int_equal(l.gone, 0);
}

SUITE_OBJECT(metrics, metrics_new(), metrics_free);

static void output_without_end_is_refused(void **state)
{
	struct listener *l = *state;

	begin(l, "head -c 40000000 /dev/zero | tr '\\0' '\\n'");
	run_until(l, &l->ended);
	assert_int_equal(l->result, -EMSGSIZE);
	assert_int_equal(l->err.kind, ERR_INVALID);
	assert_in_range(l->lines, HELPER_OUTPUT_MAX / 2, HELPER_OUTPUT_MAX);
}

static void input_and_endless_output_are_given(void **state)
{
	static const char *const args[] = { "ask", NULL };
	struct listener *l = *state;
	struct helper_spec spec = {
		.args = args,
		.deadline_ms = AMPLE_MS,
		.on_line = on_line,
		.on_end = on_end,
		.input = "a question\n",
		.endless = true,
		.arg = l,
	};

	l->result = 1;
	fake_helper_init(&l->fake, "cat; head -c 40000000 /dev/zero | tr '\\0' '\\n'");
	spec.path = l->fake.path;
	assert_int_equal(helper_run_start(&l->fake.loop, &spec, &l->run, &l->err), 0);
	run_until(l, &l->ended);
	assert_int_equal(l->result, 0);
	assert_int_equal(memcmp(l->heard.buf, "a question|", 11), 0);
	assert_int_equal(l->lines, 40000001);
}

static void a_killed_child_has_ended(void **state)
{
	struct listener *l = *state;

	begin(l, "echo up; read x <$gate");
	while (l->lines == 0)
		uv_run(&l->fake.loop, UV_RUN_ONCE);
	helper_run_kill(l->run);
	run_until(l, &l->ended);
	assert_string_equal(l->err.msg, "helper was ended by signal 9 (Killed)");
}

static void lines_longer_than_a_read_are_whole(void **state)
{
	struct listener *l = *state;

	begin(l, "head -c 60000 /dev/zero | tr '\\0' x; echo; echo end");
	run_until(l, &l->ended);
	assert_int_equal(l->result, 0);
	assert_int_equal(l->lines, 2);
	assert_int_equal(l->longest, 60000);
}

static void arguments_arrive_as_they_are(void **state)
{
	static const char *const args[] = { "names", "--x", "a b", "", "$(echo c)", NULL };
	struct listener *l = *state;

	fake_helper_init(&l->fake, "for a; do echo \"$a\"; done");
	assert_int_equal(start(l, args), 0);
	run_until(l, &l->ended);
	assert_string_equal(str_cstr(&l->heard), "names|--x|a b||$(echo c)|");
}

static void what_cannot_start_says_why(void **state)
{
	static const char *const args[] = { "scan", NULL };
	struct listener l = { 0 };

	fake_helper_init(&l.fake, "exit 0");
	assert_int_equal(unlink(l.fake.path), 0);
	assert_int_equal(start(&l, args), -ENOENT);
	assert_int_equal(l.err.kind, ERR_RETRY);
	assert_non_null(strstr(l.err.msg, l.fake.path));
	assert_null(l.run);
	done(&l);
	assert_int_equal(l.ended, 0);
}

static void a_missed_deadline_leaves_the_child_alone(void **state)
{
	struct listener l;

	begin(&l, "echo early; read x <$gate; echo late; echo ran >$here/ran");
	fake_helper_expire(&l.fake, NULL);
	run_until(&l, &l.ended);
	assert_int_equal(l.result, -ETIMEDOUT);
	assert_int_equal(l.err.kind, ERR_STUCK);
	assert_non_null(strstr(l.err.msg, "pid"));
	assert_int_equal(l.gone, 0);
	fake_helper_open_gate(&l.fake);
	run_until(&l, &l.gone);
	assert_null(strstr(str_cstr(&l.heard), "late"));
	{
		auto_free char *ran = fake_helper_wrote(&l.fake, "ran");

		assert_string_equal(ran, "ran\n");
	}
	done(&l);
	assert_int_equal(l.ended, 1);
	assert_int_equal(l.gone, 1);
}

/* Several are started in a row, and each takes its time: the clock of the loop stands still. */
static void the_deadline_begins_with_the_child(void **state)
{
	static const char *const args[] = { "bind", NULL };
	struct listener *l = *state;
	uint64_t before;

	l->result = 1;
	fake_helper_init(&l->fake, "exit 0");
	before = uv_now(&l->fake.loop);
	(void)usleep(30 * 1000);
	assert_int_equal(start(l, args), 0);
	assert_true(uv_now(&l->fake.loop) - before >= 30);
	run_until(l, &l->ended);
}

/* The loop was held up for longer than the deadline; what the child said before is read all the
 * same. */
static void a_child_that_has_ended_is_not_stuck(void **state)
{
	struct listener *l = *state;
	siginfo_t info;

	begin(l, "echo over");
	assert_int_equal(waitid(P_PID, (id_t)helper_run_pid(l->run), &info, WEXITED | WNOWAIT), 0);
	fake_helper_expire(&l->fake, NULL);
	(void)usleep(5 * 1000);
	run_until(l, &l->ended);
	assert_string_equal(str_cstr(&l->heard), "over|");
	assert_int_equal(l->result, 0);
}

static void a_cancelled_child_sees_its_input_end(void **state)
{
	static const char *const args[] = { "bind", NULL };
	struct listener *l = *state;
	struct helper_spec spec = {
		.args = args,
		.deadline_ms = AMPLE_MS,
		.on_line = on_line,
		.on_end = on_end,
		.cancellable = true,
		.arg = l,
	};

	l->result = 1;
	fake_helper_init(&l->fake, "echo up; read x; echo down");
	spec.path = l->fake.path;
	assert_int_equal(helper_run_start(&l->fake.loop, &spec, &l->run, &l->err), 0);
	while (l->lines == 0)
		uv_run(&l->fake.loop, UV_RUN_ONCE);
	assert_int_equal(l->ended, 0);
	helper_run_cancel(l->run);
	helper_run_cancel(l->run);
	run_until(l, &l->ended);
	assert_string_equal(str_cstr(&l->heard), "up|down|");
	assert_int_equal(l->result, 0);
}

/* The loop of a program that ends must not wait for a child that does not. */
static void an_abandoned_child_keeps_nobody(void **state)
{
	struct listener l;

	begin(&l, "read x <$gate; echo late");
	assert_null(helper_run_abandon(l.run));
	assert_int_equal(uv_run(&l.fake.loop, UV_RUN_DEFAULT), 0);
	done(&l);
	assert_int_equal(l.ended + l.gone, 0);
	assert_int_equal(l.lines, 0);
}

static void a_stuck_child_can_be_abandoned(void **state)
{
	struct listener l;

	begin(&l, "read x <$gate");
	fake_helper_expire(&l.fake, NULL);
	run_until(&l, &l.ended);
	assert_null(helper_run_abandon(l.run));
	done(&l);
	assert_int_equal(l.ended, 1);
	assert_int_equal(l.gone, 0);
}

/* Of runs of @verb: that many run, of them so many stuck, and so many have ended. */
static void assert_counted(const struct metrics *metrics, const char *verb, int running, int stuck,
			   int ended)
{
	const struct {
		const char *name;
		int n;
	} rows[] = { { "hostdev_helpers_running", running },
		     { "hostdev_helpers_stuck", stuck },
		     { "hostdev_helper_seconds_count", ended } };
	auto_str struct str text = STR_INIT;

	metrics_write(metrics, &text);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_free char *line =
			xasprintf("\n%s{verb=\"%s\"} %d\n", rows[i].name, verb, rows[i].n);

		if (!strstr(str_cstr(&text), line))
			fail_msg("no %s in %s", line, str_cstr(&text));
	}
}

static void runs_are_counted_by_what_they_do(void **state)
{
	struct metrics *metrics = *state;
	struct listener l;

	helper_meter_show(metrics);
	assert_counted(metrics, "mdev-create", 0, 0, 0);
	assert_counted(metrics, "vfs", 0, 0, 0);
	begin_with(&l, metrics, "mdev-create", "exit 3");
	assert_counted(metrics, "mdev-create", 1, 0, 0);
	run_until(&l, &l.ended);
	assert_counted(metrics, "mdev-create", 0, 0, 1);
	assert_counted(metrics, "vfs", 0, 0, 0);
	done(&l);
	begin_with(&l, metrics, "-i", "exit 0");
	run_until(&l, &l.ended);
	assert_counted(metrics, "other", 0, 0, 1);
	assert_int_equal(unlink(l.fake.path), 0);
	assert_int_equal(start(&l, (const char *const[]){ "vfs", NULL }), -ENOENT);
	assert_counted(metrics, "vfs", 0, 0, 0);
	done(&l);
}

static void a_stuck_run_is_counted_until_it_ends(void **state)
{
	struct metrics *metrics = *state;
	struct listener l;

	helper_meter_show(metrics);
	begin_with(&l, metrics, "vfs", "read x <$gate");
	fake_helper_expire(&l.fake, NULL);
	run_until(&l, &l.ended);
	assert_counted(metrics, "vfs", 1, 1, 0);
	fake_helper_open_gate(&l.fake);
	run_until(&l, &l.gone);
	assert_counted(metrics, "vfs", 0, 0, 1);
	done(&l);
	begin_with(&l, metrics, "vfs", "read x <$gate");
	fake_helper_expire(&l.fake, NULL);
	run_until(&l, &l.ended);
	assert_null(helper_run_abandon(l.run));
	assert_counted(metrics, "vfs", 0, 0, 1); /* its end is not seen */
	done(&l);
}

enum { PATIENCE = 3 };

/* How many threads /proc/loadavg says run. */
enum { NOT_SEEN, IDLE, FULL = -1, BUSY = 9999 };

/* A child that waits for something, and what /proc says of it at each look. */
static struct patience_case {
	const char *name;
	int first; /* load at the first two looks */
	int later;
	const char *state; /* NULL: it is not to be seen */
	bool runs;         /* its times go on */
	unsigned patience;
	int looks; /* until it is said to be stuck */
} patiences[] = {
	{ "a child that sleeps on an idle machine is stuck at its deadline", IDLE, IDLE, "D", false,
	  PATIENCE, 2 },
	{ "one that runs now and then is waited for", IDLE, IDLE, "D", true, PATIENCE,
	  2 * PATIENCE },
	{ "one that could run is waited for", IDLE, IDLE, "R", false, PATIENCE, 2 * PATIENCE },
	{ "on a busy machine one that sleeps is waited for", BUSY, BUSY, "D", false, PATIENCE,
	  2 * PATIENCE },
	{ "a machine whose processors all have work is not busy", FULL, FULL, "D", false, PATIENCE,
	  2 },
	{ "when the machine is not busy any more, the next look tells", BUSY, IDLE, "D", false,
	  PATIENCE, 3 },
	{ "what is not to be seen is not waited for", NOT_SEEN, NOT_SEEN, NULL, false, PATIENCE,
	  2 },
	{ "a look at nonsense is none", NOT_SEEN, NOT_SEEN, "", false, PATIENCE, 2 },
	{ "who has no patience does not look", BUSY, BUSY, "R", true, 0, 1 },
};

static void show_child(const struct listener *l, const struct patience_case *row, int look)
{
	int load = look <= 2 ? row->first : row->later;
	int pid = helper_run_pid(l->run);
	auto_free char *stat_name = xasprintf("%d/stat", pid);
	auto_free char *times_name = xasprintf("%d/schedstat", pid);
	auto_free char *stat =
		xasprintf("%d (a ) R b) %s 1 1 1\n", pid, row->state ? row->state : "");
	auto_free char *times = xasprintf("%d 5 7\n", row->runs ? 1000 + look : 1000);
	auto_free char *text =
		xasprintf("9.1 9.1 9.1 %d/9999 77\n",
			  load == FULL ? (int)sysconf(_SC_NPROCESSORS_ONLN) + 1 : load);

	folder_put(&l->fake.folder, "loadavg", load == NOT_SEEN ? "9/9" : text);
	if (!row->state)
		return;
	folder_put(&l->fake.folder, stat_name, stat);
	folder_put(&l->fake.folder, times_name, times);
}

static void patience_matches_table(void **state)
{
	static const char *const args[] = { "bind", NULL };
	const struct patience_case *row = *state;
	struct listener l = { .result = 1 };
	struct helper_spec spec = {
		.args = args,
		.deadline_ms = AMPLE_MS,
		.patience = row->patience,
		.on_line = on_line,
		.on_end = on_end,
		.on_late = on_late,
		.arg = &l,
	};
	int looks = 0;

	fake_helper_init(&l.fake, "read x <$gate");
	spec.path = l.fake.path;
	spec.proc = l.fake.folder.path;
	assert_int_equal(helper_run_start(&l.fake.loop, &spec, &l.run, &l.err), 0);
	while (!l.ended && looks++ < 100) {
		show_child(&l, row, looks);
		fake_helper_pass_look(&l.fake, &l.ended);
	}
	assert_int_equal(looks, row->looks);
	assert_int_equal(l.late, row->looks > 2);
	assert_int_equal(l.err.kind, ERR_STUCK);
	assert_null(helper_run_abandon(l.run));
	done(&l);
}

/* Its patience is that of each step: what it has had to wait for before counts no more. */
static void a_line_begins_the_patience_anew(void **state)
{
	static const char *const args[] = { "bind", NULL };
	struct listener l = { .result = 1 };
	struct helper_spec spec = {
		.args = args,
		.deadline_ms = AMPLE_MS,
		.patience = PATIENCE,
		.on_line = on_line,
		.on_end = on_end,
		.arg = &l,
	};

	fake_helper_init(&l.fake, "read x <$gate");
	spec.path = l.fake.path;
	spec.proc = l.fake.folder.path;
	folder_put(&l.fake.folder, "loadavg", "9.1 9.1 9.1 9999/9999 77");
	assert_int_equal(helper_run_start(&l.fake.loop, &spec, &l.run, &l.err), 0);
	for (int i = 0; i < 2 * PATIENCE - 1; i++)
		fake_helper_pass_look(&l.fake, &l.ended);
	helper_run_extend(l.run, AMPLE_MS);
	for (int i = 0; i < 2 * PATIENCE - 1 && !l.ended; i++)
		fake_helper_pass_look(&l.fake, &l.ended);
	assert_int_equal(l.ended, 0);
	fake_helper_pass_look(&l.fake, &l.ended);
	assert_int_equal(l.ended, 1);
	assert_null(helper_run_abandon(l.run));
	done(&l);
}

static void who_leaves_at_a_line_hears_no_other(void **state)
{
	struct listener l;

	begin(&l, "printf 'one\\ntwo\\nthree\\n'");
	l.give_up = "two";
	done(&l);
	assert_int_equal(l.lines, 2);
	assert_int_equal(l.ended, 0);
}

static void nothing_can_be_abandoned(void **state)
{
	assert_null(helper_run_abandon(NULL));
}

static void the_helper_lies_beside_the_program(void **state)
{
	auto_free char *path = helper_run_default_path();

	assert_int_equal(path[0], '/');
	assert_string_equal(strrchr(path, '/'), "/hostdev-helper");
}

static void the_names_lie_beside_the_helper(void **state)
{
	auto_free char *beside = helper_run_names_path("/opt/a/helper");
	auto_free char *anywhere = helper_run_names_path("hostdev-helper");
	auto_free char *nvml = helper_run_nvml_path("/opt/a/helper");

	assert_string_equal(nvml, "/opt/a/hostdev-nvml");
	assert_string_equal(beside, "/opt/a/hostdev-names");
	assert_string_equal(anywhere, "hostdev-names");
}

int main(void)
{
	struct suite suite = { 0 };

	(void)signal(SIGPIPE, SIG_IGN);
	suite_rows(&suite, ends, child_ends);
	suite_rows(&suite, patiences, patience_matches_table);
	suite_add(&suite, "a line begins the patience anew", a_line_begins_the_patience_anew, NULL);
	suite_add(&suite, "what cannot be started says why, at once", what_cannot_start_says_why,
		  NULL);
	suite_add(&suite, "a child that misses its deadline is left alone, and its end is told",
		  a_missed_deadline_leaves_the_child_alone, NULL);
	suite_add(&suite, "an abandoned child keeps nobody waiting",
		  an_abandoned_child_keeps_nobody, NULL);
	suite_add(&suite, "a stuck child can be abandoned", a_stuck_child_can_be_abandoned, NULL);
	suite_add(&suite, "who leaves at a line hears no other",
		  who_leaves_at_a_line_hears_no_other, NULL);
	suite_add(&suite, "abandoning nothing is nothing", nothing_can_be_abandoned, NULL);
	suite_add(&suite, "the names lie beside the helper", the_names_lie_beside_the_helper, NULL);
	suite_add(&suite, "the helper lies beside the program", the_helper_lies_beside_the_program,
		  NULL);
	suite_fixture(&suite, &listener_fixture);
	suite_add(&suite, "output without end is refused", output_without_end_is_refused, NULL);
	suite_add(&suite, "input is given, and endless output is read",
		  input_and_endless_output_are_given, NULL);
	suite_add(&suite, "a killed child has ended", a_killed_child_has_ended, NULL);
	suite_add(&suite, "a line longer than one read is whole",
		  lines_longer_than_a_read_are_whole, NULL);
	suite_add(&suite, "arguments arrive as they are", arguments_arrive_as_they_are, NULL);
	suite_add(&suite, "the deadline begins when the child does",
		  the_deadline_begins_with_the_child, NULL);
	suite_add(&suite, "a child that has ended is not stuck, however late that is read",
		  a_child_that_has_ended_is_not_stuck, NULL);
	suite_add(&suite, "a cancelled child sees the end of its standard input",
		  a_cancelled_child_sees_its_input_end, NULL);
	suite_fixture(&suite, &metrics_fixture);
	suite_add(&suite, "runs are counted by what they do", runs_are_counted_by_what_they_do,
		  NULL);
	suite_add(&suite, "a stuck run is counted until it ends",
		  a_stuck_run_is_counted_until_it_ends, NULL);
	return suite_run(&suite, "helper_run");
}
