#include "agent/monitor/uevent.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

/* --- the socket ------------------------------------------------------------------------------- */

enum {
	KERNEL_GROUP = 1,   /* the kernel's multicast group; 2 is udev's           */
	MESSAGE_MAX = 8192, /* UEVENT_BUFFER_SIZE is 2048, the header comes on top */
	BUFFER_BYTES = 8 << 20,
	MESSAGES_A_TURN = 512, /* then other descriptors have their turn */
};

struct uevent_socket {
	uv_poll_t poll;
	int fd;
	bool lost; /* messages were lost, and the rest of the queue has not been read yet */
	uevent_socket_fn *fn;
	void *arg;
};

static void handle_message(struct uevent_socket *s, char *data, size_t len)
{
	struct uevent event = { .action = "", .subsystem = "", .devpath = "", .mdev_state = "" };
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
 * net/netlink/af_netlink.c), so a scan before then could miss what is dropped after it. */
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
	 * of src/unix/poll.c) and says EBADF, whatever it was; the next read takes the error
	 * away. */
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

/* --- messages --------------------------------------------------------------------------------- */

static const struct {
	const char *subsystem;
	enum uevent_hint hint;
} hints[] = {
	{ "pci", UEVENT_DEVICE },      { "usb", UEVENT_DEVICE },  { "iommu", UEVENT_DEVICE },
	{ "vfio-dev", UEVENT_DEVICE }, { "mdev", UEVENT_DEVICE }, { "net", UEVENT_LAZY },
	{ "block", UEVENT_LAZY },
};

static void take_value(struct uevent *event, const char *pair)
{
	static const char subsystem[] = "SUBSYSTEM=";
	static const char mdev_state[] = "MDEV_STATE=";

	if (strncmp(pair, subsystem, sizeof(subsystem) - 1) == 0)
		event->subsystem = pair + sizeof(subsystem) - 1;
	else if (strncmp(pair, mdev_state, sizeof(mdev_state) - 1) == 0)
		event->mdev_state = pair + sizeof(mdev_state) - 1;
}

int uevent_parse(char *data, size_t len, struct uevent *ret_event, struct err *err)
{
	struct uevent event = { .action = "", .subsystem = "", .devpath = "", .mdev_state = "" };
	char *end = data + len;
	char *at;

	if (len == 0)
		return err_set(err, ERR_INVALID, -EINVAL, "empty uevent");
	end[-1] = '\0';

	at = strchr(data, '@');
	if (!at || at == data || at[1] != '/')
		return err_set(err, ERR_INVALID, -EINVAL, "uevent does not begin with action@path");
	*at = '\0';
	event.action = data;
	event.devpath = at + 1;

	for (char *pair = at + strlen(at + 1) + 2; pair < end; pair += strlen(pair) + 1)
		take_value(&event, pair);
	*ret_event = event;
	return 0;
}

/*
 * A network interface without hardware of its own, such as a pod's veth. What becomes of the
 * hardware below a bridge, bond or VLAN, the route netlink socket tells (host_watch.h): the kernel
 * sends uevents of interfaces into their network namespace alone (kobject_uevent_net_broadcast() of
 * lib/kobject_uevent.c, since 4.18), where it also reports links.
 */
static bool is_virtual_interface(const struct uevent *event)
{
	static const char folder[] = "/devices/virtual/net/";

	return strcmp(event->subsystem, "net") == 0 &&
	       strncmp(event->devpath, folder, sizeof(folder) - 1) == 0;
}

enum uevent_hint uevent_classify(const struct uevent *event)
{
	if (is_virtual_interface(event))
		return UEVENT_IGNORE;
	for (size_t i = 0; i < ARRAY_LEN(hints); i++) {
		if (strcmp(hints[i].subsystem, event->subsystem) == 0)
			return hints[i].hint;
	}
	return event->mdev_state[0] ? UEVENT_DEVICE : UEVENT_IGNORE;
}
