/* loop: however few descriptors a process may have, and whatever children it leaves, it does not
 * end by a signal. */
#include "kube/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "kube/program.h"
#include "unit/suite.h"

/* A process has three descriptors, and libuv opens six for its first loop. */
enum { OPENED = 0, REFUSED = 1, WRONG = 2, NEEDED = 3 + 6, PLENTY = 16 };

static int open_loop(struct err *err)
{
	uv_loop_t loop;
	uv_signal_t signal;

	if (loop_open(&loop, err) < 0)
		return REFUSED;
	/* What a program does next needs no further descriptor. */
	if (uv_signal_init(&loop, &signal) < 0)
		return WRONG;
	uv_close((uv_handle_t *)&signal, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	loop_close(&loop);
	return OPENED;
}

static int start_program(struct err *err)
{
	static char nowhere[] = "/nowhere";
	static char off[] = "off";
	struct program_settings settings = {
		.kubeconfig = nowhere,
		.listen = off,
		.probe_listen = off,
	};
	struct program program;

	return program_init(&program, &settings, "test", err) < 0 ? REFUSED : WRONG;
}

static struct starved_case {
	const char *name;
	int (*start)(struct err *err);
	int with_many; /* how it ends with all descriptors */
	const char *told;
} cases[] = {
	{ "a loop opens, or says why not", open_loop, OPENED, "start the event loop: " },
	{ "a program starts, or says why not", start_program, REFUSED, "start the event loop: " },
};

/* In a process of its own: libuv opens its pipe of signals once per process. */
static int start_with(const struct starved_case *c, rlim_t descriptors)
{
	struct rlimit limit;
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct err err = { 0 };
		int end;

		for (int fd = 3; fd < 64; fd++)
			close(fd);
		if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
			_exit(WRONG);
		limit.rlim_cur = descriptors;
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			_exit(WRONG);
		end = c->start(&err);
		if (end == REFUSED && descriptors < NEEDED &&
		    (err.code != -EMFILE || !strstr(err.msg, c->told) ||
		     !strstr(err.msg, "ulimit -n")))
			end = WRONG;
		_exit(end);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status))
		fail_msg("with %d descriptors it ends by signal %d", (int)descriptors,
			 WTERMSIG(status));
	return WEXITSTATUS(status);
}

static void few_descriptors_are_an_error(void **state)
{
	const struct starved_case *c = *state;

	for (rlim_t n = 3; n < PLENTY; n++) {
		int end = start_with(c, n);

		if (end != REFUSED && (n < NEEDED || end != c->with_many))
			fail_msg("with %d descriptors it ends with %d", (int)n, end);
	}
	assert_int_equal(start_with(c, PLENTY), c->with_many);
}

/* Close a loop whose child runs, release its memory, and see the child end. */
static int leave_a_child(void)
{
	static char sleeper[] = "sleep", minute[] = "60";
	static char *arguments[] = { sleeper, minute, NULL };
	const uv_process_options_t options = { .file = "sleep", .args = arguments };
	uv_loop_t *loop = calloc(1, sizeof(*loop));
	uv_process_t *process = calloc(1, sizeof(*process));
	struct err err = { 0 };
	int status;
	pid_t pid;

	if (!loop || !process || loop_open(loop, &err) < 0 || uv_spawn(loop, process, &options) < 0)
		return WRONG;
	pid = process->pid;
	loop_close(loop);
	memset(loop, 0xff, sizeof(*loop));
	memset(process, 0xff, sizeof(*process));
	return kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid ? OPENED : WRONG;
}

static void a_child_outlives_the_loop(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(leave_a_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), OPENED);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, few_descriptors_are_an_error);
	suite_add(&suite, "a child outlives the loop", a_child_outlives_the_loop, NULL);
	return suite_run(&suite, "loop");
}
