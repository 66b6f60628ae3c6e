#include "agent/helper/vf/vf_link.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/helper/vf/vf_message.h"
#include "base/err.h"
#include "base/mem.h"

enum {
	SEQ = 1,
	ANSWER_MAX = 1 << 20, /* an attribute has 64 KiB at most, and few are so long */
	ANSWERS_MAX = 16,
};

static int fail(const struct vf_link *link, const char *what, int code, struct err *err)
{
	return err_set(err, ERR_RETRY, code, "%s '%s' by rtnetlink: %s", what, link->interface,
		       strerror(-code));
}

/* Send @message and take answers until one is to it. */
static int ask(const struct vf_link *link, const char *what, const struct vf_message *message,
	       struct vf_reply *reply, struct err *err)
{
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	auto_free unsigned char *answer = xmalloc(ANSWER_MAX);

	if (fd < 0 || send(fd, message->data, message->len, 0) != (ssize_t)message->len)
		return fail(link, what, -errno, err);
	for (int i = 0; i < ANSWERS_MAX; i++) {
		ssize_t n = recv(fd, answer, ANSWER_MAX, 0);
		int r;

		if (n < 0)
			return fail(link, what, -errno, err);
		r = vf_message_take(answer, (size_t)n, SEQ, link->interface, reply, err);
		if (r < 0)
			return err_wrap(err, "%s '%s' by rtnetlink", what, link->interface);
		if (r == VF_ANSWER_LINK)
			return 0;
		if (r == VF_ANSWER_DONE)
			return reply->code < 0 ? fail(link, what, reply->code, err) : 0;
	}
	return fail(link, what, -EBADMSG, err);
}

static int read_settings(void *arg, const struct vf_link *link, struct vf_settings *ret_settings,
			 struct err *err)
{
	struct vf_reply reply = { 0 };
	struct vf_message message;
	int r;

	(void)arg;
	vf_message_ask(&message, link->ifindex, SEQ);
	r = ask(link, "read", &message, &reply, err);
	if (r < 0)
		vf_settings_done(&reply.settings);
	else
		*ret_settings = reply.settings;
	return r;
}

static int write_setting(void *arg, const struct vf_link *link, const struct vf_setting *want,
			 enum vf_field field, struct err *err)
{
	struct vf_reply reply = { 0 };
	struct vf_message message;
	int r;

	(void)arg;
	vf_message_set(&message, link->ifindex, SEQ, want, field);
	r = ask(link, "change", &message, &reply, err);
	vf_settings_done(&reply.settings);
	return r;
}

/* What cannot be found out is tried. */
static bool has_net_admin(void)
{
	struct __user_cap_header_struct self = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capget, &self, caps) != 0 ||
	       (caps[CAP_TO_INDEX(CAP_NET_ADMIN)].effective & CAP_TO_MASK(CAP_NET_ADMIN));
}

struct vf_links vf_links_running(void)
{
	return (struct vf_links){
		.read = read_settings,
		.write = write_setting,
		.is_admin = has_net_admin(),
	};
}
