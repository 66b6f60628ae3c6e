#include "agent/monitor/route_message.h"

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"

/* Bytes that have not been read yet. */
struct rest {
	const unsigned char *at;
	size_t len;
};

/* Take @len bytes, and the padding to the next multiple of four, which may be missing at the
 * end. */
static struct rest take(struct rest *rest, size_t len)
{
	const struct rest taken = { rest->at, len };
	size_t padded = NLMSG_ALIGN(len);

	padded = padded < rest->len ? padded : rest->len;
	rest->at += padded;
	rest->len -= padded;
	return taken;
}

/* Copy the header at the beginning, which stays there; false if there is less. */
static bool peek(const struct rest *rest, void *ret_head, size_t size)
{
	if (rest->len < size)
		return false;
	memcpy(ret_head, rest->at, size);
	return true;
}

/* The next attribute, without its header; false if there is none or it is cut. */
static bool next_attribute(struct rest *rest, unsigned short *ret_type, struct rest *ret_value)
{
	struct rtattr head;

	if (!peek(rest, &head, sizeof(head)) || head.rta_len < sizeof(head) ||
	    head.rta_len > rest->len)
		return false;
	*ret_value = take(rest, head.rta_len);
	ret_value->at += sizeof(head);
	ret_value->len -= sizeof(head);
	*ret_type = (unsigned short)(head.rta_type & (unsigned)NLA_TYPE_MASK);
	return true;
}

static bool find_attribute(struct rest rest, unsigned short type, struct rest *ret_value)
{
	unsigned short found;

	while (next_attribute(&rest, &found, ret_value)) {
		if (found == type)
			return true;
	}
	return false;
}

static bool is_pods_kind(struct rest kind)
{
	static const char *const kinds[] = { "veth", "netkit" };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t len = strlen(kinds[i]) + 1; /* nla_put_string() of net/netlink */

		if (kind.len == len && memcmp(kind.at, kinds[i], len) == 0)
			return true;
	}
	return false;
}

static enum route_news read_link(struct rest rest)
{
	struct ifinfomsg link;
	struct rest info;
	struct rest kind;

	if (!peek(&rest, &link, sizeof(link)))
		return ROUTE_NEWS_LINK;
	if (link.ifi_family == AF_BRIDGE)
		return ROUTE_NEWS_NOTHING;
	(void)take(&rest, sizeof(link));
	if (find_attribute(rest, IFLA_LINKINFO, &info) &&
	    find_attribute(info, IFLA_INFO_KIND, &kind) && is_pods_kind(kind))
		return ROUTE_NEWS_NOTHING;
	return ROUTE_NEWS_LINK;
}

static enum route_news read_one(unsigned type, struct rest body)
{
	switch (type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		return read_link(body);
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
	case RTM_NEWADDR:
	case RTM_DELADDR:
		return ROUTE_NEWS_ROUTES;
	default:
		return ROUTE_NEWS_LINK;
	}
}

enum route_news route_message_read(const void *data, size_t len)
{
	struct rest rest = { data, len };
	enum route_news news = ROUTE_NEWS_NOTHING;

	while (rest.len > 0) {
		enum route_news one;
		struct nlmsghdr head;
		struct rest body;

		if (!peek(&rest, &head, sizeof(head)) || head.nlmsg_len < sizeof(head) ||
		    head.nlmsg_len > rest.len)
			return ROUTE_NEWS_LINK;
		body = take(&rest, head.nlmsg_len);
		(void)take(&body, sizeof(head));
		one = read_one(head.nlmsg_type, body);
		if (one > news)
			news = one;
	}
	return news;
}
