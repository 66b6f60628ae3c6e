#include "grpc/frame.h"

#include <string.h>

#include "base/err.h"
#include "unit/suite.h"

enum { MAX = 8 };

static bool note(void *arg, const char *data, size_t len)
{
	struct str *log = arg;

	str_add_mem(log, data, len);
	str_add_char(log, '|');
	return !(len == 4 && memcmp(data, "stop", 4) == 0);
}

#define BYTES(text) text, sizeof(text) - 1

static struct frame_case {
	const char *name;
	const char *bytes;
	size_t len;
	const char *log;
	enum grpc_status status;
	bool at_rest;
} frames[] = {
	{ "nothing", BYTES(""), "", GRPC_OK, true },
	{ "one message", BYTES("\0\0\0\0\3abc"), "abc|", GRPC_OK, true },
	{ "an empty message", BYTES("\0\0\0\0\0"), "|", GRPC_OK, true },
	{ "three messages, one of them empty", BYTES("\0\0\0\0\1a\0\0\0\0\0\0\0\0\0\1b"), "a||b|",
	  GRPC_OK, true },
	{ "part of a prefix", BYTES("\0\0\0"), "", GRPC_OK, false },
	{ "a prefix alone", BYTES("\0\0\0\0\3"), "", GRPC_OK, false },
	{ "part of a message", BYTES("\0\0\0\0\1a\0\0\0\0\3ab"), "a|", GRPC_OK, false },
	{ "a message as long as allowed", BYTES("\0\0\0\0\10abcdefgh"), "abcdefgh|", GRPC_OK,
	  true },
	{ "a message one byte longer", BYTES("\0\0\0\0\11abcdefghi"), "", GRPC_RESOURCE_EXHAUSTED,
	  false },
	{ "the longest length there is", BYTES("\0\377\377\377\377"), "", GRPC_RESOURCE_EXHAUSTED,
	  false },
	{ "a compressed message", BYTES("\1\0\0\0\1a"), "", GRPC_UNIMPLEMENTED, false },
	{ "a compressed message after another", BYTES("\0\0\0\0\1a\1\0\0\0\1a"), "a|",
	  GRPC_UNIMPLEMENTED, false },
	{ "unknown flags", BYTES("\2\0\0\0\1a"), "", GRPC_INTERNAL, false },
	{ "who takes the messages stops", BYTES("\0\0\0\0\4stop\0\0\0\0\1a"), "stop|", GRPC_OK,
	  true },
};

/* Cut at @cut. */
static void frame_matches_table_cut(const struct frame_case *c, size_t cut)
{
	struct grpc_frames f = { .max = MAX };
	auto_str struct str log = STR_INIT;
	struct err err = { 0 };
	enum grpc_status status;

	status = grpc_frames_feed(&f, c->bytes, cut, note, &log, &err);
	/* Stopped, it is fed no more. */
	if (status == GRPC_OK && strcmp(c->log, "stop|") != 0)
		status = grpc_frames_feed(&f, c->bytes + cut, c->len - cut, note, &log, &err);
	assert_int_equal(status, c->status);
	assert_int_equal(err.kind, status == GRPC_OK ? ERR_NONE : ERR_INVALID);
	assert_string_equal(str_cstr(&log), c->log);
	assert_int_equal(grpc_frames_at_rest(&f), c->at_rest);
	grpc_frames_done(&f);
}

static void frame_matches_table(void **state)
{
	const struct frame_case *c = *state;
	size_t first = strcmp(c->log, "stop|") == 0 ? c->len : 0;

	for (size_t cut = first; cut <= c->len; cut++)
		frame_matches_table_cut(c, cut);
}

/* What was announced takes no memory before it comes. */
static void memory_grows_with_what_came(void **state)
{
	struct grpc_frames f = { .max = 4 << 20 };
	auto_str struct str log = STR_INIT;

	assert_int_equal(grpc_frames_feed(&f, "\0\0\100\0\0x", 6, note, &log, NULL), GRPC_OK);
	assert_true(f.part.cap < 1024);
	assert_int_equal(f.part.len, 1);
	grpc_frames_done(&f);
	assert_true(grpc_frames_at_rest(&f));
}

static void prefix_is_read_as_written(void **state)
{
	static const size_t lengths[] = { 0, 1, 255, 256, 65536, 4 << 20, UINT32_MAX };

	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct grpc_frames f = { .max = SIZE_MAX };
		auto_str struct str log = STR_INIT;
		unsigned char prefix[GRPC_PREFIX_SIZE];

		grpc_frame_prefix(lengths[i], prefix);
		assert_int_equal(grpc_frames_feed(&f, (const char *)prefix, 5, note, &log, NULL),
				 GRPC_OK);
		assert_true(f.want == lengths[i]);
		grpc_frames_done(&f);
	}
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_rows(&suite, frames, frame_matches_table);
	suite_add(&suite, "memory grows with what came", memory_grows_with_what_came, NULL);
	suite_add(&suite, "a prefix is read as it was written", prefix_is_read_as_written, NULL);
	return suite_run(&suite, "grpc frame");
}
