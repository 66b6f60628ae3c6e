#include "kube/loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"

/* libuv 1.44 opens six: two pipes for signals, an epoll and an eventfd. */
enum { DESCRIPTORS = 8 };

/* 0, or what open() would say now. */
static int find_descriptors(void)
{
	int fds[DESCRIPTORS];
	size_t n = 0;
	int r = 0;

	while (n < DESCRIPTORS && r == 0) {
		fds[n] = eventfd(0, EFD_CLOEXEC);
		if (fds[n] < 0)
			r = -errno;
		else
			n++;
	}
	while (n > 0)
		close(fds[--n]);
	return r;
}

int loop_open(struct uv_loop_s *loop, struct err *err)
{
	int r = find_descriptors();

	if (r == 0)
		r = uv_loop_init(loop); /* its errors are those of errno, negative */
	if (r < 0)
		return err_set(err, ERR_RETRY, r, "start the event loop: %s%s", strerror(-r),
			       r == -EMFILE ? ": raise the limit of open files (ulimit -n)" : "");
	return 0;
}

void loop_close(struct uv_loop_s *loop)
{
	/* Twice, because a callback may close something. What a child keeps open is not waited
	 * for. */
	uv_run(loop, UV_RUN_NOWAIT);
	uv_run(loop, UV_RUN_NOWAIT);
	(void)signal(SIGCHLD, SIG_DFL);
	(void)uv_loop_close(loop);
}
