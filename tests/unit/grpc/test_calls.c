/* A client's engine and a server's, back to back. */
#include <errno.h>

#include "unit/grpc/pair.h"

static struct call_case {
	const char *name;
	const char *method;
	const char *request;
	const char *log;
} calls[] = {
	{ "a call is answered", "Echo", "hello", "hello|OK: |" },
	{ "an empty message is a message", "Echo", "", "|OK: |" },
	{ "a call fails with a status and a message", "Fail", "5 no such device",
	  "NotFound: no such device|" },
	{ "a failure without a message", "Fail", "13", "Internal: |" },
	{ "a message of any characters", "Fail", "9 100 % gr\xc3\xbc\xc3\x9f",
	  "FailedPrecondition: 100 % gr\xc3\xbc\xc3\x9f|" },
	{ "a message of more than one line", "Fail", "9 a\nb", "FailedPrecondition: a\\x0ab|" },
	{ "a message that is not UTF-8", "Fail", "9 a\xff", "FailedPrecondition: a\\xff|" },
	{ "OK without an answer is a failure", "Fail", "0", "Internal: no answer, and no error|" },
	{ "a stream of messages", "Stream", "abc", "a|b|c|OK: |" },
	{ "a stream without messages", "Stream", "", "OK: |" },
	{ "an unknown method", "Nothing", "",
	  "Unimplemented: unknown method '/test.Test/Nothing'|" },
	{ "an answer as long as one may be", "Big", "4194304", "4194304 bytes|OK: |" },
	{ "an answer one byte longer", "Big", "4194305",
	  "ResourceExhausted: message of 4194305 bytes; at most 4194304 can be sent|" },
	{ "an answer longer than a window", "Big", "70000", "70000 bytes|OK: |" },
};

static void call_matches_table(void **state)
{
	const struct call_case *c = suite_row(state);
	struct pair *pair = *state;

	pair_call(pair, c->method, c->request);
	pair_run(pair);
	pair_saw(pair, c->log);
}

/* However the bytes are cut, the same happens. */
static void cuts_do_not_matter(void **state)
{
	for (size_t chunk = 1; chunk <= 64; chunk++) {
		struct pair pair = { .chunk = chunk };

		pair_start(&pair);
		for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
			if (strcmp(calls[i].method, "Big") == 0)
				continue;
			pair_call(&pair, calls[i].method, calls[i].request);
			pair_run(&pair);
			pair_saw(&pair, calls[i].log);
		}
		pair_done(&pair);
	}
}

static void long_request_arrives(void **state)
{
	enum { LEN = 4 << 20 };
	auto_free char *data = xcalloc(1, LEN);
	struct pair *pair = *state;

	pair_call_with(
		pair, (struct grpc_request){ .path = "/test.Test/Echo", .data = data, .len = LEN });
	pair_run(pair);
	pair_saw(pair, "4194304 bytes|OK: |");
}

static void longer_request_is_refused(void **state)
{
	struct pair *pair = *state;
	auto_free char *data = xcalloc(1, 1 << 20);

	pair->client_limits = GRPC_LIMITS;
	pair->server_limits = GRPC_LIMITS;
	pair->server_limits.message_max = 1000;
	pair_start(pair);
	pair_call_with(pair, (struct grpc_request){
				     .path = "/test.Test/Echo", .data = data, .len = 1001 });
	pair_run(pair);
	pair_saw(pair, "ResourceExhausted: message longer than allowed (1001)|");
	/* Most of it was not sent yet, and need not be. */
	pair_call_with(pair, (struct grpc_request){
				     .path = "/test.Test/Echo", .data = data, .len = 1 << 20 });
	pair_run(pair);
	pair_saw(pair, "ResourceExhausted: message longer than allowed (1048576)|");
	pair_call(pair, "Echo", "and on it goes");
	pair_run(pair);
	pair_saw(pair, "and on it goes|OK: |");
}

static void longer_answer_is_refused(void **state)
{
	struct pair *pair = *state;

	pair->client_limits = GRPC_LIMITS;
	pair->client_limits.message_max = 1000;
	pair_start(pair);
	pair_call(pair, "Big", "100000");
	pair_run(pair);
	pair_saw(pair, "ResourceExhausted: message longer than allowed (100000)|");
}

