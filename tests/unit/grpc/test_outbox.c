#include "grpc/outbox.h"

#include <string.h>

#include "base/str.h"
#include "grpc/frame.h"
#include "unit/suite.h"

enum { MAX = 100 };

static bool add(struct grpc_outbox *box, const char *text)
{
	return grpc_outbox_add(box, MAX, text, strlen(text));
}

static bool note(void *arg, const char *data, size_t len)
{
	str_add_mem(arg, data, len);
	str_add_char(arg, '|');
	return true;
}

/* All messages that are left, read @chunk bytes at a time, after what @frames has had. */
static void read_all(struct grpc_outbox *box, struct grpc_frames *frames, size_t chunk,
		     struct str *log)
{
	unsigned char buf[64];
	size_t n;

	while ((n = grpc_outbox_read(box, buf, chunk)) > 0)
		assert_int_equal(grpc_frames_feed(frames, (const char *)buf, n, note, log, NULL),
				 GRPC_OK);
	assert_true(grpc_frames_at_rest(frames));
	assert_int_equal(box->bytes, 0);
	assert_null(box->first);
}

static void messages_come_out_in_order(void **state)
{
	for (size_t chunk = 1; chunk <= 64; chunk++) {
		struct grpc_outbox box = { .first = NULL };
		struct grpc_frames frames = { .max = MAX };
		auto_str struct str log = STR_INIT;

		assert_true(add(&box, "one"));
		assert_true(add(&box, ""));
		assert_true(add(&box, "three"));
		read_all(&box, &frames, chunk, &log);
		assert_string_equal(str_cstr(&log), "one||three|");
		grpc_frames_done(&frames);
	}
}

static void bound_is_kept(void **state)
{
	struct grpc_outbox box = { .first = NULL };
	char text[MAX] = "";

	memset(text, 'x', 90);
	assert_true(add(&box, text)); /* 95 bytes */
	assert_false(add(&box, "1"));
	assert_true(add(&box, "")); /* 100 */
	assert_int_equal(box.bytes, 100);
	assert_false(add(&box, ""));
	grpc_outbox_done(&box);
	assert_int_equal(box.bytes, 0);
	/* Alone, any message may wait. */
	assert_true(grpc_outbox_add(&box, 10, text, 90));
	assert_false(grpc_outbox_add(&box, 10, "", 0));
	grpc_outbox_done(&box);
}

/* However much of the first message was read, it comes whole, and those behind it do not come. */
static void waiting_messages_are_dropped(void **state)
{
	for (size_t had = 0; had <= 16; had++) {
		struct grpc_outbox box = { .first = NULL };
		struct grpc_frames frames = { .max = MAX };
		auto_str struct str log = STR_INIT;
		unsigned char buf[64];

		assert_true(add(&box, "one"));
		assert_true(add(&box, "two"));
		assert_true(add(&box, "three"));
		assert_int_equal(grpc_outbox_read(&box, buf, had), had);
		grpc_frames_feed(&frames, (const char *)buf, had, note, &log, NULL);
		grpc_outbox_drop_waiting(&box);
		assert_true(add(&box, "new"));
		read_all(&box, &frames, 64, &log);
		assert_string_equal(str_cstr(&log), had == 0   ? "new|"
						    : had <= 8 ? "one|new|"
							       : "one|two|new|");
		grpc_frames_done(&frames);
	}
}

static void plain_bytes_have_no_prefix(void **state)
{
	struct grpc_outbox box = { .first = NULL };
	unsigned char buf[8] = "";

	grpc_outbox_add_plain(&box, "text", 4);
	assert_int_equal(grpc_outbox_read(&box, buf, sizeof(buf)), 4);
	assert_memory_equal(buf, "text", 4);
	assert_int_equal(grpc_outbox_read(&box, buf, sizeof(buf)), 0);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "messages come out in order", messages_come_out_in_order, NULL);
	suite_add(&suite, "the bound is kept", bound_is_kept, NULL);
	suite_add(&suite, "waiting messages are dropped", waiting_messages_are_dropped, NULL);
	suite_add(&suite, "plain bytes have no prefix", plain_bytes_have_no_prefix, NULL);
	return suite_run(&suite, "grpc outbox");
}
