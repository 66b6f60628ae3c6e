#include "agent/process/pid_watch.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

struct pid_watch {
	uv_poll_t poll;
	int fd;
	pid_watch_fn *fn;
	void *arg;
};

/* A descriptor that is readable once the process has ended. A process that is not there (any more)
 * has ended; an event that has happened says so from the loop, like every other. */
static int watch_open(int pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 && errno == ESRCH)
		fd = eventfd(1, EFD_CLOEXEC);
	return fd;
}

static void on_closed(uv_handle_t *handle)
{
	struct pid_watch *watch = handle->data;

	close(watch->fd);
	free(watch);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct pid_watch *watch = poll->data;

	(void)status;
	(void)events;
	uv_poll_stop(poll);
	watch->fn(watch->arg);
}

struct pid_watch *pid_watch_new(struct uv_loop_s *loop, int pid, pid_watch_fn *fn, void *arg,
				struct err *err)
{
	auto_close int fd = watch_open(pid);
	auto_free struct pid_watch *watch = NULL;
	int r;

	if (fd < 0) {
		err_set(err, ERR_RETRY, -errno, "watch process %d: %s", pid, strerror(errno));
		return NULL;
	}
	watch = xcalloc(1, sizeof(*watch));
	r = uv_poll_init(loop, &watch->poll, fd);
	if (r < 0) {
		err_set(err, ERR_RETRY, r, "watch process %d: %s", pid, uv_strerror(r));
		return NULL;
	}
	watch->poll.data = watch;
	watch->fd = take_fd(fd);
	watch->fn = fn;
	watch->arg = arg;
	uv_poll_start(&watch->poll, UV_READABLE, on_event);
	return take_ptr(watch);
}

struct pid_watch *pid_watch_free(struct pid_watch *watch)
{
	if (watch)
		uv_close((uv_handle_t *)&watch->poll, on_closed);
	return NULL;
}
