#include "agent/helper/vf/vf_message.h"

#include <assert.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/num.h"

enum { ALIGN = 4, MAC_LEN = 6, NESTED = 1 << 15, TYPE_MASK = 0x3fff };

/* --- out -------------------------------------------------------------------------------------- */

static void put(struct vf_message *message, const void *data, size_t len)
{
	size_t padded = (len + ALIGN - 1) / ALIGN * ALIGN;

	assert(message->len + padded <= sizeof(message->data));
	memset(message->data + message->len, 0, padded);
	memcpy(message->data + message->len, data, len);
	message->len += padded;
}

/* Begin an attribute; attr_end() fills in its length. */
static size_t attr_begin(struct vf_message *message, unsigned type)
{
	struct rtattr head = { .rta_type = (unsigned short)type };
	size_t at = message->len;

	put(message, &head, sizeof(head));
	return at;
}

static void attr_end(struct vf_message *message, size_t at)
{
	unsigned short len = (unsigned short)(message->len - at);

	memcpy(message->data + at + offsetof(struct rtattr, rta_len), &len, sizeof(len));
}

static void attr_put(struct vf_message *message, unsigned type, const void *data, size_t len)
{
	size_t at = attr_begin(message, type);

	put(message, data, len);
	attr_end(message, at);
}

static void begin(struct vf_message *message, unsigned type, int ifindex, uint32_t seq)
{
	struct nlmsghdr head = {
		.nlmsg_type = (unsigned short)type,
		.nlmsg_flags = NLM_F_REQUEST,
		.nlmsg_seq = seq,
	};
	struct ifinfomsg info = { .ifi_family = AF_UNSPEC, .ifi_index = ifindex };

	if (type == RTM_SETLINK)
		head.nlmsg_flags |= NLM_F_ACK;
	message->len = 0;
	put(message, &head, sizeof(head));
	put(message, &info, sizeof(info));
}

static void end(struct vf_message *message)
{
	uint32_t len = (uint32_t)message->len;

	memcpy(message->data + offsetof(struct nlmsghdr, nlmsg_len), &len, sizeof(len));
}

void vf_message_ask(struct vf_message *message, int ifindex, uint32_t seq)
{
	uint32_t mask = RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS;

	begin(message, RTM_GETLINK, ifindex, seq);
	attr_put(message, IFLA_EXT_MASK, &mask, sizeof(mask));
	end(message);
}

static void put_mac(struct vf_message *message, const struct vf_setting *want)
{
	struct ifla_vf_mac mac = { .vf = (uint32_t)want->index };

	for (size_t i = 0; i < MAC_LEN; i++) {
		char digits[3] = { want->mac[i * 3], want->mac[i * 3 + 1], '\0' };
		uint64_t byte = 0;

		(void)str_to_hex(digits, &byte);
		mac.mac[i] = (unsigned char)byte;
	}
	attr_put(message, IFLA_VF_MAC, &mac, sizeof(mac));
}

static void put_field(struct vf_message *message, const struct vf_setting *want,
		      enum vf_field field)
{
	uint32_t index = (uint32_t)want->index;
	struct ifla_vf_vlan vlan = { index, (uint32_t)want->vlan,
				     want->qos < 0 ? 0 : (uint32_t)want->qos };
	struct ifla_vf_trust trust = { index, (uint32_t)want->trust };
	struct ifla_vf_spoofchk spoof = { index, (uint32_t)want->spoof_check };

	switch (field) {
	case VF_FIELD_MAC:
		put_mac(message, want);
		return;
	case VF_FIELD_VLAN:
		attr_put(message, IFLA_VF_VLAN, &vlan, sizeof(vlan));
		return;
	case VF_FIELD_TRUST:
		attr_put(message, IFLA_VF_TRUST, &trust, sizeof(trust));
		return;
	case VF_FIELD_SPOOF_CHECK:
		attr_put(message, IFLA_VF_SPOOFCHK, &spoof, sizeof(spoof));
		return;
	case VF_FIELDS:
		break;
	}
	assert(field < VF_FIELDS);
}

void vf_message_set(struct vf_message *message, int ifindex, uint32_t seq,
		    const struct vf_setting *want, enum vf_field field)
{
	size_t list;
	size_t one;

	begin(message, RTM_SETLINK, ifindex, seq);
	list = attr_begin(message, IFLA_VFINFO_LIST | NESTED);
	one = attr_begin(message, IFLA_VF_INFO | NESTED);
	put_field(message, want, field);
	attr_end(message, one);
	attr_end(message, list);
	end(message);
}

/* --- in --------------------------------------------------------------------------------------- */

/* Bytes that hold attributes, or one attribute's own. */
struct span {
	const unsigned char *at;
	size_t len;
};

