/* route_message: what messages of a route netlink socket ask for, from bytes made here. */
#include "agent/monitor/route_message.h"

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/str.h"
#include "unit/suite.h"

/* A link: its kind, and that of what it is a part of; NULL for none. */
struct link {
	unsigned char family;
	const char *kind;
	const char *slave_kind;
};

static void pad(struct str *bytes)
{
	while (bytes->len % NLMSG_ALIGNTO != 0)
		str_add_char(bytes, '\0');
}

static void add_attribute(struct str *bytes, unsigned short type, const void *value, size_t len)
{
	const struct rtattr head = { .rta_type = type,
				     .rta_len = (unsigned short)(sizeof(head) + len) };

	pad(bytes);
	str_add_mem(bytes, &head, sizeof(head));
	str_add_mem(bytes, value, len);
}

static void add_text(struct str *bytes, unsigned short type, const char *text)
{
	if (text)
		add_attribute(bytes, type, text, strlen(text) + 1);
}

static void add_message(struct str *bytes, unsigned short type, const struct str *body)
{
	const struct nlmsghdr head = { .nlmsg_type = type,
				       .nlmsg_len = (unsigned)(sizeof(head) + body->len) };

	pad(bytes);
	str_add_mem(bytes, &head, sizeof(head));
	str_add_mem(bytes, body->buf, body->len);
}

static void add_link(struct str *bytes, unsigned short type, const struct link *link)
{
	const struct ifinfomsg info = { .ifi_family = link->family, .ifi_index = 7 };
	const unsigned master = 5;
	auto_str struct str nest = STR_INIT;
	auto_str struct str body = STR_INIT;

	str_add_mem(&body, &info, sizeof(info));
	add_text(&body, IFLA_IFNAME, "veth9d1c"); /* a name says nothing */
	add_attribute(&body, IFLA_MASTER, &master, sizeof(master));
	add_text(&nest, IFLA_INFO_SLAVE_KIND, link->slave_kind);
	add_text(&nest, IFLA_INFO_KIND, link->kind);
	if (nest.len > 0)
		add_attribute(&body, IFLA_LINKINFO, nest.buf, nest.len);
	add_attribute(&body, IFLA_OPERSTATE, "\6", 1);
	add_message(bytes, type, &body);
}

static void add_other(struct str *bytes, unsigned short type)
{
	auto_str struct str body = STR_INIT;

	str_add_mem(&body, "\2\0\0\0\0\0\0\0\0\0\0\0", 12);
	add_message(bytes, type, &body);
}

static struct link_case {
	const char *name;
	struct link link;
	enum route_news news;
} links[] = {
	{ "a card, which has no kind", { AF_UNSPEC, NULL, NULL }, ROUTE_NEWS_LINK },
	{ "a card that becomes part of a bridge", { AF_UNSPEC, NULL, "bridge" }, ROUTE_NEWS_LINK },
	{ "a card that becomes part of a bond", { AF_UNSPEC, NULL, "bond" }, ROUTE_NEWS_LINK },
	{ "a bridge", { AF_UNSPEC, "bridge", NULL }, ROUTE_NEWS_LINK },
	{ "a bond that becomes part of a bridge",
	  { AF_UNSPEC, "bond", "bridge" },
	  ROUTE_NEWS_LINK },
	{ "a VLAN", { AF_UNSPEC, "vlan", NULL }, ROUTE_NEWS_LINK },
	{ "a MACVLAN", { AF_UNSPEC, "macvlan", NULL }, ROUTE_NEWS_LINK },
	{ "an IPVLAN", { AF_UNSPEC, "ipvlan", NULL }, ROUTE_NEWS_LINK },
	{ "a pod's veth", { AF_UNSPEC, "veth", NULL }, ROUTE_NEWS_NOTHING },
	{ "a pod's veth in a bridge", { AF_UNSPEC, "veth", "bridge" }, ROUTE_NEWS_NOTHING },
	{ "a pod's netkit", { AF_UNSPEC, "netkit", NULL }, ROUTE_NEWS_NOTHING },
	{ "a kind that begins like veth", { AF_UNSPEC, "vethx", NULL }, ROUTE_NEWS_LINK },
	{ "a kind that veth begins like", { AF_UNSPEC, "vet", NULL }, ROUTE_NEWS_LINK },
	{ "an empty kind", { AF_UNSPEC, "", NULL }, ROUTE_NEWS_LINK },
	{ "a part of something of the kind veth", { AF_UNSPEC, NULL, "veth" }, ROUTE_NEWS_LINK },
	{ "what a bridge says of its port", { AF_BRIDGE, NULL, NULL }, ROUTE_NEWS_NOTHING },
};

/* In memory that ends where the message ends, so that the sanitizers see one byte more. */
static enum route_news read_exact(const char *data, size_t len)
{
	auto_free char *copy = xmalloc(len > 0 ? len : 1);

	if (len > 0)
		memcpy(copy, data, len);
	return route_message_read(copy, len);
}

