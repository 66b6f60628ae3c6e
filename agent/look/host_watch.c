#include "agent/look/host_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"

enum { SOURCES = 3 };

struct source {
	uv_poll_t poll;
	struct host_watch *watch;
	int fd;
	bool is_socket;
};

struct host_watch {
	struct source sources[SOURCES];
	size_t len;
	uv_timer_t timer; /* runs while the host's mounts cannot be opened */
	char *mounts;     /* their path                                    */
	size_t open;      /* handles whose close callback has not run      */
	host_watch_fn *fn;
	void *arg;
};

static void drain(int fd)
{
	char data[8192];

	while (recv(fd, data, sizeof(data), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		errno = 0;
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct source *source = poll->data;

	(void)events;
	if (source->is_socket)
		drain(source->fd);
	/* Lost messages are an error of the socket, at which libuv stops the handle. */
	if (status < 0 && source->is_socket)
		uv_poll_start(poll, UV_READABLE, on_event);
	source->watch->fn(source->watch->arg);
}

static void tell_unwatched(const char *path, const char *error)
{
	log_info("changes not watched, the periodic scan sees them", log_str("path", path),
		 log_str("error", error));
}

/* Takes @fd. A plain file, as in a copy of another machine's proc, tells of no changes. */
static void add_source(struct host_watch *w, struct uv_loop_s *loop, int fd, const char *path)
{
	struct source *source = &w->sources[w->len];
	bool is_socket = !path;
	int r;

	*source = (struct source){ .watch = w, .fd = fd, .is_socket = is_socket };
	r = uv_poll_init(loop, &source->poll, fd);
	if (r < 0) {
		tell_unwatched(path ? path : "netlink", uv_strerror(r));
		close(fd);
		return;
	}
	w->len++;
	source->poll.data = source;
	uv_poll_start(&source->poll, is_socket ? UV_READABLE : UV_PRIORITIZED, on_event);
	w->open++;
}

/* -errno if it cannot be opened. */
static int add_file(struct host_watch *w, struct uv_loop_s *loop, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	add_source(w, loop, fd, path);
	return 0;
}

static void add_swaps(struct host_watch *w, struct uv_loop_s *loop, const char *proc_root)
{
	auto_free char *path = xasprintf("%s/swaps", proc_root);
	int r = add_file(w, loop, path);

	if (r < 0)
		tell_unwatched(path, strerror(-r));
}

static void on_retry(uv_timer_t *timer)
{
	struct host_watch *w = timer->data;

	if (add_file(w, timer->loop, w->mounts) < 0)
		return;
	uv_timer_stop(timer);
	log_info("the host's mounts can be opened now", log_str("path", w->mounts));
	w->fn(w->arg);
}

/* The host's mounts, as the helper reads them; in a pod, one's own are others. While they are hidden the agent
 * is not ready, and nothing else tells that they are to be seen again. */
static void add_mounts(struct host_watch *w, struct uv_loop_s *loop, const char *proc_root)
{
	int r;

	w->mounts = xasprintf("%s/1/mountinfo", proc_root);
	uv_timer_init(loop, &w->timer);
	w->timer.data = w;
	w->open++;
	r = add_file(w, loop, w->mounts);
	if (r == 0)
		return;
	log_info("the host's mounts cannot be opened, trying again", log_str("path", w->mounts),
		 log_str("error", strerror(-r)), log_int("interval_ms", HOST_WATCH_RETRY_MS));
	uv_timer_start(&w->timer, on_retry, HOST_WATCH_RETRY_MS, HOST_WATCH_RETRY_MS);
}

static void add_route_socket(struct host_watch *w, struct uv_loop_s *loop)
{
	struct sockaddr_nl addr = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE |
			     RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	auto_close int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0) {
		log_info("routes not watched, the periodic scan sees them",
			 log_str("error", strerror(errno)));
		return;
	}
	add_source(w, loop, take_fd(fd), NULL);
}

struct host_watch *host_watch_new(struct uv_loop_s *loop, const char *proc_root, host_watch_fn *fn,
				  void *arg)
{
	struct host_watch *w = xcalloc(1, sizeof(*w));

	w->fn = fn;
	w->arg = arg;
	add_mounts(w, loop, proc_root);
	add_swaps(w, loop, proc_root);
	add_route_socket(w, loop);
	return w;
}

static void let_go(struct host_watch *w)
{
	if (--w->open > 0)
		return;
	free(w->mounts);
	free(w);
}

static void on_closed(uv_handle_t *handle)
{
	struct source *source = handle->data;

	close(source->fd);
	let_go(source->watch);
}

static void on_timer_closed(uv_handle_t *handle)
{
	let_go(handle->data);
}

struct host_watch *host_watch_free(struct host_watch *w)
{
	if (!w)
		return NULL;
	uv_close((uv_handle_t *)&w->timer, on_timer_closed);
	for (size_t i = 0; i < w->len; i++)
		uv_close((uv_handle_t *)&w->sources[i].poll, on_closed);
	return NULL;
}
