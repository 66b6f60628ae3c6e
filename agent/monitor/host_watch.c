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

#include "agent/monitor/host_state.h"
#include "agent/monitor/route_message.h"
#include "base/log.h"
#include "base/mem.h"

enum {
	SOURCES = 3,
	MESSAGE_MAX = 8192,    /* NLMSG_GOODSIZE is no more */
	MESSAGES_A_TURN = 512, /* then other descriptors have their turn */
};

/* The reaction to a change of a source. */
enum source_kind { SOURCE_MOUNTS, SOURCE_SWAPS, SOURCE_ROUTES };

struct source {
	uv_poll_t poll;
	struct host_watch *watch;
	int fd;
	enum source_kind kind;
};

struct host_watch {
	struct source sources[SOURCES];
	size_t len;
	struct host_state *state;
	uv_timer_t timer;        /* runs while the host's mounts cannot be opened */
	char *mounts;            /* their path                                    */
	uv_timer_t routes_timer; /* runs in another network namespace than the host's */
	uv_timer_t calm_timer;   /* runs before what has changed is read              */
	bool mounts_changed;
	bool routes_changed;
	size_t open; /* handles whose close callback has not run */
	host_watch_fn *fn;
	void *arg;
};

static void on_calm(uv_timer_t *timer)
{
	struct host_watch *w = timer->data;
	bool mounts_changed = w->mounts_changed;
	bool seen = mounts_changed && host_state_mounts_differ(w->state);

	if (w->routes_changed && host_state_routes_differ(w->state))
		seen = true;
	w->mounts_changed = false;
	w->routes_changed = false;
	if (seen)
		w->fn(w->arg, HOST_CHANGE_SEEN);
	else if (mounts_changed)
		w->fn(w->arg, HOST_CHANGE_POSSIBLE);
}

/* Changes come in bursts; read once after a burst. */
static void read_soon(struct host_watch *w, enum source_kind kind)
{
	w->mounts_changed = w->mounts_changed || kind == SOURCE_MOUNTS;
	w->routes_changed = w->routes_changed || kind == SOURCE_ROUTES;
	if (!uv_is_active((const uv_handle_t *)&w->calm_timer))
		uv_timer_start(&w->calm_timer, on_calm, HOST_WATCH_CALM_MS, 0);
}

/* One message; false when there is none left. */
static bool receive(int fd, enum route_news *news)
{
	char data[MESSAGE_MAX];
	enum route_news one = ROUTE_NEWS_NOTHING;
	struct sockaddr_nl from = { 0 };
	socklen_t from_len = sizeof(from);
	ssize_t n = recvfrom(fd, data, sizeof(data), MSG_DONTWAIT | MSG_TRUNC,
			     (struct sockaddr *)&from, &from_len);

	/* After lost messages anything may have changed. */
	if ((n < 0 && errno == ENOBUFS) || n > (ssize_t)sizeof(data))
		one = ROUTE_NEWS_LINK;
	else if (n <= 0)
		return n < 0 && errno == EINTR;
	else if (from.nl_pid == 0) /* another process could send to the group as well */
		one = route_message_read(data, (size_t)n);
	if (one > *news)
		*news = one;
	return true;
}

static void on_messages(struct source *source)
{
	enum route_news news = ROUTE_NEWS_NOTHING;

	for (int i = 0; i < MESSAGES_A_TURN && receive(source->fd, &news); i++)
		;
	switch (news) {
	case ROUTE_NEWS_NOTHING:
		break;
	case ROUTE_NEWS_ROUTES:
		read_soon(source->watch, SOURCE_ROUTES);
		break;
	case ROUTE_NEWS_LINK:
		/* The routes of a link that is removed are removed, too, and the message about them
		 * may be among the lost ones. */
		read_soon(source->watch, SOURCE_ROUTES);
		source->watch->fn(source->watch->arg, HOST_CHANGE_SEEN);
		break;
	}
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct source *source = poll->data;

	(void)events;
	switch (source->kind) {
	case SOURCE_MOUNTS:
		read_soon(source->watch, SOURCE_MOUNTS);
		break;
	case SOURCE_SWAPS:
		source->watch->fn(source->watch->arg, HOST_CHANGE_SEEN);
		break;
	case SOURCE_ROUTES:
		/* Lost messages are an error of the socket, at which libuv stops the handle. */
		if (status < 0)
			uv_poll_start(poll, UV_READABLE, on_event);
		on_messages(source);
		break;
	}
}

