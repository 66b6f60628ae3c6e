#include "agent/monitor/host_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

enum { SOURCES = 3, ROUTES_MAX = 16 << 20 };

struct source {
	uv_poll_t poll;
	struct host_watch *watch;
	int fd;
	bool is_socket;
};

struct host_watch {
	struct source sources[SOURCES];
	size_t len;
	uv_timer_t timer;        /* runs while the host's mounts cannot be opened */
	char *mounts;            /* their path                                    */
	uv_timer_t routes_timer; /* runs in another network namespace than the host's */
	char *net;               /* the folder of the host's routes and addresses     */
	uint64_t routes;         /* what they were; a checksum                        */
	size_t open;             /* handles whose close callback has not run      */
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

/* The host's mounts, as the helper reads them; in a pod, one's own are others. While they are
 * hidden the agent is not ready, and nothing else tells that they are to be seen again. */
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

/* FNV-1a */
static void add_bytes(uint64_t *sum, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*sum = (*sum ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
}

/* A line of ipv6_route has two counters of uses after its first six fields (rt6_native_seq_show()
 * of the kernel's net/ipv6/ip6_fib.c), all of fixed width. */
static void add_line(uint64_t *sum, const char *line, size_t len, bool has_counters)
{
	enum { COUNTERS_AT = 113, COUNTERS_END = 131 };

	if (has_counters && len > COUNTERS_END) {
		add_bytes(sum, line, COUNTERS_AT);
		line += COUNTERS_END;
		len -= COUNTERS_END;
	}
	add_bytes(sum, line, len);
}

static void add_routes(uint64_t *sum, const char *net, const char *name, bool has_counters)
{
	auto_free char *path = xasprintf("%s/%s", net, name);
	auto_free char *text = NULL;
	struct err err;
	size_t len;

	if (file_read(AT_FDCWD, path, ROUTES_MAX, &text, &len, &err) < 0)
		return;
	for (const char *line = text; line < text + len;) {
		size_t line_len = strcspn(line, "\n") + 1;

		if (line_len > (size_t)(text + len - line))
			line_len = (size_t)(text + len - line);
		add_line(sum, line, line_len, has_counters);
		line += line_len;
	}
}

static uint64_t sum_routes(const struct host_watch *w)
{
	uint64_t sum = UINT64_C(14695981039346656037);

	add_routes(&sum, w->net, "route", false);
	add_routes(&sum, w->net, "fib_trie", false); /* with the addresses */
	add_routes(&sum, w->net, "ipv6_route", true);
	return sum;
}

static void on_routes(uv_timer_t *timer)
{
	struct host_watch *w = timer->data;
	uint64_t before = w->routes;

	w->routes = sum_routes(w);
	if (w->routes != before)
		w->fn(w->arg);
}

/* Each network namespace has a file of its own behind this name (proc_net_ns_init() of the kernel's
 * fs/proc/proc_net.c), and the inode numbers are unique. */
static bool is_elsewhere(const char *net)
{
	auto_free char *path = xasprintf("%s/dev", net);
	struct stat host;
	struct stat own;

	return stat(path, &host) == 0 && stat("/proc/self/net/dev", &own) == 0 &&
	       host.st_ino != own.st_ino;
}

static void poll_routes(struct host_watch *w, struct uv_loop_s *loop, const char *proc_root)
{
	w->net = xasprintf("%s/1/net", proc_root);
	uv_timer_init(loop, &w->routes_timer);
	w->routes_timer.data = w;
	w->open++;
	if (!is_elsewhere(w->net))
		return;
	w->routes = sum_routes(w);
	uv_timer_start(&w->routes_timer, on_routes, HOST_WATCH_ROUTES_MS, HOST_WATCH_ROUTES_MS);
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
	poll_routes(w, loop, proc_root);
	return w;
}

static void let_go(struct host_watch *w)
{
	if (--w->open > 0)
		return;
	free(w->mounts);
	free(w->net);
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
	uv_close((uv_handle_t *)&w->routes_timer, on_timer_closed);
	for (size_t i = 0; i < w->len; i++)
		uv_close((uv_handle_t *)&w->sources[i].poll, on_closed);
	return NULL;
}
