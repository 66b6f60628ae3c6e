#include "agent/generic/handover.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "agent/generic/handover_socket.h"
#include "api/json_values.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/clock.h"

/* One socket. Freed by the close callback of its last handle. */
struct handover {
	struct handovers *all;
	struct handover *next;
	char *path;
	uint64_t inode; /* of its file */
	int listen_fd;
	int peer_fd; /* -1: nobody is connected */
	uv_poll_t listener;
	uv_poll_t peer; /* of peer_fd */
	bool peer_open; /* its handle is */
	struct clock_timer *deadline;
	struct clock_timer *ack;
	unsigned handles;
	bool over;
};

struct handovers {
	struct handovers_deps deps;
	struct handover *items;
	size_t len;
};

/* --- the end ------------------------------------------------------------------------------- */

static void unlink_from(struct handovers *all, const struct handover *h)
{
	struct handover **at = &all->items;

	while (*at && *at != h)
		at = &(*at)->next;
	if (*at)
		*at = h->next;
	all->len--;
}

static void on_closed(uv_handle_t *handle)
{
	struct handover *h = handle->data;

	if (--h->handles > 0 || !h->over)
		return;
	close(h->listen_fd);
	free(h->path);
	free(h);
}

static void on_peer_closed(uv_handle_t *handle)
{
	struct handover *h = handle->data;

	close(h->peer_fd);
	h->peer_fd = -1;
	h->peer_open = false;
	on_closed(handle);
}

static void close_peer(struct handover *h)
{
	clock_timer_stop(h->all->deps.clock, h->ack);
	if (h->peer_open && !uv_is_closing((uv_handle_t *)&h->peer))
		uv_close((uv_handle_t *)&h->peer, on_peer_closed);
}

/* The file stays. */
static void drop(struct handover *h)
{
	struct handovers *all = h->all;

	close_peer(h);
	h->over = true;
	unlink_from(all, h);
	h->deadline = clock_timer_free(all->deps.clock, h->deadline);
	h->ack = clock_timer_free(all->deps.clock, h->ack);
	uv_close((uv_handle_t *)&h->listener, on_closed);
}

static void finish(struct handover *h)
{
	handover_socket_remove(h->path, h->inode);
	drop(h);
}

static void on_deadline(void *arg)
{
	struct handover *h = arg;

	log_info("nobody took over a descriptor", log_str("socket", h->path));
	finish(h);
}

/* --- whoever comes ---------------------------------------------------------------------------- */