/* Take the next attribute off @rest; false at the end, or where the rest is none. */
static bool attr_next(struct span *rest, unsigned *ret_type, struct span *ret_value)
{
	struct rtattr head;
	size_t padded;

	if (rest->len < sizeof(head))
		return false;
	memcpy(&head, rest->at, sizeof(head));
	if (head.rta_len < sizeof(head) || head.rta_len > rest->len)
		return false;
	*ret_type = head.rta_type & TYPE_MASK;
	*ret_value = (struct span){ rest->at + sizeof(head), head.rta_len - sizeof(head) };
	padded = ((size_t)head.rta_len + ALIGN - 1) / ALIGN * ALIGN;
	padded = padded < rest->len ? padded : rest->len;
	rest->at += padded;
	rest->len -= padded;
	return true;
}

/* Each of them begins with the number of the virtual function. */
static bool take_words(struct span value, uint32_t *words, size_t len)
{
	if (value.len < len * sizeof(*words))
		return false;
	memcpy(words, value.at, len * sizeof(*words));
	return words[0] <= VF_INDEX_MAX;
}

static int switch_of(uint32_t word)
{
	return word <= 1 ? (int)word : -1; /* all ones: the driver has no such switch */
}

static void take_mac(struct span value, struct vf_setting *setting)
{
	const unsigned char *mac = value.at + sizeof(uint32_t);

	if (value.len >= sizeof(uint32_t) + MAC_LEN)
		(void)snprintf(setting->mac, sizeof(setting->mac), "%02x:%02x:%02x:%02x:%02x:%02x",
			       mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

static void take_field(unsigned type, struct span value, struct vf_setting *setting)
{
	uint32_t words[3] = { 0 };

	if (!take_words(value, words, type == IFLA_VF_VLAN ? 3 : 2))
		return;
	setting->index = (int)words[0];
	if (type == IFLA_VF_MAC)
		take_mac(value, setting);
	if (type == IFLA_VF_VLAN) {
		setting->vlan = words[1] <= VF_VLAN_MAX ? (int)words[1] : -1;
		setting->qos = words[2] <= VF_QOS_MAX ? (int)words[2] : -1;
	}
	if (type == IFLA_VF_SPOOFCHK)
		setting->spoof_check = switch_of(words[1]);
	if (type == IFLA_VF_TRUST)
		setting->trust = switch_of(words[1]);
}

static void take_function(struct span list, struct vf_settings *settings)
{
	struct vf_setting *setting = vf_settings_add(settings, -1);
	struct span value;
	unsigned type;

	while (attr_next(&list, &type, &value))
		take_field(type, value, setting);
	if (setting->index < 0)
		settings->len--;
}

static void take_list(struct span list, struct vf_settings *settings)
{
	struct span value;
	unsigned type;

	while (settings->len <= VF_INDEX_MAX && attr_next(&list, &type, &value)) {
		if (type == IFLA_VF_INFO)
			take_function(value, settings);
	}
}

static int take_link(struct span rest, const char *name, struct vf_settings *settings,
		     struct err *err)
{
	struct span value;
	unsigned type;
	bool ours = false;

	if (rest.len < sizeof(struct ifinfomsg))
		return err_set(err, ERR_RETRY, -EBADMSG, "the kernel's answer is cut off");
	rest.at += sizeof(struct ifinfomsg);
	rest.len -= sizeof(struct ifinfomsg);
	while (attr_next(&rest, &type, &value)) {
		if (type == IFLA_IFNAME)
			ours = value.len == strlen(name) + 1 &&
			       memcmp(value.at, name, value.len) == 0;
		if (type == IFLA_VFINFO_LIST)
			take_list(value, settings);
	}
	if (ours)
		return VF_ANSWER_LINK;
	vf_settings_done(settings);
	return err_set(err, ERR_RETRY, -ENODEV,
		       "the interface '%s' is not in the network namespace of hostdev", name);
}

int vf_message_take(const void *data, size_t len, uint32_t seq, const char *name,
		    struct vf_reply *reply, struct err *err)
{
	struct span rest = { data, len };
	struct nlmsghdr head;
	int32_t code;

	if (len < sizeof(head))
		return err_set(err, ERR_RETRY, -EBADMSG, "the kernel's answer is cut off");
	memcpy(&head, data, sizeof(head));
	if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > len)
		return err_set(err, ERR_RETRY, -EBADMSG, "the kernel's answer is cut off");
	if (head.nlmsg_seq != seq)
		return VF_ANSWER_OTHER;
	rest = (struct span){ rest.at + sizeof(head), head.nlmsg_len - sizeof(head) };
	if (head.nlmsg_type == RTM_NEWLINK)
		return take_link(rest, name, &reply->settings, err);
	if (head.nlmsg_type != NLMSG_ERROR)
		return VF_ANSWER_OTHER;
	if (rest.len < sizeof(code))
		return err_set(err, ERR_RETRY, -EBADMSG, "the kernel's answer is cut off");
	memcpy(&code, rest.at, sizeof(code));
	reply->code = code < 0 ? code : 0;
	return VF_ANSWER_DONE;
}