static void link_matches_table(void **state)
{
	const struct link_case *c = *state;
	auto_str struct str made = STR_INIT;
	auto_str struct str removed = STR_INIT;

	add_link(&made, RTM_NEWLINK, &c->link);
	add_link(&removed, RTM_DELLINK, &c->link);
	assert_int_equal(read_exact(made.buf, made.len), c->news);
	assert_int_equal(read_exact(removed.buf, removed.len), c->news);
}

static void routes_and_addresses_are_to_be_read(void **state)
{
	static const unsigned short types[] = { RTM_NEWROUTE, RTM_DELROUTE, RTM_NEWADDR,
						RTM_DELADDR };

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		auto_str struct str bytes = STR_INIT;

		add_other(&bytes, types[i]);
		assert_int_equal(read_exact(bytes.buf, bytes.len), ROUTE_NEWS_ROUTES);
	}
}

static void the_weightiest_of_several_counts(void **state)
{
	static const struct link veth = { AF_UNSPEC, "veth", NULL };
	static const struct link card = { AF_UNSPEC, NULL, NULL };
	auto_str struct str bytes = STR_INIT;

	assert_int_equal(read_exact("", 0), ROUTE_NEWS_NOTHING);
	add_link(&bytes, RTM_NEWLINK, &veth);
	add_link(&bytes, RTM_DELLINK, &veth);
	assert_int_equal(read_exact(bytes.buf, bytes.len), ROUTE_NEWS_NOTHING);
	add_other(&bytes, RTM_NEWADDR);
	add_link(&bytes, RTM_DELLINK, &veth);
	assert_int_equal(read_exact(bytes.buf, bytes.len), ROUTE_NEWS_ROUTES);
	add_link(&bytes, RTM_NEWLINK, &card);
	add_link(&bytes, RTM_NEWLINK, &veth);
	assert_int_equal(read_exact(bytes.buf, bytes.len), ROUTE_NEWS_LINK);
}

static void a_message_of_another_type_may_be_about_a_link(void **state)
{
	auto_str struct str bytes = STR_INIT;

	add_other(&bytes, NLMSG_OVERRUN);
	assert_int_equal(read_exact(bytes.buf, bytes.len), ROUTE_NEWS_LINK);
}

/* Cut anywhere, a veth's message is not taken for less than it is, unless what is cut off follows
 * its kind; the length in its header is that of the cut then. */
static void a_cut_message_may_be_about_a_link(void **state)
{
	static const struct link veth = { AF_UNSPEC, "veth", NULL };
	auto_str struct str bytes = STR_INIT;
	size_t kind_end;

	add_link(&bytes, RTM_NEWLINK, &veth);
	kind_end = bytes.len - (sizeof(struct rtattr) + 1) - 3; /* before its padding */
	for (size_t len = 1; len < bytes.len; len++)
		assert_int_equal(read_exact(bytes.buf, len), ROUTE_NEWS_LINK);
	for (size_t len = sizeof(struct nlmsghdr); len < bytes.len; len++) {
		const struct nlmsghdr head = { .nlmsg_type = RTM_NEWLINK,
					       .nlmsg_len = (unsigned)len };

		memcpy(bytes.buf, &head, sizeof(head));
		assert_int_equal(read_exact(bytes.buf, len),
				 len < kind_end ? ROUTE_NEWS_LINK : ROUTE_NEWS_NOTHING);
	}
}

/* Whichever bytes are spoilt, nothing outside the message is read. */
static void any_bytes_are_some_news(void **state)
{
	static const struct link veth = { AF_UNSPEC, "veth", "bridge" };
	auto_str struct str bytes = STR_INIT;
	uint64_t seed = 7;

	add_link(&bytes, RTM_NEWLINK, &veth);
	add_other(&bytes, RTM_NEWROUTE);
	for (int i = 0; i < 20000; i++) {
		auto_free char *spoilt = xmalloc(bytes.len);

		memcpy(spoilt, bytes.buf, bytes.len);
		for (int k = 0; k < 3; k++)
			spoilt[suite_random(&seed) % bytes.len] = (char)suite_random(&seed);
		assert_in_range(route_message_read(spoilt, bytes.len), ROUTE_NEWS_NOTHING,
				ROUTE_NEWS_LINK);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, links, link_matches_table);
	suite_add(&suite, "routes and addresses are to be read",
		  routes_and_addresses_are_to_be_read, NULL);
	suite_add(&suite, "the weightiest of several counts", the_weightiest_of_several_counts,
		  NULL);
	suite_add(&suite, "a message of another type may be about a link",
		  a_message_of_another_type_may_be_about_a_link, NULL);
	suite_add(&suite, "a cut message may be about a link", a_cut_message_may_be_about_a_link,
		  NULL);
	suite_add(&suite, "any bytes are some news", any_bytes_are_some_news, NULL);
	return suite_run(&suite, "route_message");
}
