/* run: its locks, the lines that it writes, why it ended, and what happens without a reader of the
 * lines. */
#include "agent/helper/frame/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/helper/sys/holders.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "fake/tree/tree.h"

/* One with an open state directory. */
static void run_start_at(struct run *run, int state_fd)
{
	static const struct run_options options = { .out_fd = -1 };

	run_start(run, &options, "address");
	run->state_fd = state_fd < 0 ? -1 : dup(state_fd);
}

static char *content(const struct tree *tree, const char *name)
{
	char *text = NULL;

	assert_int_equal(file_read(tree->fd, name, 64, &text, NULL, NULL), 0);
	return text;
}

/* A lock of its own takes the lowest descriptor that is free. */
static int last_fd(const struct run *run)
{
	int next = dup(run->state_fd);

	close(next);
	return next - 1;
}

static void taken(void **state)
{
	auto_free char *own = xasprintf("%d", (int)getpid());
	auto_free char *text = NULL;
	struct err err = { 0 };
	struct tree *tree = *state;
	struct run run;
	int pid = 4711;
	int fd;

	/* A pid from before that is longer leaves no rest. */
	tree_make(tree, (const char *const[]){ "group-12.lock=123456789012\n", NULL });
	run_start_at(&run, tree->fd);
	/* Once more is no other lock. */
	assert_int_equal(run_lock_group(&run, "12", &pid, &err), 0);
	assert_int_equal(run_lock_group(&run, "12", &pid, &err), 0);
	assert_int_equal(run.locks.len, 1);
	fd = last_fd(&run);
	assert_int_equal(pid, 4711);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	text = content(tree, "group-12.lock");
	assert_string_equal(text, own);
	run_done(&run);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* Another process takes the lock of group 12, reports that on @say_fd, keeps it until @wait_fd
 * ends, and exits silently. */
static void keep_lock(const struct tree *tree, int say_fd, int wait_fd)
{
	char byte = 0;
	struct run run;
	int pid = 0;

	run_start_at(&run, tree->fd);
	if (run_lock_group(&run, "12", &pid, NULL) != 0 || write(say_fd, "x", 1) != 1)
		_exit(1);
	(void)!read(wait_fd, &byte, 1);
	_exit(0);
}

static void busy(void **state)
{
	int say[2];
	int wait[2];
	char byte;
	int status = 0;
	struct run run;
	int pid = 0;
	pid_t other;
	struct tree *tree = *state;
	struct err err = { 0 };

	tree_make(tree, NULL);
	assert_int_equal(pipe2(say, O_CLOEXEC), 0);
	assert_int_equal(pipe2(wait, O_CLOEXEC), 0);
	other = fork();
	assert_true(other >= 0);
	if (other == 0) {
		close(wait[1]);
		keep_lock(tree, say[1], wait[0]);
	}
	close(say[1]);
	assert_int_equal(read(say[0], &byte, 1), 1);

	run_start_at(&run, tree->fd);
	assert_int_equal(run_lock_group(&run, "12", &pid, &err), RUN_LOCK_BUSY);
	assert_int_equal(pid, other);
	assert_int_equal(run.locks.len, 0);
	/* Other groups have other locks. */
	assert_int_equal(run_lock_group(&run, "1", &pid, &err), 0);
	assert_int_equal(run_lock_group(&run, "-", &pid, &err), 0);

	close(wait[1]);
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	/* A lock does not outlive its process, whatever its file still says. */
	assert_int_equal(run_lock_group(&run, "12", &pid, &err), 0);
	run_done(&run);
	close(say[0]);
	close(wait[0]);
}

static struct pid_case {
	const char *name;
	const char *text;
	int pid;
} pids[] = {
	{ "a pid", "123\n", 123 },
	{ "nothing yet", "", 0 },
	{ "no number", "abc\n", 0 },
	{ "a negative number", "-5\n", 0 },
	{ "a number that is no pid", "4294967297\n", 0 },
	{ "a text without end", "11111111111111111111111111111111111111", 0 },
};

/* The pid of the other is read from its file, and not believed when it is none. */
static void others_pid_matches_table(void **state)
{
	const struct pid_case *c = suite_row(state);
	auto_close int other = -1;
	struct tree *tree = *state;
	struct run run;
	int pid = 4711;

	tree_make(tree, NULL);
	tree_write(tree, "group-0.lock", c->text, strlen(c->text));
	other = openat(tree->fd, "group-0.lock", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	run_start_at(&run, tree->fd);
	assert_int_equal(run_lock_group(&run, "0", &pid, NULL), RUN_LOCK_BUSY);
	assert_int_equal(pid, c->pid);
	run_done(&run);
}

static void cannot(void **state)
{
	struct err err = { 0 };
	struct tree *tree = *state;
	struct run run;
	int pid = 0;

	tree_make(tree, (const char *const[]){ "group-3.lock/", "group-4.lock->elsewhere",
					       "file=", NULL });
	run_start_at(&run, tree->fd);
	assert_int_equal(run_lock_group(&run, "3", &pid, &err), -EISDIR);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_string_equal(err.msg, "open 'group-3.lock': Is a directory");
	assert_int_equal(run_lock_group(&run, "4", &pid, &err), -ELOOP);
	run_done(&run);
	run_start_at(&run, -1);
	assert_int_equal(run_lock_group(&run, "5", &pid, &err), -EBADF);
	assert_int_equal(run.locks.len, 0);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A run whose lines go into a pipe. */
struct pipe_run {
	struct run run;
	struct run_options options;
	int read_fd;
};

static void pipe_open(struct pipe_run *p, const char *key)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	*p = (struct pipe_run){ .options = { .out_fd = fds[1], .state_dir = "/state" },
				.read_fd = fds[0] };
	run_start(&p->run, &p->options, key);
	p->run.times = RUN_TIMES_NONE;
}

/* All that was written is @lines; close both ends. */
static void pipe_close(struct pipe_run *p, const char *lines)
{
	char text[1024];
	ssize_t n;

	close(p->options.out_fd);
	n = read(p->read_fd, text, sizeof(text) - 1);
	assert_true(n >= 0);
	text[n] = '\0';
	close(p->read_fd);
	assert_string_equal(text, lines);
}

static void steps_are_reported_with_what_they_are_about(void **state)
{
	struct pipe_run p;

	pipe_open(&p, "uuid");
	run_step(&p.run, NULL, STEP_WAIT_LOCK);
	run_step(&p.run, "", STEP_WAIT_LOCK);
	p.run.key = "address";
	run_step(&p.run, "0000:01:00.0", STEP_UNBIND);
	pipe_close(&p, "{\"kind\":\"step\",\"step\":\"WaitLock\"}\n"
		       "{\"kind\":\"step\",\"step\":\"WaitLock\"}\n"
		       "{\"kind\":\"step\",\"address\":\"0000:01:00.0\",\"step\":\"Unbind\"}\n");
}

static void what_is_known_of_a_holder_is_reported(void **state)
{
	char uuid[] = "u";
	char command[] = "qemu";
	char pod[] = "default/vm";
	char detail[] = "process 7 has it";
	char none[] = "";
	struct holder items[] = { { uuid, command, pod, detail, 7 },
				  { uuid, none, NULL, detail, 0 } };
	struct pipe_run p;

	pipe_open(&p, "uuid");
	run_report_holders(&p.run, &(struct holders){ .items = items, .len = 2 });
	pipe_close(&p, "{\"kind\":\"holder\",\"uuid\":\"u\",\"pid\":7,\"command\":\"qemu\","
		       "\"pod\":\"default/vm\",\"detail\":\"process 7 has it\"}\n"
		       "{\"kind\":\"holder\",\"uuid\":\"u\",\"detail\":\"process 7 has it\"}\n");
}

static struct end_case {
	const char *name;
	enum run_reason reason;
	const char *about;
	enum run_step step;
	int code;
	int pid;
	bool changed;
	const char *message;
	const char *text;
} ends[] = {
	{ "nothing stopped it", REASON_NONE, "0000:01:00.0", STEP_UNBIND, 0, 0, true, NULL,
	  "\"result\":\"Done\"" },
	{ "a cause with all that can be said", REASON_UNBIND_FAILED, "0000:01:00.0", STEP_UNBIND,
	  -EBUSY, 0, true, "it is busy",
	  "\"result\":\"Failed\",\"reason\":\"UnbindFailed\",\"address\":\"0000:01:00.0\","
	  "\"step\":\"Unbind\",\"errno\":\"EBUSY\",\"message\":\"it is busy\"" },
	{ "the other process is reported", REASON_BUSY, "0000:01:00.0", STEP_WAIT_LOCK, 0, 12,
	  false, "wait",
	  "\"result\":\"Busy\",\"reason\":\"Busy\",\"address\":\"0000:01:00.0\","
	  "\"step\":\"WaitLock\",\"pid\":12,\"message\":\"wait\"" },
	{ "a cause with the least", REASON_BUSY, NULL, STEP_NONE, 0, 0, false, "wait",
	  "\"result\":\"Busy\",\"reason\":\"Busy\",\"message\":\"wait\"" },
	{ "a code that has no name is not told", REASON_IN_USE, NULL, STEP_NONE, -9999, 0, false,
	  "wait", "\"result\":\"Refused\",\"reason\":\"InUse\",\"message\":\"wait\"" },
	{ "a refusal after a change is a failure", REASON_DEVICE_GONE, NULL, STEP_NONE, 0, 0, true,
	  "gone", "\"result\":\"Failed\",\"reason\":\"DeviceGone\",\"message\":\"gone\"" },
	{ "a reason that has an advice ends with it", REASON_AGENT_NOT_PRIVILEGED, NULL, STEP_NONE,
	  0, 0, false, "no",
	  "\"result\":\"Failed\",\"reason\":\"AgentNotPrivileged\",\"message\":\"no; the agent needs more rights on the "
	  "node, or its network namespace: install it with manifests/components/privileged\"" },
};

static void end_matches_table(void **state)
{
	const struct end_case *c = *state;
	auto_free char *line = xasprintf("{\"kind\":\"end\",%s}\n", c->text);
	auto_str struct str lines = STR_INIT;
	struct pipe_run p;

	pipe_open(&p, "address");
	p.run.about = c->about;
	p.run.step = c->step;
	p.run.changed = c->changed;
	if (c->reason == REASON_BUSY)
		run_stop_busy(&p.run, c->pid, "%s", c->message);
	else if (c->reason != REASON_NONE)
		run_stop(&p.run, c->reason, c->code, "%s", c->message);
	run_end_add(&p.run, &lines);
	assert_string_equal(str_cstr(&lines), line);
	pipe_close(&p, "");
}

/* What comes after it, and what changes after it, is not its cause. */
static void the_first_cause_stays(void **state)
{
	struct err err = { .code = -EIO, .msg = "write 'x': no" };
	struct pipe_run p;

	pipe_open(&p, "address");
	assert_int_equal(run_stop_state(&p.run, &err), RUN_STOPPED);
	p.run.changed = true;
	assert_int_equal(run_stop(&p.run, REASON_HELD, 0, "later"), RUN_STOPPED);
	assert_int_equal(run_finish(&p.run, &err), 0);
	pipe_close(&p,
		   "{\"kind\":\"end\",\"result\":\"Failed\",\"reason\":\"StateNotWritable\","
		   "\"errno\":\"EIO\",\"message\":\"in the state directory '/state': write 'x': "
		   "no\"}\n");
}

static void nothing_is_written_after_a_line_that_could_not_be(void **state)
{
	struct pipe_run p;
	struct err err = { 0 };
	int write_fd;

	pipe_open(&p, "uuid");
	write_fd = p.options.out_fd;
	p.options.out_fd = -1;
	run_step(&p.run, NULL, STEP_CREATE);
	p.options.out_fd = write_fd;
	run_step(&p.run, NULL, STEP_REMOVE);
	assert_int_equal(run_finish(&p.run, &err), -EBADF);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_string_equal(err.msg, "write the result: Bad file descriptor");
	pipe_close(&p, "");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "steps are reported with what they are about, if with anything",
		  steps_are_reported_with_what_they_are_about, NULL);
	suite_add(&suite, "of a holder is reported what is known",
		  what_is_known_of_a_holder_is_reported, NULL);
	suite_rows(&suite, ends, end_matches_table);
	suite_add(&suite, "the first cause stays", the_first_cause_stays, NULL);
	suite_add(&suite, "nothing is written after a line that could not be",
		  nothing_is_written_after_a_line_that_could_not_be, NULL);
	suite_fixture(&suite, &tree_fixture);
	suite_add(&suite, "a lock that is free is taken, with the own pid in it", taken, NULL);
	suite_add(&suite, "a lock that another process has says whose it is", busy, NULL);
	suite_rows(&suite, pids, others_pid_matches_table);
	suite_add(&suite, "a state directory that cannot be used says why", cannot, NULL);
	return suite_run(&suite, "run");
}
