/* vf_message: the bytes that rtnetlink is asked with, and what its answers say. */
#include "agent/helper/vf/vf_message.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

/* Bytes as "20 00 ...", in this machine's order. */
static char *hex(const unsigned char *data, size_t len)
{
	struct str out = STR_INIT;

	for (size_t i = 0; i < len; i++)
		str_addf(&out, "%s%02x", i ? i % 4 ? "" : " " : "", data[i]);
	return str_detach(&out);
}

#define HEAD(len, type, flags) len " " type "00" flags "00 07000000 00000000 "
#define INFO                   "00000000 05000000 00000000 00000000 "

static struct out_case {
	const char *name;
	struct vf_setting want;
	enum vf_field field;
	const char *bytes;
} outs[] = {
	{ "a MAC address",
	  { .index = 3, .mac = "02:00:00:00:0a:ff" },
	  VF_FIELD_MAC,
	  HEAD("50000000", "13", "05") INFO
	  "30001680 2c000180 28000100 03000000 02000000 0aff0000 "
	  "00000000 00000000 00000000 00000000 00000000 00000000" },
	{ "a VLAN with its priority",
	  { .index = 1, .vlan = 4094, .qos = 7 },
	  VF_FIELD_VLAN,
	  HEAD("38000000", "13", "05") INFO
	  "18001680 14000180 10000200 01000000 fe0f0000 07000000" },
	{ "a VLAN alone has priority 0",
	  { .index = 1, .vlan = 5, .qos = -1 },
	  VF_FIELD_VLAN,
	  HEAD("38000000", "13", "05") INFO
	  "18001680 14000180 10000200 01000000 05000000 00000000" },
	{ "trust",
	  { .index = 258, .trust = 1 },
	  VF_FIELD_TRUST,
	  HEAD("34000000", "13", "05") INFO "14001680 10000180 0c000900 02010000 01000000" },
	{ "no spoof check",
	  { .index = 0, .spoof_check = 0 },
	  VF_FIELD_SPOOF_CHECK,
	  HEAD("34000000", "13", "05") INFO "14001680 10000180 0c000400 00000000 00000000" },
};

static void requests_are_these_bytes(void **state)
{
	const struct out_case *c = *state;
	struct vf_message message;
	auto_free char *bytes = NULL;

	vf_message_set(&message, 5, 7, &c->want, c->field);
	bytes = hex(message.data, message.len);
	assert_string_equal(bytes, c->bytes);
}

static void the_question_is_these_bytes(void **state)
{
	struct vf_message message;
	auto_free char *bytes = NULL;

	vf_message_ask(&message, 5, 7);
	bytes = hex(message.data, message.len);
	assert_string_equal(bytes, HEAD("28000000", "12", "01") INFO "08001d00 09000000");
}

/* --- answers, put together here --------------------------------------------------------------- */

static void word(struct str *out, uint32_t value)
{
	str_add_mem(out, &value, sizeof(value));
}

static void attr(struct str *out, uint16_t type, const void *data, size_t len)
{
	uint16_t head[2] = { (uint16_t)(len + 4), type };

	str_add_mem(out, head, sizeof(head));
	str_add_mem(out, data, len);
	while (out->len % 4)
		str_add_char(out, '\0');
}

static void pair(struct str *out, uint16_t type, uint32_t vf, uint32_t value)
{
	uint32_t words[2] = { vf, value };

	attr(out, type, words, sizeof(words));
}

static void function(struct str *list, uint32_t vf, uint32_t spoof)
{
	static const unsigned char mac[6] = { 2, 0, 0, 0, 0, 0xb0 };
	auto_str struct str one = STR_INIT;
	struct ifla_vf_mac has_mac = { .vf = vf };
	struct ifla_vf_vlan vlan = { vf, 100, 3 };

	memcpy(has_mac.mac, mac, sizeof(mac));
	attr(&one, IFLA_VF_MAC, &has_mac, sizeof(has_mac));
	attr(&one, IFLA_VF_VLAN, &vlan, sizeof(vlan));
	pair(&one, IFLA_VF_TX_RATE, vf, 9);
	pair(&one, IFLA_VF_SPOOFCHK, vf, spoof);
	pair(&one, IFLA_VF_TRUST, vf, 0);
	attr(list, IFLA_VF_INFO, one.buf, one.len);
}

/* An RTM_NEWLINK for @name with two virtual functions, to the request 7. */
static void answer(struct str *out, const char *name)
{
	auto_str struct str body = STR_INIT;
	auto_str struct str list = STR_INIT;
	struct ifinfomsg info = { .ifi_index = 5 };
	uint32_t seq = 7;

	str_add_mem(&body, &info, sizeof(info));
	attr(&body, IFLA_IFNAME, name, strlen(name) + 1);
	function(&list, 0, 1);
	function(&list, 1, UINT32_MAX);
	attr(&body, IFLA_VFINFO_LIST, list.buf, list.len);
	word(out, (uint32_t)(sizeof(struct nlmsghdr) + body.len));
	word(out, RTM_NEWLINK);
	word(out, seq);
	word(out, 0);
	str_add_mem(out, body.buf, body.len);
}

static void an_interface_shows_its_virtual_functions(void **state)
{
	auto_str struct str out = STR_INIT;
	struct vf_reply reply = { 0 };
	const struct vf_setting *one;
	struct err err = { 0 };

	answer(&out, "eth7");
	assert_int_equal(vf_message_take(out.buf, out.len, 7, "eth7", &reply, &err),
			 VF_ANSWER_LINK);
	assert_int_equal(reply.settings.len, 2);
	one = vf_settings_find(&reply.settings, 1);
	assert_string_equal(one->mac, "02:00:00:00:00:b0");
	assert_int_equal(one->vlan, 100);
	assert_int_equal(one->qos, 3);
	assert_int_equal(one->trust, 0);
	assert_int_equal(one->spoof_check, -1); /* the driver has no such switch */
	assert_int_equal(reply.settings.items[0].spoof_check, 1);
	assert_null(vf_settings_find(&reply.settings, 2));
	vf_settings_done(&reply.settings);
}

