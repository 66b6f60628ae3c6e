/* The server's engine and connections that are broken, slow or hostile. */
#include <errno.h>

#include "unit/grpc/scene.h"

SUITE_OBJECT(scene, scene_new(&GRPC_LIMITS), scene_free);

static void bad_preface_ends_the_connection(void **state)
{
	struct scene *scene = *state;

	str_add(&scene->in, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
	scene_play(scene, SIZE_MAX);
	assert_int_equal(scene->result, -EPROTO);
	assert_int_equal(scene->err.kind, ERR_RETRY);
	assert_non_null(strstr(scene->err.msg, "magic"));
}

static void silence_at_the_beginning_is_limited(void **state)
{
	struct scene *scene = *state;
	struct grpc_session *server = grpc_server_session(scene->pair.server);

	assert_int_equal(grpc_session_next_ms(server), 1000 + 10000);
	assert_int_equal(grpc_session_tick(server, 10999, &scene->err), 0);
	assert_int_equal(grpc_session_tick(server, 11000, &scene->err), -ETIMEDOUT);
	assert_string_equal(scene->err.msg, "peer sent no HTTP/2 SETTINGS");
}

static void slow_request_is_given_up(void **state)
{
	struct scene *scene = *state;
	struct grpc_session *server = grpc_server_session(scene->pair.server);

	wire_preface(&scene->in);
	wire_request(&scene->in, 1, "/test.Test/Hold");
	wire_message(&scene->in, 1, 0, 0, "but no end");
	scene_play(scene, SIZE_MAX);
	assert_int_equal(grpc_session_next_ms(server), 1000 + 30000);
	assert_int_equal(grpc_session_tick(server, 31000, NULL), 0);
	scene_read(scene);
	scene_saw(scene, SCENE_ONLY
		  " grpc-status=4 grpc-message=request did not come in time.|" SCENE_RST);
	pair_saw(&scene->pair, "");
}

static void slow_form_is_given_up(void **state)
{
	struct scene *scene = *state;
	auto_str struct str block = STR_INIT;

	wire_preface(&scene->in);
	wire_header(&block, ":method", "PUT");
	wire_header(&block, ":scheme", "http");
	wire_header(&block, ":path", "/");
	wire_header(&block, ":authority", "localhost");
	wire_frame(&scene->in, WIRE_HEADERS, WIRE_END_HEADERS, 1, &block);
	scene_play(scene, SIZE_MAX);
	scene_saw(scene, "");
	assert_int_equal(grpc_session_tick(grpc_server_session(scene->pair.server), 31000, NULL),
			 0);
	scene_read(scene);
	scene_saw(scene, "HEADERS 1 :status=405 content-type=text/plain|DATA 1 29.|" SCENE_RST);
}

static void slow_headers_end_the_connection(void **state)
{
	struct scene *scene = *state;
	struct grpc_session *server = grpc_server_session(scene->pair.server);
	auto_str struct str block = STR_INIT;

	wire_request_head(&block, SCENE_ECHO);
	wire_preface(&scene->in);
	wire_frame(&scene->in, WIRE_HEADERS, 0, 1, &block);
	scene_play(scene, SIZE_MAX);
	assert_int_equal(grpc_session_next_ms(server), 1000 + 30000);
	assert_int_equal(grpc_session_tick(server, 31000, &scene->err), -ETIMEDOUT);
	assert_string_equal(scene->err.msg, "a call's headers did not come in time");
}

/* Two looks in a row that find no call, and none between them; a third finds that he did not go. */
static void who_makes_no_calls_is_sent_away(void **state)
{
	struct scene *scene = *state;
	struct grpc_session *server = grpc_server_session(scene->pair.server);

	wire_preface(&scene->in);
	scene_play(scene, SIZE_MAX);
	assert_int_equal(grpc_session_next_ms(server), 61000);
	assert_int_equal(grpc_session_tick(server, 61000, NULL), 0);
	scene->in.len = 0;
	scene_write_plain(&scene->in);
	scene_play(scene, SIZE_MAX);
	scene_saw(scene, SCENE_ECHOED);
	assert_int_equal(grpc_session_tick(server, 121000, NULL), 0);
	scene_read(scene);
	scene_saw(scene, "");
	assert_int_equal(grpc_session_next_ms(server), 181000);
	assert_int_equal(grpc_session_tick(server, 181000, NULL), 0);
	assert_false(grpc_session_is_over(server));
	scene_read(scene);
	scene_saw(scene, "GOAWAY 0|");
	assert_true(grpc_session_is_over(server));
	assert_int_equal(grpc_session_tick(server, 241000, &scene->err), -ETIMEDOUT);
	assert_string_equal(scene->err.msg, "peer makes no calls");
}

static void who_has_a_call_may_be_silent(void **state)
{
	struct scene *scene = *state;
	struct grpc_session *server = grpc_server_session(scene->pair.server);

	wire_preface(&scene->in);
	wire_request(&scene->in, 1, "/test.Test/Hold");
	wire_message(&scene->in, 1, WIRE_END_STREAM, 0, "hi");
	scene_play(scene, SIZE_MAX);
	assert_int_equal(grpc_session_next_ms(server), UINT64_MAX);
	for (uint64_t hours = 1; hours < 10; hours++)
		assert_int_equal(grpc_session_tick(server, hours * 3600000, NULL), 0);
	scene_read(scene);
	scene_saw(scene, "");
	assert_false(grpc_session_is_over(server));
}

/* Each of these is one attack; GOAWAY, or an end at once, and nothing is held. */
static void play_flood(void (*write)(struct str *out, uint32_t i), size_t n, const char *log,
		       int result)
{
	struct scene *scene = scene_new(&GRPC_LIMITS);

	wire_preface(&scene->in);
	for (uint32_t i = 0; i < n; i++)
		write(&scene->in, i);
	scene_play(scene, SIZE_MAX);
	assert_int_equal(scene->result, result);
	if (log)
		assert_non_null(strstr(str_cstr(&scene->reader.log), log));
	else
		scene_saw(scene, "");
	scene_free(scene);
}

static void write_ping(struct str *out, uint32_t i)
{
	auto_str struct str payload = STR_INIT;

	wire_u32(&payload, i);
	wire_u32(&payload, i);
	wire_frame(out, WIRE_PING, 0, 0, &payload);
}

static void write_settings(struct str *out, uint32_t i)
{
	(void)i;
	wire_frame(out, WIRE_SETTINGS, 0, 0, NULL);
}

static void write_long_settings(struct str *out, uint32_t i)
{
	auto_str struct str payload = STR_INIT;

	(void)i;
	for (int k = 0; k < 33; k++)
		str_add_mem(&payload, "\0\4\0\1\0\0", 6);
	wire_frame(out, WIRE_SETTINGS, 0, 0, &payload);
}

static void write_reset(struct str *out, uint32_t i)
{
	wire_request(out, 2 * i + 1, "/test.Test/Hold");
	wire_word(out, WIRE_RST_STREAM, 2 * i + 1, 8);
}

static void write_continuation(struct str *out, uint32_t i)
{
	auto_str struct str block = STR_INIT;

	if (i == 0) {
		wire_request_head(&block, SCENE_ECHO);
		wire_frame(out, WIRE_HEADERS, 0, 1, &block);
	} else {
		wire_frame(out, WIRE_CONTINUATION, 0, 1, NULL);
	}
}

/* Empty, but for padding in every other one. */
static void write_barren(struct str *out, uint32_t i)
{
	auto_str struct str padding = STR_INIT;

	if (i == 0)
		wire_request(out, 1, SCENE_ECHO);
	str_add_mem(&padding, "\3\0\0\0", 4);
	wire_frame(out, WIRE_DATA, i % 2 ? WIRE_PADDED : 0, 1, i % 2 ? &padding : NULL);
}

static void write_fruitful(struct str *out, uint32_t i)
{
	auto_str struct str byte = STR_INIT;

	write_barren(out, i);
	str_add_char(&byte, '\0');
	if (i % 100 == 99)
		wire_frame(out, WIRE_DATA, 0, 1, &byte);
}

static void write_open(struct str *out, uint32_t i)
{
	wire_request(out, 2 * i + 1, "/test.Test/Hold");
}

static void pings_are_answered_within_limits(void **state)
{
	play_flood(write_ping, 200, NULL, 0);
	play_flood(write_ping, 5000, NULL, -EPROTO);
}

static void settings_are_taken_within_limits(void **state)
{
	play_flood(write_settings, 200, NULL, 0);
	play_flood(write_settings, 5000, NULL, -EPROTO);
	play_flood(write_long_settings, 1, "GOAWAY 11|", 0);
}

static void resets_are_taken_within_limits(void **state)
{
	play_flood(write_reset, 200, NULL, 0);
	play_flood(write_reset, 250, "GOAWAY 2|", 0);
}

static void continuations_are_taken_within_limits(void **state)
{
	play_flood(write_continuation, 41, NULL, 0);
	play_flood(write_continuation, 42, NULL, -EPROTO);
}

static void empty_data_is_taken_within_limits(void **state)
{
	play_flood(write_barren, 100, NULL, 0);
	play_flood(write_barren, 101, "GOAWAY 11|", 0);
	play_flood(write_fruitful, 500, NULL, 0);
}

static void streams_are_taken_within_limits(void **state)
{
	play_flood(write_open, 100, NULL, 0);
	play_flood(write_open, 101, "RST 201 7|", 0);
}

/* A peer must not make the server hold more of messages that never end. */
static void unfinished_messages_are_limited(void **state)
{
	enum { PART = 16000 };
	struct grpc_limits limits = GRPC_LIMITS;
	auto_str struct str payload = STR_INIT;
	struct scene *scene;

	limits.unfinished_max = (size_t)3 * PART;
	scene = scene_new(&limits);
	str_add_mem(&payload, "\0\0\1\0\0", 5);
	while (payload.len < PART)
		str_add_char(&payload, 'x');
	wire_preface(&scene->in);
	for (uint32_t i = 0; i < 4; i++) {
		wire_request(&scene->in, 2 * i + 1, SCENE_ECHO);
		wire_frame(&scene->in, WIRE_DATA, 0, 2 * i + 1, &payload);
	}
	scene_play(scene, SIZE_MAX);
	assert_int_equal(scene->result, 0);
	scene_saw(scene, "HEADERS 7 :status=200 content-type=application/grpc "
			 "grpc-accept-encoding=identity grpc-status=8 grpc-message=too much of "
			 "unfinished messages on this connection.|RST 7 0|");
	/* What was given up makes room. */
	wire_request(&scene->in, 9, SCENE_ECHO);
	wire_message(&scene->in, 9, WIRE_END_STREAM, 0, "hi");
	scene_play(scene, SIZE_MAX);
	scene_saw(scene, "HEADERS 9 :status=200 content-type=application/grpc|DATA 9 7|"
			 "HEADERS 9 grpc-status=0.|");
	scene_free(scene);
}

/* The peer writes and does not read: what waits for it is bounded, and it is not read any more. */
static void full_output_is_told(void **state)
{
	struct scene *scene = *state;
	struct grpc_session *server = grpc_server_session(scene->pair.server);

	wire_preface(&scene->in);
	for (uint32_t i = 0; i < 1100; i++)
		wire_request(&scene->in, 2 * i + 1, "/test.Test/Nothing");
	assert_false(grpc_session_is_full(server));
	assert_int_equal(grpc_session_feed(server, scene->in.buf, scene->in.len, 1000, &scene->err),
			 0);
	assert_true(grpc_session_is_full(server));
	scene_read(scene);
	assert_false(grpc_session_is_full(server));
}

/* A window of nothing holds the answer back until there is room. */
static void window_of_nothing_is_obeyed(void **state)
{
	struct scene *scene = *state;
	auto_str struct str settings = STR_INIT;

	str_add(&scene->in, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	str_add_mem(&settings, "\0\4\0\0\0\0", 6);
	wire_frame(&scene->in, WIRE_SETTINGS, 0, 0, &settings);
	scene_write_plain(&scene->in);
	scene_play(scene, SIZE_MAX);
	scene_saw(scene, SCENE_HEAD "|");
	wire_word(&scene->in, WIRE_WINDOW_UPDATE, 1, 6);
	scene_play(scene, SIZE_MAX);
	scene_saw(scene, "DATA 1 6|");
	wire_word(&scene->in, WIRE_WINDOW_UPDATE, 1, 1);
	scene_play(scene, SIZE_MAX);
	scene_saw(scene, "DATA 1 1|HEADERS 1 grpc-status=0.|");
}

static void goodbye_waits_for_the_ping(void **state)
{
	struct scene *scene = *state;
	struct grpc_session *server = grpc_server_session(scene->pair.server);
	auto_str struct str farewell = STR_INIT;

	wire_preface(&scene->in);
	scene_play(scene, SIZE_MAX);
	grpc_session_shutdown(server);
	scene_read(scene);
	scene_saw(scene, "GOAWAY 0|");
	/* This request had been on its way. */
	scene_write_plain(&scene->in);
	scene_play(scene, SIZE_MAX);
	scene_saw(scene, SCENE_ECHOED);
	assert_false(grpc_session_is_over(server));
	str_add(&farewell, "farewell");
	wire_frame(&scene->in, WIRE_PING, WIRE_ACK, 0, &farewell);
	scene_play(scene, SIZE_MAX);
	scene_saw(scene, "GOAWAY 0|");
	assert_true(grpc_session_is_over(server));
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "PINGs are answered within limits", pings_are_answered_within_limits,
		  NULL);
	suite_add(&suite, "SETTINGS are taken within limits", settings_are_taken_within_limits,
		  NULL);
	suite_add(&suite, "resets are taken within limits", resets_are_taken_within_limits, NULL);
	suite_add(&suite, "continuations are taken within limits",
		  continuations_are_taken_within_limits, NULL);
	suite_add(&suite, "empty DATA frames are taken within limits",
		  empty_data_is_taken_within_limits, NULL);
	suite_add(&suite, "streams are taken within limits", streams_are_taken_within_limits, NULL);
	suite_add(&suite, "unfinished messages are limited", unfinished_messages_are_limited, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "a bad preface ends the connection", bad_preface_ends_the_connection,
		  NULL);
	suite_add(&suite, "silence at the beginning is limited",
		  silence_at_the_beginning_is_limited, NULL);
	suite_add(&suite, "a slow request is given up", slow_request_is_given_up, NULL);
	suite_add(&suite, "a slow request that is none is given up", slow_form_is_given_up, NULL);
	suite_add(&suite, "slow headers end the connection", slow_headers_end_the_connection, NULL);
	suite_add(&suite, "who makes no calls is sent away", who_makes_no_calls_is_sent_away, NULL);
	suite_add(&suite, "who has a call may be silent", who_has_a_call_may_be_silent, NULL);
	suite_add(&suite, "full output is told", full_output_is_told, NULL);
	suite_add(&suite, "a window of nothing is obeyed", window_of_nothing_is_obeyed, NULL);
	suite_add(&suite, "a goodbye waits for the PING", goodbye_waits_for_the_ping, NULL);
	return suite_run(&suite, "grpc server limits");
}
