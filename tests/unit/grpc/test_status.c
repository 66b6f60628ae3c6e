#include "grpc/status.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "unit/suite.h"

static struct message_case {
	const char *name;
	const char *message;
	const char *encoded;
	const char *decoded; /* NULL: the message */
} messages[] = {
	{ "nothing", "", "", NULL },
	{ "plain text", "no such device 0000:01:00.0", "no such device 0000:01:00.0", NULL },
	{ "the ends of what is plain", " ~", " ~", NULL },
	{ "a percent sign", "100 % of %20", "100 %25 of %2520", NULL },
	{ "letters beyond ASCII", "gr\xc3\xbc\xc3\x9f", "gr%C3%BC%C3%9F", NULL },
	{ "a line break", "a\nb", "a%0Ab", "a\\x0ab" },
	{ "DEL", "a\x7f", "a%7F", "a\\x7f" },
	{ "what is not UTF-8", "a\xff", "a%FF", "a\\xff" },
};

static void message_matches_table(void **state)
{
	const struct message_case *c = *state;
	auto_str struct str encoded = STR_INIT;
	auto_str struct str decoded = STR_INIT;

	grpc_message_encode(&encoded, c->message);
	assert_string_equal(str_cstr(&encoded), c->encoded);
	grpc_message_decode(&decoded, str_cstr(&encoded), encoded.len);
	assert_string_equal(str_cstr(&decoded), c->decoded ? c->decoded : c->message);
}

static struct decode_case {
	const char *name;
	const char *text;
	const char *message;
} decodes[] = {
	{ "small letters are digits too", "%c3%bC", "\xc3\xbc" },
	{ "an escape that is none", "%zz", "%zz" },
	{ "an escape with half a number", "%4z", "%4z" },
	{ "an escape that is cut off", "a%4", "a%4" },
	{ "a percent sign at the end", "a%", "a%" },
	{ "an escaped percent sign begins no escape", "%2541", "%41" },
	{ "letters that nobody escaped", "gr\xc3\xbc", "gr\xc3\xbc" },
	{ "an escaped NUL", "a%00b", "a\\x00b" },
};

static void decode_matches_table(void **state)
{
	const struct decode_case *c = *state;
	auto_str struct str message = STR_INIT;

	grpc_message_decode(&message, c->text, strlen(c->text));
	assert_string_equal(str_cstr(&message), c->message);
}

/* Every byte there is comes through the header as printable ASCII. */
static void header_is_printable(void **state)
{
	char all[256];
	auto_str struct str encoded = STR_INIT;

	for (int i = 1; i < 256; i++)
		all[i - 1] = (char)i;
	all[255] = '\0';
	grpc_message_encode(&encoded, all);
	for (size_t i = 0; i < encoded.len; i++)
		assert_true(encoded.buf[i] >= ' ' && encoded.buf[i] <= '~');
}

static void long_messages_are_cut(void **state)
{
	auto_free char *text = xcalloc(1, 100001);
	auto_str struct str encoded = STR_INIT;
	auto_str struct str decoded = STR_INIT;

	for (int i = 0; i < 100000; i++)
		text[i] = i % 2 ? '\xbc' : '\xc3';
	grpc_message_encode(&encoded, text);
	assert_true(encoded.len <= (size_t)3 * GRPC_MESSAGE_MAX);
	assert_string_equal(encoded.buf + encoded.len - 3, "...");
	grpc_message_decode(&decoded, text, 100000);
	assert_true(decoded.len <= GRPC_MESSAGE_MAX);
	assert_true(utf8_valid(decoded.buf, decoded.len));
}

static struct number_case {
	const char *name;
	const char *text;
	enum grpc_status status;
} numbers[] = {
	{ "zero", "0", GRPC_OK },
	{ "the last", "16", GRPC_UNAUTHENTICATED },
	{ "one more", "17", GRPC_UNKNOWN },
	{ "a great number", "99999999999999999999", GRPC_UNKNOWN },
	{ "less than zero", "-1", GRPC_UNKNOWN },
	{ "no number", "OK", GRPC_UNKNOWN },
	{ "nothing", "", GRPC_UNKNOWN },
};

static void number_matches_table(void **state)
{
	const struct number_case *c = *state;

	assert_int_equal(grpc_status_from_text(c->text), c->status);
}

static void statuses_have_names(void **state)
{
	assert_string_equal(grpc_status_name(GRPC_OK), "OK");
	assert_string_equal(grpc_status_name(GRPC_UNAUTHENTICATED), "Unauthenticated");
	assert_string_equal(grpc_status_name((enum grpc_status)17), "Unknown");
	for (int i = 0; i <= GRPC_UNAUTHENTICATED; i++) {
		char text[12];

		(void)snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(grpc_status_from_text(text), i);
		assert_true(strlen(grpc_status_name((enum grpc_status)i)) > 1);
	}
}

static void other_layers_have_statuses(void **state)
{
	assert_int_equal(grpc_status_from_http(404), GRPC_UNIMPLEMENTED);
	assert_int_equal(grpc_status_from_http(503), GRPC_UNAVAILABLE);
	assert_int_equal(grpc_status_from_http(418), GRPC_UNKNOWN);
	assert_int_equal(grpc_status_from_http2(0), GRPC_INTERNAL);
	assert_int_equal(grpc_status_from_http2(7), GRPC_UNAVAILABLE);
	assert_int_equal(grpc_status_from_http2(8), GRPC_CANCELLED);
	assert_int_equal(grpc_status_from_http2(11), GRPC_RESOURCE_EXHAUSTED);
	assert_int_equal(grpc_status_from_http2(1000), GRPC_UNKNOWN);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_rows(&suite, messages, message_matches_table);
	suite_rows(&suite, decodes, decode_matches_table);
	suite_rows(&suite, numbers, number_matches_table);
	suite_add(&suite, "a header is printable", header_is_printable, NULL);
	suite_add(&suite, "long messages are cut", long_messages_are_cut, NULL);
	suite_add(&suite, "statuses have names", statuses_have_names, NULL);
	suite_add(&suite, "other layers' errors are statuses", other_layers_have_statuses, NULL);
	return suite_run(&suite, "grpc status");
}
