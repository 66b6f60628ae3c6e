/* pid_watch: the ends of real processes, on a real loop. */
#include "agent/process/pid_watch.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem.h"
#include "unit/suite.h"

struct watcher {
	uv_loop_t loop;
	struct pid_watch *watch;
	bool frees; /* the watch, in its callback */
	int told;
};

static void on_ended(void *arg)
{
	struct watcher *w = arg;

	w->told++;
	if (w->frees)
		w->watch = pid_watch_free(w->watch);
	uv_stop(&w->loop);
}

/* A child that waits until it is killed. */
static pid_t start_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

static void end_child(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
}

static void reap(pid_t pid)
{
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void watch(struct watcher *w, int pid)
{
	struct err err = { 0 };

	*w = (struct watcher){ 0 };
	assert_int_equal(uv_loop_init(&w->loop), 0);
	w->watch = pid_watch_new(&w->loop, pid, on_ended, w, &err);
	if (!w->watch) /* before Linux 5.3 */
		fail_msg("%s", err.msg);
	assert_int_equal(w->told, 0);
}

/* Nothing is left on the loop, whatever came before. */
static void done(struct watcher *w)
{
	w->watch = pid_watch_free(w->watch);
	assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&w->loop), 0);
}

static void an_end_is_told_once(void **state)
{
	struct watcher w;
	pid_t pid = start_child();

	watch(&w, pid);
	assert_true(uv_run(&w.loop, UV_RUN_NOWAIT));
	assert_int_equal(w.told, 0);
	end_child(pid);
	uv_run(&w.loop, UV_RUN_DEFAULT);
	assert_int_equal(w.told, 1);
	assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(w.told, 1);
	done(&w);
	reap(pid);
}

static void one_that_is_not_there_has_ended(void **state)
{
	struct watcher w;
	pid_t pid = start_child();

	end_child(pid);
	reap(pid);
	watch(&w, pid);
	uv_run(&w.loop, UV_RUN_DEFAULT);
	assert_int_equal(w.told, 1);
	done(&w);
	assert_int_equal(w.told, 1);
}

static void a_watch_can_end_before_the_process(void **state)
{
	struct watcher w;
	pid_t pid = start_child();

	watch(&w, pid);
	done(&w);
	end_child(pid);
	reap(pid);
	assert_int_equal(w.told, 0);
}

static void a_watch_can_end_before_it_tells(void **state)
{
	struct watcher w;
	pid_t pid = start_child();

	end_child(pid);
	reap(pid);
	watch(&w, pid);
	done(&w);
	assert_int_equal(w.told, 0);
}

static void who_is_told_can_end_the_watch(void **state)
{
	struct watcher w;
	pid_t pid = start_child();

	watch(&w, pid);
	w.frees = true;
	end_child(pid);
	uv_run(&w.loop, UV_RUN_DEFAULT);
	assert_int_equal(w.told, 1);
	assert_null(w.watch);
	done(&w);
	reap(pid);
}

static void two_can_watch_one_process(void **state)
{
	struct watcher w;
	struct watcher second = { 0 };
	struct err err = { 0 };
	pid_t pid = start_child();

	watch(&w, pid);
	second.watch = pid_watch_new(&w.loop, pid, on_ended, &w, &err);
	assert_non_null(second.watch);
	end_child(pid);
	while (w.told < 2)
		uv_run(&w.loop, UV_RUN_DEFAULT);
	assert_null(pid_watch_free(second.watch));
	done(&w);
	reap(pid);
}

static struct bad_case {
	const char *name;
	int pid;
} bad[] = {
	{ "no process has the number 0", 0 },
	{ "no process has a number below 0", -5 },
};

static void what_cannot_be_watched_is_an_error(void **state)
{
	const struct bad_case *c = *state;
	struct err err = { 0 };
	struct watcher w = { 0 };

	assert_int_equal(uv_loop_init(&w.loop), 0);
	assert_null(pid_watch_new(&w.loop, c->pid, on_ended, &w, &err));
	assert_int_equal(err.code, -EINVAL);
	assert_int_equal(err.kind, ERR_RETRY);
	done(&w);
	assert_int_equal(w.told, 0);
}

/* In a child, which has no such call from then on. */
static bool take_the_call_away(void)
{
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_LEN(lines), .filter = lines };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool is_told_that_there_is_no_such_call(void)
{
	struct err err = { 0 };
	uv_loop_t loop;

	return uv_loop_init(&loop) == 0 && !pid_watch_new(&loop, getppid(), on_ended, NULL, &err) &&
	       err.kind == ERR_RETRY && err.code == -ENOSYS && uv_loop_close(&loop) == 0;
}

static void a_kernel_without_the_call_says_so(void **state)
{
	pid_t pid = fork();
	int status = -1;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(take_the_call_away() && is_told_that_there_is_no_such_call() ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "the end of a process is told, once", an_end_is_told_once, NULL);
	suite_add(&suite, "a process that is not there has ended, and the loop says so",
		  one_that_is_not_there_has_ended, NULL);
	suite_add(&suite, "a watch can end before the process does",
		  a_watch_can_end_before_the_process, NULL);
	suite_add(&suite, "a watch can end before it tells", a_watch_can_end_before_it_tells, NULL);
	suite_add(&suite, "who is told can end the watch", who_is_told_can_end_the_watch, NULL);
	suite_add(&suite, "two can watch one process", two_can_watch_one_process, NULL);
	suite_add(&suite, "a kernel without the call says so", a_kernel_without_the_call_says_so,
		  NULL);
	suite_rows(&suite, bad, what_cannot_be_watched_is_an_error);
	return suite_run(&suite, "pid_watch");
}