static void another_interface_is_an_error(void **state)
{
	auto_str struct str out = STR_INIT;
	struct vf_reply reply = { 0 };
	struct err err = { 0 };

	answer(&out, "eth70");
	assert_int_equal(vf_message_take(out.buf, out.len, 7, "eth7", &reply, &err), -ENODEV);
	assert_int_equal(reply.settings.len, 0);
}

static void an_answer_to_something_else_is_passed_over(void **state)
{
	auto_str struct str out = STR_INIT;
	struct vf_reply reply = { 0 };
	struct err err = { 0 };

	answer(&out, "eth7");
	assert_int_equal(vf_message_take(out.buf, out.len, 8, "eth7", &reply, &err),
			 VF_ANSWER_OTHER);
	assert_int_equal(reply.settings.len, 0);
}

static void an_answer_that_is_cut_off_hurts_nobody(void **state)
{
	auto_str struct str out = STR_INIT;

	answer(&out, "eth7");
	for (size_t len = 0; len < out.len; len++) {
		auto_free unsigned char *part = xmalloc(len + 1);
		struct vf_reply reply = { 0 };
		struct err err = { 0 };

		memcpy(part, out.buf, len);
		assert_int_equal(vf_message_take(part, len, 7, "eth7", &reply, &err), -EBADMSG);
	}
}

/* Whatever a length inside says, nothing behind the message is read: the sanitizer's business. */
static void lengths_inside_are_not_believed(void **state)
{
	auto_str struct str out = STR_INIT;

	answer(&out, "eth7");
	for (size_t at = sizeof(struct nlmsghdr); at < out.len; at++) {
		auto_free unsigned char *odd = xmalloc(out.len);
		struct vf_reply reply = { 0 };
		struct err err = { 0 };

		memcpy(odd, out.buf, out.len);
		odd[at] = 0xff;
		(void)vf_message_take(odd, out.len, 7, "eth7", &reply, &err);
		assert_true(reply.settings.len <= 2);
		vf_settings_done(&reply.settings);
	}
}

static struct done_case {
	const char *name;
	int32_t code;
	int want;
} dones[] = {
	{ "carried out", 0, 0 },
	{ "refused", -EOPNOTSUPP, -EOPNOTSUPP },
	{ "a number that is no error", 5, 0 },
};

static void acknowledgements_have_a_code(void **state)
{
	const struct done_case *c = *state;
	auto_str struct str out = STR_INIT;
	struct vf_reply reply = { .code = 1 };
	struct err err = { 0 };

	word(&out, sizeof(struct nlmsghdr) + 20);
	word(&out, NLMSG_ERROR);
	word(&out, 7);
	word(&out, 0);
	word(&out, (uint32_t)c->code);
	for (int i = 0; i < 4; i++)
		word(&out, 0);
	assert_int_equal(vf_message_take(out.buf, out.len, 7, "eth7", &reply, &err),
			 VF_ANSWER_DONE);
	assert_int_equal(reply.code, c->want);
}

static struct differs_case {
	const char *name;
	struct vf_setting want;
	struct vf_setting have;
	enum vf_field field;
	bool differs;
} differences[] = {
	{ "what is not asked for never differs",
	  { .vlan = -1 },
	  { .vlan = 5 },
	  VF_FIELD_VLAN,
	  false },
	{ "a VLAN without a priority wants priority 0",
	  { .vlan = 5, .qos = -1 },
	  { .vlan = 5, .qos = 2 },
	  VF_FIELD_VLAN,
	  true },
	{ "the same VLAN and priority",
	  { .vlan = 5, .qos = 2 },
	  { .vlan = 5, .qos = 2 },
	  VF_FIELD_VLAN,
	  false },
	{ "another MAC address",
	  { .mac = "02:00:00:00:00:01" },
	  { .mac = "02:00:00:00:00:02" },
	  VF_FIELD_MAC,
	  true },
	{ "trust that the kernel does not tell",
	  { .trust = 0 },
	  { .trust = -1 },
	  VF_FIELD_TRUST,
	  true },
	{ "spoof check that is off as it should be",
	  { .spoof_check = 0 },
	  { .spoof_check = 0 },
	  VF_FIELD_SPOOF_CHECK,
	  false },
};

static void differences_are_seen(void **state)
{
	const struct differs_case *c = *state;

	assert_int_equal(vf_setting_differs(&c->want, &c->have, c->field), c->differs);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, outs, requests_are_these_bytes);
	suite_add(&suite, "the question", the_question_is_these_bytes, NULL);
	suite_add(&suite, "an interface shows its virtual functions",
		  an_interface_shows_its_virtual_functions, NULL);
	suite_add(&suite, "another interface is an error", another_interface_is_an_error, NULL);
	suite_add(&suite, "an answer to something else is passed over",
		  an_answer_to_something_else_is_passed_over, NULL);
	suite_add(&suite, "an answer that is cut off hurts nobody",
		  an_answer_that_is_cut_off_hurts_nobody, NULL);
	suite_add(&suite, "lengths inside are not believed", lengths_inside_are_not_believed, NULL);
	suite_rows(&suite, dones, acknowledgements_have_a_code);
	suite_rows(&suite, differences, differences_are_seen);
	return suite_run(&suite, "vf_message");
}
