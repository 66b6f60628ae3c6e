#include "agent/generic/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <uv.h>

#include "agent/node/this_node.h"
#include "api/json_values.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/clock.h"

/* The file of one handover's socket. A container that has mounted the socket has that file, so a
 * replacement is only for containers that mount it later. The replacement keeps the time of the
 * first creation. All borrowed. */
struct handover_file {
	const char *folder;
	const char *name;
	const char *label; /* SELinux label; NULL: as it comes */
	int64_t born_ms;   /* when it was made first, since the epoch */
};

enum { FOLDER_MODE = 0750, SOCKET_MODE = 0666, BACKLOG = 4, SECOND_MS = 1000, MS_NS = 1000000 };

static const char suffix[] = ".sock";

static int open_to_all(const char *path, const char *label, int fd, struct err *err)
{
	if (chmod(path, SOCKET_MODE) < 0 || listen(fd, BACKLOG) < 0)
		return err_set(err, ERR_RETRY, -errno, "open the socket '%s': %s", path,
			       strerror(errno));
	if (label && setxattr(path, "security.selinux", label, strlen(label) + 1, 0) < 0)
		return err_set(err, ERR_RETRY, -errno, "label the socket '%s': %s", path,
			       strerror(errno));
	return 0;
}

static int bind_at(const char *path, int *ret_fd, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = -1;
	size_t len = strlen(path);

	if (len >= sizeof(address.sun_path))
		return err_set(err, ERR_INVALID, -ENAMETOOLONG,
			       "no socket has so long a path: '%s'", path);
	memcpy(address.sun_path, path, len);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set(err, ERR_RETRY, -errno, "make the socket '%s': %s", path,
			       strerror(errno));
	*ret_fd = take_fd(fd);
	return 0;
}

/* The time of its birth, and its name. */
static int put_in_place(const struct handover_file *file, const char *from, uint64_t *ret_inode,
			struct err *err)
{
	auto_free char *to = xasprintf("%s/%s", file->folder, file->name);
	struct timespec born = { .tv_sec = file->born_ms / SECOND_MS,
				 .tv_nsec = file->born_ms % SECOND_MS * MS_NS };
	struct timespec times[2] = { born, born };
	struct stat st;

	if (utimensat(AT_FDCWD, from, times, AT_SYMLINK_NOFOLLOW) < 0 || lstat(from, &st) < 0 ||
	    rename(from, to) < 0)
		return err_set(err, ERR_RETRY, -errno, "make the socket '%s': %s", to,
			       strerror(errno));
	*ret_inode = st.st_ino;
	return 0;
}

/* A socket that listens, open to all, made beside what is there and put in its place. Its inode in
 * *@ret_inode, its descriptor in *@ret_fd. The folder is made if it is missing. */
static int handover_socket_make(const struct handover_file *file, int *ret_fd, uint64_t *ret_inode,
				struct err *err)
{
	auto_free char *path = xasprintf("%s/.%s", file->folder, file->name);
	auto_close int fd = -1;

	if (dir_make(file->folder, FOLDER_MODE, err) < 0)
		return err->code;
	(void)unlink(path); /* a process before us died right here */
	if (bind_at(path, &fd, err) < 0)
		return err->code;
	if (open_to_all(path, file->label, fd, err) < 0 ||
	    put_in_place(file, path, ret_inode, err) < 0) {
		(void)unlink(path);
		return err->code;
	}
	*ret_fd = take_fd(fd);
	return 0;
}

/* Remove the file if it is still that inode: another process may have put its own there. */
static void handover_socket_remove(const char *path, uint64_t inode)
{
	struct stat st;

	if (lstat(path, &st) == 0 && st.st_ino == inode)
		(void)unlink(path);
}

/* Append the names of the sockets that are in the folder. */
static void handover_sockets_find(const char *folder, struct json_strs *ret_names)
{
	struct dir dir;
	const char *name;

	if (dir_open(&dir, AT_FDCWD, folder) < 0)
		return;
	while ((name = dir_next(&dir))) {
		size_t len = strlen(name);

		if (len > strlen(suffix) && strcmp(name + len - strlen(suffix), suffix) == 0)
			json_strs_add(ret_names, name);
	}
	dir_done(&dir);
}

