/* loop: however few descriptors a process may have, it ends with an error and not by a signal. */
#include "kube/loop.h"

#include <errno.h>
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
	return uv_loop_close(&loop) == 0 ? OPENED : WRONG;
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

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, few_descriptors_are_an_error);
	return suite_run(&suite, "loop");
}
