/* A client's engine and a server's, back to back: GOAWAY, and peers that read slowly. */
#include <errno.h>

#include "unit/grpc/pair.h"

static void server_says_goodbye(void **state)
{
	struct pair *pair = *state;

	pair_call(pair, "Hold", "x");
	pair_run(pair);
	grpc_session_shutdown(grpc_server_session(pair->server));
	pair_run(pair);
	assert_false(grpc_client_takes_calls(pair->client));
	assert_false(grpc_session_is_over(grpc_server_session(pair->server)));
	/* In mid-stream: what was begun goes on. */
	assert_int_equal(grpc_call_send(pair->held[0], "1", 1, NULL), GRPC_SENT);
	pair_run(pair);
	pair_saw(pair, "held x|1|");
	grpc_call_finish(pair->held[0], GRPC_OK, NULL);
	pair_run(pair);
	pair_saw(pair, "OK: |");
	assert_true(grpc_session_is_over(grpc_server_session(pair->server)));
	assert_true(grpc_session_is_over(grpc_client_session(pair->client)));
}

static void client_says_goodbye(void **state)
{
	struct pair *pair = *state;

	pair_call(pair, "Hold", "x");
	pair_run(pair);
	grpc_session_shutdown(grpc_client_session(pair->client));
	pair_run(pair);
	grpc_call_answer(pair->held[0], "1", 1);
	pair_run(pair);
	pair_saw(pair, "held x|1|OK: |");
	assert_true(grpc_session_is_over(grpc_client_session(pair->client)));
}

/* A request that crossed the last GOAWAY was not looked at, and may be sent elsewhere. */
static void request_after_goodbye_is_refused(void **state)
{
	struct pair *pair = *state;
	struct grpc_session *client;

	client = grpc_client_session(pair->client);
	pair_run(pair);
	grpc_session_shutdown(grpc_server_session(pair->server));
	pair_move(pair, grpc_server_session(pair->server), client);
	pair_move(pair, client, grpc_server_session(pair->server));
	assert_false(grpc_client_takes_calls(pair->client));
	/* The last GOAWAY is on its way. */
	pair_run(pair);
	pair_saw(pair, "");
	assert_true(grpc_session_is_over(client));
}

static void queued_request_meets_goodbye(void **state)
{
	struct pair *pair = *state;

	pair_run(pair);
	grpc_session_shutdown(grpc_server_session(pair->server));
	/* Begun before the client has read the GOAWAY, not sent before it has. */
	pair_call(pair, "Echo", "x");
	pair_move(pair, grpc_server_session(pair->server), grpc_client_session(pair->client));
	pair_run(pair);
	pair_saw(pair, "Unavailable: stream was reset, HTTP/2 error 7|");
}

/* --- flow control ----------------------------------------------------------------------------- */

static void stalled_client_costs_a_bounded_amount(void **state)
{
	struct pair *pair = *state;
	auto_free char *message = xcalloc(1, 30000);
	size_t sent = 0;

	pair->server_limits = GRPC_LIMITS;
	pair->client_limits = GRPC_LIMITS;
	pair->server_limits.queue_max = 100000;
	pair->client_limits.stream_window = 65535;
	pair->client_limits.connection_window = 65535;
	pair_start(pair);
	pair_call(pair, "Hold", "x");
	pair_run(pair);
	pair_saw(pair, "held x|");
	pair->stalled = true;
	while (sent < 1000 && grpc_call_send(pair->held[0], message, 30000, NULL) == GRPC_SENT)
		sent++;
	assert_int_equal(sent, 3);
	/* A window's worth goes out and makes room. */
	for (const char *data = NULL;;) {
		size_t n = grpc_session_output(grpc_server_session(pair->server), &data);

		if (n == 0)
			break;
		pair_feed(pair, grpc_client_session(pair->client), data, n);
	}
	pair_saw(pair, "30000 bytes|30000 bytes|");
	pair->stalled = false;
	pair_run(pair);
	pair_saw(pair, "30000 bytes|");
}

static void slow_client_gets_the_newest(void **state)
{
	struct pair *pair = *state;
	auto_free char *message = xcalloc(1, 100000);
	struct grpc_session *server;
	const char *data = NULL;
	size_t n;

	pair->client_limits = GRPC_LIMITS;
	pair->client_limits.stream_window = 65535;
	pair_start(pair);
	server = grpc_server_session(pair->server);
	pair_call(pair, "Hold", "x");
	pair_run(pair);
	/* The first message is under way when the others come. */
	assert_int_equal(grpc_call_send_latest(pair->held[0], message, 100000, NULL), GRPC_SENT);
	n = grpc_session_output(server, &data);
	pair_feed(pair, grpc_client_session(pair->client), data, n);
	n = grpc_session_output(server, &data);
	pair_feed(pair, grpc_client_session(pair->client), data, n);
	for (const char *c = "abcdefghijklmnopqrstuvwxyz"; *c; c++)
		assert_int_equal(grpc_call_send_latest(pair->held[0], c, 1, NULL), GRPC_SENT);
	pair_run(pair);
	pair_saw(pair, "held x|100000 bytes|z|");
	assert_int_equal(grpc_call_send_latest(pair->held[0], message, 5 << 20, NULL), -EMSGSIZE);
	pair_run(pair);
	pair_saw(pair, "");
}

/* A long list does not keep other calls waiting: frames of all streams take turns. */
static void calls_do_not_wait_for_a_long_answer(void **state)
{
	struct pair *pair = *state;
	const char *data = NULL;

	pair_run(pair);
	pair_call(pair, "Big", "4000000");
	pair_call(pair, "Echo", "small");
	pair_move(pair, grpc_client_session(pair->client), grpc_server_session(pair->server));
	for (int i = 0; i < 8; i++) {
		size_t n = grpc_session_output(grpc_server_session(pair->server), &data);

		pair_feed(pair, grpc_client_session(pair->client), data, n);
	}
	pair_saw(pair, "small|OK: |");
	pair_run(pair);
	pair_saw(pair, "4000000 bytes|OK: |");
}

static void calls_beyond_the_limit_wait(void **state)
{
	struct pair *pair = *state;

	pair->server_limits = GRPC_LIMITS;
	pair->server_limits.streams_max = 2;
	pair_start(pair);
	pair_run(pair);
	pair_call(pair, "Hold", "1");
	pair_call(pair, "Hold", "2");
	pair_call(pair, "Hold", "3");
	pair_run(pair);
	pair_saw(pair, "held 1|held 2|");
	grpc_call_finish(pair->held[0], GRPC_OK, NULL);
	pair_run(pair);
	pair_saw(pair, "OK: |held 3|");
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &pair_fixture);
	suite_add(&suite, "a server says goodbye in mid-stream", server_says_goodbye, NULL);
	suite_add(&suite, "a client says goodbye in mid-stream", client_says_goodbye, NULL);
	suite_add(&suite, "no request after goodbye", request_after_goodbye_is_refused, NULL);
	suite_add(&suite, "a queued request meets goodbye", queued_request_meets_goodbye, NULL);
	suite_add(&suite, "calls do not wait for a long answer",
		  calls_do_not_wait_for_a_long_answer, NULL);
	suite_fixture(&suite, &pair_to_open_fixture);
	suite_add(&suite, "a stalled client costs a bounded amount",
		  stalled_client_costs_a_bounded_amount, NULL);
	suite_add(&suite, "a slow client gets the newest", slow_client_gets_the_newest, NULL);
	suite_add(&suite, "calls beyond the limit wait", calls_beyond_the_limit_wait, NULL);
	return suite_run(&suite, "grpc goodbye and flow control");
}
