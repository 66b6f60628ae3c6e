#include "agent/look/uevent_socket.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

enum {
	KERNEL_GROUP = 1,   /* the kernel's multicast group; 2 is udev's           */
	MESSAGE_MAX = 8192, /* UEVENT_BUFFER_SIZE is 2048, the header comes on top */
	BUFFER_BYTES = 8 << 20,
	MESSAGES_A_TURN = 512, /* then other descriptors have their turn */
};

struct uevent_socket {
	uv_poll_t poll;
	int fd;
	bool lost; /* messages were, and the rest of the queue has not been read yet */
	uevent_socket_fn *fn;
	void *arg;
};

static void handle_message(struct uevent_socket *s, char *data, size_t len)
{
	struct uevent event;
	struct err err = { 0 };
	enum uevent_hint hint;

	if (uevent_parse(data, len, &event, &err) < 0) {
		log_debug("uevent dropped", log_str("reason", err.msg));
		return;
	}
	hint = uevent_classify(&event);
	log_debug("uevent", log_str("action", event.action), log_str("path", event.devpath),
		  log_int("hint", hint));
	if (hint != UEVENT_IGNORE)
		s->fn(s->arg, hint, false);
}

/* The kernel drops all that comes until the queue has been read to its end (netlink_rcv_wake() of
 * net/netlink/af_netlink.c), so a look before then could miss what is dropped after it. */
static void tell_loss(struct uevent_socket *s)
{
	if (s->lost)
		s->fn(s->arg, UEVENT_DEVICE, true);
	s->lost = false;
}

/* One message; false when there is none left. */
static bool receive(struct uevent_socket *s)
{
	char data[MESSAGE_MAX];
	struct sockaddr_nl from = { 0 };
	socklen_t from_len = sizeof(from);
	ssize_t n = recvfrom(s->fd, data, sizeof(data), MSG_DONTWAIT, (struct sockaddr *)&from,
			     &from_len);

	if (n < 0 && errno == ENOBUFS) {
		log_warn("uevents lost, looking at everything again");
		tell_loss(s);
		s->lost = true;
		return true;
	}
	if (n < 0 && errno == EAGAIN)
		tell_loss(s);
	if (n <= 0)
		return n < 0 && errno == EINTR;
	/* Only the kernel sends with port id 0; another process could send to the group as well. */
	if (from.nl_pid == 0)
		handle_message(s, data, (size_t)n);
	return true;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct uevent_socket *s = poll->data;

	(void)events;
	/* Lost messages are an error of the socket, at which libuv stops the handle (uv__poll_io()
	 * of src/unix/poll.c) and says EBADF, whatever it was; the next read takes the error away. */
	if (status < 0)
		uv_poll_start(poll, UV_READABLE, on_readable);
	for (int i = 0; i < MESSAGES_A_TURN; i++) {
		if (!receive(s))
			return;
	}
}

static int open_socket(struct err *err)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP };
	auto_close int fd = -1;
	int bytes = BUFFER_BYTES;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open uevent socket: %s", strerror(errno));
	/* Best effort: SO_RCVBUFFORCE needs CAP_NET_ADMIN, SO_RCVBUF is capped by rmem_max. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		return err_set(err, ERR_RETRY, -errno, "bind uevent socket: %s", strerror(errno));
	return take_fd(fd);
}

int uevent_socket_new(struct uv_loop_s *loop, uevent_socket_fn *fn, void *arg,
		      struct uevent_socket **ret_socket, struct err *err)
{
	struct uevent_socket *s;
	int fd = open_socket(err);

	if (fd < 0)
		return fd;
	s = xcalloc(1, sizeof(*s));
	*s = (struct uevent_socket){ .fd = fd, .fn = fn, .arg = arg };
	uv_poll_init(loop, &s->poll, fd);
	s->poll.data = s;
	uv_poll_start(&s->poll, UV_READABLE, on_readable);
	*ret_socket = s;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct uevent_socket *s = handle->data;

	close(s->fd);
	free(s);
}

struct uevent_socket *uevent_socket_free(struct uevent_socket *s)
{
	if (s)
		uv_close((uv_handle_t *)&s->poll, on_closed);
	return NULL;
}