static int send_fd(int peer, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	char byte = 0;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return sendmsg(peer, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* A peer that went without a word may come again: the socket stays. */
static void on_ack_missed(void *arg)
{
	close_peer(arg);
}

static void on_peer(uv_poll_t *poll, int status, int events)
{
	struct handover *h = poll->data;
	char byte;
	ssize_t n = recv(h->peer_fd, &byte, 1, MSG_DONTWAIT);

	(void)status;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == 1) {
		log_info("descriptor taken over", log_str("socket", h->path));
		finish(h);
	} else {
		close_peer(h);
	}
}

/* True if the descriptor is on its way. */
static bool hand_over(const struct handover *h, int peer)
{
	const struct handovers_deps *deps = &h->all->deps;
	auto_close int fd = -1;
	struct err err = { 0 };
	int r = deps->open(deps->arg, &fd, &err);

	if (r >= 0) {
		r = send_fd(peer, fd);
		(void)err_set(&err, ERR_RETRY, r, "send it: %s", strerror(-r));
	}
	if (r < 0)
		log_warn("a descriptor was not handed over", log_str("socket", h->path),
			 log_str("reason", err.msg));
	return r >= 0;
}

static void on_listener(uv_poll_t *poll, int status, int events)
{
	struct handover *h = poll->data;
	auto_close int fd = -1;

	(void)status;
	(void)events;
	fd = accept4(h->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	/* One after the other: who comes while another is served is sent away. */
	if (fd < 0 || h->peer_open || !hand_over(h, fd))
		return;
	h->peer_fd = take_fd(fd);
	h->peer_open = true;
	h->handles++;
	uv_poll_init(h->all->deps.loop, &h->peer, h->peer_fd);
	h->peer.data = h;
	uv_poll_start(&h->peer, UV_READABLE, on_peer);
	clock_timer_start(h->all->deps.clock, h->ack, HANDOVER_ACK_MS);
}

/* --- a new socket -------------------------------------------------------------------------------- */

/* That it can be opened is found out before a pod waits for it. */
static int try_open(const struct handovers *all, struct err *err)
{
	auto_close int fd = -1;

	return all->deps.open(all->deps.arg, &fd, err);
}

/* For @ms from now on. */
static int begin(struct handovers *all, const struct handover_file *file, uint64_t ms,
		 struct err *err)
{
	struct handover *h;
	uint64_t inode = 0;
	int fd = -1;

	if (handover_socket_make(file, &fd, &inode, err) < 0)
		return err->code;
	h = xcalloc(1, sizeof(*h));
	*h = (struct handover){
		.all = all, .next = all->items, .inode = inode, .listen_fd = fd, .peer_fd = -1
	};
	h->path = xasprintf("%s/%s", file->folder, file->name);
	h->deadline = clock_timer_new(all->deps.clock, on_deadline, h);
	h->ack = clock_timer_new(all->deps.clock, on_ack_missed, h);
	all->items = h;
	all->len++;
	h->handles = 1;
	uv_poll_init(all->deps.loop, &h->listener, fd);
	h->listener.data = h;
	uv_poll_start(&h->listener, UV_READABLE, on_listener);
	clock_timer_start(all->deps.clock, h->deadline, ms);
	return 0;
}

static struct handover_file file_of(const struct handovers *all, const char *name)
{
	return (struct handover_file){ .folder = all->deps.folder,
				       .name = name,
				       .label = all->deps.label,
				       .born_ms = clock_wall_ms(all->deps.clock) };
}

int handovers_add(struct handovers *all, char **ret_path, struct err *err)
{
	auto_free char *name = xasprintf("%016" PRIx64 ".sock", clock_random(all->deps.clock));
	struct handover_file file = file_of(all, name);

	if (all->len >= HANDOVERS_MAX)
		return err_set(err, ERR_RETRY, -EAGAIN,
			       "%d containers have not taken over their descriptor yet",
			       HANDOVERS_MAX);
	if (try_open(all, err) < 0 || begin(all, &file, HANDOVER_MS, err) < 0)
		return err->code;
	*ret_path = xstrdup(all->items->path);
	return 0;
}

size_t handovers_len(const struct handovers *all)
{
	return all->len;
}

/* --- life ------------------------------------------------------------------------------------------ */

/* A container that is yet to be started finds it where it was told. */
static void take_over(struct handovers *all, const char *name)
{
	struct handover_file file = file_of(all, name);
	auto_free char *path = xasprintf("%s/%s", file.folder, name);
	int64_t now_ms = file.born_ms;
	uint64_t age_ms = 0;
	struct err err = { 0 };

	if (!handover_socket_born(path, &file.born_ms))
		return;
	if (file.born_ms < now_ms)
		age_ms = (uint64_t)(now_ms - file.born_ms);
	else
		file.born_ms = now_ms; /* the clock was set back */
	if (age_ms < HANDOVER_MS && all->len < HANDOVERS_MAX &&
	    begin(all, &file, HANDOVER_MS - age_ms, &err) == 0)
		return;
	if (err.code)
		log_warn("a socket that was left is not taken over", log_str("socket", name),
			 log_str("reason", err.msg));
	(void)unlink(path);
}

static void take_all_over(struct handovers *all)
{
	struct json_strs names = { 0 };

	handover_sockets_find(all->deps.folder, &names);
	for (size_t i = 0; i < names.len; i++)
		take_over(all, names.items[i]);
	json_strs_done(&names);
}

struct handovers *handovers_new(const struct handovers_deps *deps)
{
	struct handovers *all = xcalloc(1, sizeof(*all));

	all->deps = *deps;
	take_all_over(all);
	return all;
}

struct handovers *handovers_free(struct handovers *all)
{
	if (!all)
		return NULL;
	while (all->items)
		drop(all->items);
	free(all);
	return NULL;
}