/* --- time ------------------------------------------------------------------------------------- */

static void deadline_ends_both_sides(void **state)
{
	struct pair *pair = *state;

	pair_call_with(pair,
		       (struct grpc_request){ .path = "/test.Test/Hold", .timeout_ms = 1500 });
	pair_run(pair);
	pair_saw(pair, "held |");
	assert_int_equal(grpc_call_deadline_ms(pair->held[0]), 1000 + 1500);
	assert_int_equal(grpc_session_next_ms(grpc_server_session(pair->server)), 2500);
	assert_int_equal(grpc_session_next_ms(grpc_client_session(pair->client)), 2500);
	pair_wait(pair, 1499);
	pair_saw(pair, "");
	pair_wait(pair, 1);
	pair_saw(pair, "cancelled|DeadlineExceeded: deadline exceeded|");
	/* Only its look for who makes no calls. */
	assert_int_equal(grpc_session_next_ms(grpc_server_session(pair->server)), 1000 + 60000);
}

/* The server's clock strikes first, and the client hears of it in words. */
static void server_tells_of_the_deadline(void **state)
{
	struct pair *pair = *state;

	pair_call_with(pair,
		       (struct grpc_request){ .path = "/test.Test/Hold", .timeout_ms = 1500 });
	pair_run(pair);
	str_clear(&pair->log);
	assert_int_equal(grpc_session_tick(grpc_server_session(pair->server), 2500, NULL), 0);
	pair_saw(pair, "cancelled|");
	pair_run(pair);
	pair_saw(pair, "DeadlineExceeded: deadline exceeded|");
}

static void answer_in_time_forgets_the_deadline(void **state)
{
	struct pair *pair = *state;

	pair_call_with(pair,
		       (struct grpc_request){ .path = "/test.Test/Hold", .timeout_ms = 1500 });
	pair_run(pair);
	grpc_call_answer(pair->held[0], "done", 4);
	pair_run(pair);
	pair_saw(pair, "held |done|OK: |");
	pair_wait(pair, 5000);
	pair_saw(pair, "");
}

static void silent_peer_is_given_up(void **state)
{
	struct pair *pair = *state;
	struct grpc_session *server;
	struct err err = { 0 };

	pair->server_limits = GRPC_LIMITS;
	pair->server_limits.keepalive_ms = 60000;
	pair_start(pair);
	server = grpc_server_session(pair->server);
	pair_run(pair);
	assert_int_equal(grpc_session_next_ms(server), 61000);
	pair_wait(pair, 60000); /* the PING goes there and back */
	assert_int_equal(grpc_session_next_ms(server), 61000 + 60000);
	assert_int_equal(grpc_session_tick(server, 61000 + 60000, &err), 0);
	assert_int_equal(grpc_session_next_ms(server), 61000 + 60000 + 20000);
	assert_int_equal(grpc_session_tick(server, 61000 + 60000 + 20000, &err), -ETIMEDOUT);
	assert_string_equal(err.msg, "peer does not answer a PING");
}

/* --- cancelling ------------------------------------------------------------------------------- */

static void client_cancels(void **state)
{
	struct pair *pair = *state;
	struct grpc_rpc *rpc;

	rpc = pair_call(pair, "Hold", "x");
	pair_run(pair);
	assert_int_equal(grpc_call_send(pair->held[0], "1", 1, NULL), GRPC_SENT);
	pair_run(pair);
	pair_saw(pair, "held x|1|");
	grpc_rpc_cancel(rpc);
	pair_saw(pair, "");
	pair_run(pair);
	pair_saw(pair, "cancelled|");
	pair_call(pair, "Echo", "still there");
	pair_run(pair);
	pair_saw(pair, "still there|OK: |");
}

static void cancelled_before_it_was_sent(void **state)
{
	struct pair *pair = *state;

	grpc_rpc_cancel(pair_call(pair, "Hold", "x"));
	pair_run(pair);
	pair_saw(pair, "");
}