/* When it was made first; false: there is none. */
static bool handover_socket_born(const char *path, int64_t *ret_ms)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	*ret_ms = (int64_t)st.st_mtim.tv_sec * SECOND_MS + st.st_mtim.tv_nsec / MS_NS;
	return true;
}

/* One socket. Freed by the close callback of its last handle. */
struct handover {
	struct handovers *all;
	struct handover *next;
	char *path;
	uint64_t inode; /* of its file */
	int listen_fd;
	int peer_fd; /* -1: no peer is connected */
	uv_poll_t listener;
	uv_poll_t peer; /* of peer_fd */
	bool peer_open; /* its handle is */
	struct clock_timer *deadline;
	struct clock_timer *ack;
	unsigned handles;
	bool over;
};

struct handovers {
	const struct this_node *node;
	const char *folder;
	const char *label; /* NULL: as it comes */
	handover_open_fn *open;
	void *arg;
	struct handover *items;
	size_t len;
};

/* --- the end ---------------------------------------------------------------------------------- */

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
	clock_timer_stop(h->all->node->clock, h->ack);
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
	h->deadline = clock_timer_free(all->node->clock, h->deadline);
	h->ack = clock_timer_free(all->node->clock, h->ack);
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

	log_info("a container did not fetch its descriptor in time", log_str("socket", h->path));
	finish(h);
}

/* --- connections ------------------------------------------------------------------------------ */

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
		log_info("descriptor handed over", log_str("socket", h->path));
		finish(h);
	} else {
		close_peer(h);
	}
}

/* True if the descriptor is on its way. */
static bool hand_over(const struct handover *h, int peer)
{
	const struct handovers *all = h->all;
	auto_close int fd = -1;
	struct err err = { 0 };
	int r = all->open(all->arg, &fd, &err);

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
	uv_poll_init(h->all->node->loop, &h->peer, h->peer_fd);
	h->peer.data = h;
	uv_poll_start(&h->peer, UV_READABLE, on_peer);
	clock_timer_start(h->all->node->clock, h->ack, HANDOVER_ACK_MS);
}

/* --- a new socket ----------------------------------------------------------------------------- */

/* That it can be opened is found out before a pod waits for it. */
static int try_open(const struct handovers *all, struct err *err)
{
	auto_close int fd = -1;

	return all->open(all->arg, &fd, err);
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
	h->deadline = clock_timer_new(all->node->clock, on_deadline, h);
	h->ack = clock_timer_new(all->node->clock, on_ack_missed, h);
	all->items = h;
	all->len++;
	h->handles = 1;
	uv_poll_init(all->node->loop, &h->listener, fd);
	h->listener.data = h;
	uv_poll_start(&h->listener, UV_READABLE, on_listener);
	clock_timer_start(all->node->clock, h->deadline, ms);
	return 0;
}

static struct handover_file file_of(const struct handovers *all, const char *name)
{
	return (struct handover_file){ .folder = all->folder,
				       .name = name,
				       .label = all->label,
				       .born_ms = clock_wall_ms(all->node->clock) };
}

int handovers_add(struct handovers *all, char **ret_path, struct err *err)
{
	auto_free char *name = xasprintf("%016" PRIx64 ".sock", clock_random(all->node->clock));
	struct handover_file file = file_of(all, name);

	if (all->len >= HANDOVERS_MAX)
		return err_set(err, ERR_RETRY, -EAGAIN,
			       "%d containers have not fetched their descriptor yet",
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

/* --- life ------------------------------------------------------------------------------------- */

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
		log_warn("cannot restore a socket of an earlier run", log_str("socket", name),
			 log_str("reason", err.msg));
	(void)unlink(path);
}

static void take_all_over(struct handovers *all)
{
	struct json_strs names = { 0 };

	handover_sockets_find(all->folder, &names);
	for (size_t i = 0; i < names.len; i++)
		take_over(all, names.items[i]);
	json_strs_done(&names);
}

struct handovers *handovers_new(const struct this_node *node, const char *folder, const char *label,
				handover_open_fn *open, void *arg)
{
	struct handovers *all = xcalloc(1, sizeof(*all));

	all->node = node;
	all->folder = folder;
	all->label = label;
	all->open = open;
	all->arg = arg;
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