static void tell_unwatched(const char *path, const char *error)
{
	log_info("changes not watched, the periodic scan sees them", log_str("path", path),
		 log_str("error", error));
}

/* Takes @fd. A plain file, as in a copy of another machine's proc, reports no changes. */
static void add_source(struct host_watch *w, struct uv_loop_s *loop, int fd, enum source_kind kind,
		       const char *path)
{
	struct source *source = &w->sources[w->len];
	int r;

	*source = (struct source){ .watch = w, .fd = fd, .kind = kind };
	r = uv_poll_init(loop, &source->poll, fd);
	if (r < 0) {
		tell_unwatched(path, uv_strerror(r));
		close(fd);
		return;
	}
	w->len++;
	source->poll.data = source;
	uv_poll_start(&source->poll, kind == SOURCE_ROUTES ? UV_READABLE : UV_PRIORITIZED,
		      on_event);
	w->open++;
}

/* -errno if it cannot be opened. */
static int add_file(struct host_watch *w, struct uv_loop_s *loop, enum source_kind kind,
		    const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	add_source(w, loop, fd, kind, path);
	return 0;
}

static void add_swaps(struct host_watch *w, struct uv_loop_s *loop, const char *proc_root)
{
	auto_free char *path = xasprintf("%s/swaps", proc_root);
	int r = add_file(w, loop, SOURCE_SWAPS, path);

	if (r < 0)
		tell_unwatched(path, strerror(-r));
}

static void on_retry(uv_timer_t *timer)
{
	struct host_watch *w = timer->data;

	if (add_file(w, timer->loop, SOURCE_MOUNTS, w->mounts) < 0)
		return;
	uv_timer_stop(timer);
	log_info("the host's mounts can be opened now", log_str("path", w->mounts));
	(void)host_state_mounts_differ(w->state);
	w->fn(w->arg, HOST_CHANGE_SEEN);
}

static void add_timer(struct host_watch *w, struct uv_loop_s *loop, uv_timer_t *timer)
{
	uv_timer_init(loop, timer);
	timer->data = w;
	w->open++;
}

/* The host's mounts, as the helper reads them; those of a pod differ. While they are hidden the
 * agent is not ready, and nothing else reports that they can be read again. */
static void add_mounts(struct host_watch *w, struct uv_loop_s *loop, const char *proc_root)
{
	int r;

	w->mounts = xasprintf("%s/1/mountinfo", proc_root);
	add_timer(w, loop, &w->timer);
	r = add_file(w, loop, SOURCE_MOUNTS, w->mounts);
	if (r == 0)
		return;
	log_info("the host's mounts cannot be opened, trying again", log_str("path", w->mounts),
		 log_str("error", strerror(-r)), log_int("interval_ms", HOST_WATCH_RETRY_MS));
	uv_timer_start(&w->timer, on_retry, HOST_WATCH_RETRY_MS, HOST_WATCH_RETRY_MS);
}

static void on_routes(uv_timer_t *timer)
{
	struct host_watch *w = timer->data;

	if (host_state_routes_differ(w->state))
		w->fn(w->arg, HOST_CHANGE_SEEN);
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
	auto_free char *net = xasprintf("%s/1/net", proc_root);

	add_timer(w, loop, &w->routes_timer);
	if (is_elsewhere(net))
		uv_timer_start(&w->routes_timer, on_routes, HOST_WATCH_ROUTES_MS,
			       HOST_WATCH_ROUTES_MS);
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
	add_source(w, loop, take_fd(fd), SOURCE_ROUTES, "netlink");
}

struct host_watch *host_watch_new(struct uv_loop_s *loop, const char *proc_root,
				  const char *sysfs_root, host_watch_fn *fn, void *arg)
{
	struct host_watch *w = xcalloc(1, sizeof(*w));

	w->fn = fn;
	w->arg = arg;
	add_timer(w, loop, &w->calm_timer);
	add_mounts(w, loop, proc_root);
	add_swaps(w, loop, proc_root);
	add_route_socket(w, loop);
	poll_routes(w, loop, proc_root);
	/* After everything is watched, so that no change is missed. */
	w->state = host_state_new(proc_root, sysfs_root);
	return w;
}

static void let_go(struct host_watch *w)
{
	if (--w->open > 0)
		return;
	host_state_free(w->state);
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
	uv_close((uv_handle_t *)&w->routes_timer, on_timer_closed);
	uv_close((uv_handle_t *)&w->calm_timer, on_timer_closed);
	for (size_t i = 0; i < w->len; i++)
		uv_close((uv_handle_t *)&w->sources[i].poll, on_closed);
	return NULL;
}