static void lost_connection_ends_calls(void **state)
{
	struct pair *pair = *state;

	pair_call(pair, "Hold", "x");
	pair_run(pair);
	grpc_session_lost(grpc_server_session(pair->server), "peer is gone");
	pair_saw(pair, "held x|cancelled|");
	grpc_session_lost(grpc_client_session(pair->client), "peer is gone");
	pair_saw(pair, "Unavailable: peer is gone|");
	assert_false(grpc_client_takes_calls(pair->client));
}

static void closed_server_cancels_its_calls(void **state)
{
	struct pair pair = { .chunk = 0 };

	pair_start(&pair);
	pair_call(&pair, "Hold", "x");
	pair_run(&pair);
	grpc_server_close(pair.server);
	pair_saw(&pair, "held x|cancelled|");
	pair_call(&pair, "Hold", "too late");
	pair_run(&pair);
	pair_saw(&pair, "Canceled: stream was reset, HTTP/2 error 8|"
			"Canceled: stream was reset, HTTP/2 error 8|");
	pair_done(&pair);
	assert_null(pair.server);
}

struct canceller {
	struct pair *pair;
	struct grpc_rpc *rpc;
};

static void cancel_it(void *arg, const char *data, size_t len)
{
	struct canceller *canceller = arg;

	pair_on_message(canceller->pair, data, len);
	grpc_rpc_cancel(canceller->rpc);
}

static void end_is_wrong(void *arg, const struct grpc_result *result)
{
	(void)arg;
	fail_msg("ended with %s", result->message);
}

/* Its answer's function cancels a call: no end of it follows, of one answer or of a stream. */
static void cancelled_by_its_answer(void **state)
{
	struct pair *pair = *state;

	for (int stream = 0; stream <= 1; stream++) {
		struct canceller canceller = { .pair = pair };
		const struct grpc_request request = { .path = "/test.Test/Stream",
						      .data = stream ? "ab" : "a",
						      .len = stream ? 2 : 1,
						      .stream = stream,
						      .on_message = cancel_it,
						      .on_end = end_is_wrong,
						      .arg = &canceller };

		canceller.rpc = grpc_client_call(pair->client, &request, pair->now_ms);
		pair_run(pair);
		pair_saw(pair, "a|");
	}
}

static void closed_client_is_silent(void **state)
{
	struct pair *pair = *state;

	pair_call(pair, "Hold", "x");
	pair_call(pair, "Echo", "y");
	grpc_client_close(pair->client);
	assert_false(grpc_client_takes_calls(pair->client));
	pair_run(pair);
	pair_saw(pair, "");
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "cuts do not matter", cuts_do_not_matter, NULL);
	suite_add(&suite, "a closed server cancels its calls", closed_server_cancels_its_calls,
		  NULL);
	suite_fixture(&suite, &pair_fixture);
	suite_rows(&suite, calls, call_matches_table);
	suite_add(&suite, "a long request arrives", long_request_arrives, NULL);
	suite_add(&suite, "a deadline ends both sides", deadline_ends_both_sides, NULL);
	suite_add(&suite, "the server tells of the deadline", server_tells_of_the_deadline, NULL);
	suite_add(&suite, "an answer in time forgets the deadline",
		  answer_in_time_forgets_the_deadline, NULL);
	suite_add(&suite, "a client cancels", client_cancels, NULL);
	suite_add(&suite, "a call is cancelled before it was sent", cancelled_before_it_was_sent,
		  NULL);
	suite_add(&suite, "a call is cancelled by its answer", cancelled_by_its_answer, NULL);
	suite_add(&suite, "a lost connection ends calls", lost_connection_ends_calls, NULL);
	suite_add(&suite, "a closed client is silent", closed_client_is_silent, NULL);
	suite_fixture(&suite, &pair_to_open_fixture);
	suite_add(&suite, "a longer request is refused", longer_request_is_refused, NULL);
	suite_add(&suite, "a longer answer is refused", longer_answer_is_refused, NULL);
	suite_add(&suite, "a silent peer is given up", silent_peer_is_given_up, NULL);
	return suite_run(&suite, "grpc calls");
}
