/* The client's engine and servers that write frames by hand. */
#include <errno.h>

#include "unit/grpc/pair.h"
#include "unit/grpc/wire.h"

#define OK_HEAD ":status=200 content-type=application/grpc"

/* A block of headers, written "name=value name=value". */
static void write_block(struct str *out, unsigned flags, const char *headers)
{
	auto_str struct str block = STR_INIT;
	auto_free char *text = xstrdup(headers);
	char *rest = text;
	char *word;

	while ((word = strsep(&rest, " "))) {
		char *value = strchr(word, '=');

		*value++ = '\0';
		wire_header(&block, word, value);
	}
	wire_frame(out, WIRE_HEADERS, flags | WIRE_END_HEADERS, 1, &block);
}

/* One frame of an answer: headers or data. */
struct step {
	const char *headers;
	const char *message; /* "-": an empty DATA frame */
	bool end;
	int compressed;
};

/* clang-format off */
#define HEAD(text)      { .headers = (text) }
#define LAST(text)      { .headers = (text), .end = true }
#define DATA(text)      { .message = (text) }
#define LAST_DATA(text) { .message = (text), .end = true }

static struct answer_case {
	const char *name;
	struct step steps[5];
	const char *log;
	bool stream;
} answers[] = {
	{ "a plain answer",
	  { HEAD(OK_HEAD), DATA("hi"), LAST("grpc-status=0") },
	  "hi|OK: |",
	  false },
	{ "a status alone",
	  { LAST(OK_HEAD " grpc-status=5 grpc-message=no%20such") },
	  "NotFound: no such|",
	  false },
	{ "a head, and a status without an answer",
	  { HEAD(OK_HEAD), LAST("grpc-status=14") },
	  "Unavailable: |",
	  false },
	{ "an answer, and a status that is an error",
	  { HEAD(OK_HEAD), DATA("hi"), LAST("grpc-status=13") },
	  "Internal: |",
	  false },
	{ "OK without an answer",
	  { LAST(OK_HEAD " grpc-status=0") },
	  "Internal: no answer, and no error|",
	  false },
	{ "OK without an answer, in a stream",
	  { LAST(OK_HEAD " grpc-status=0") },
	  "OK: |",
	  true },
	{ "two answers",
	  { HEAD(OK_HEAD), DATA("a"), DATA("b") },
	  "Internal: more than one answer|",
	  false },
	{ "two answers, in a stream",
	  { HEAD(OK_HEAD), DATA("a"), DATA("b"), LAST("grpc-status=0") },
	  "a|b|OK: |",
	  true },
	{ "an answer before the head that counts",
	  { HEAD(":status=103"), HEAD(OK_HEAD), DATA("hi"), LAST("grpc-status=0") },
	  "hi|OK: |",
	  false },
	{ "the end without a status",
	  { HEAD(OK_HEAD), LAST_DATA("hi") },
	  "Internal: stream ended without a status|",
	  false },
	{ "trailers without a status",
	  { HEAD(OK_HEAD), LAST("x-other=1") },
	  "Internal: stream ended without a status|",
	  false },
	{ "a status that is no number",
	  { LAST(OK_HEAD " grpc-status=good") },
	  "Unknown: |",
	  false },
	{ "a proxy's error",
	  { HEAD(":status=503 content-type=text/html"), LAST_DATA("-") },
	  "Unavailable: HTTP status 503|",
	  false },
	{ "a page",
	  { HEAD(":status=200 content-type=text/html"), LAST_DATA("<p>") },
	  "Unknown: answer is not of type application/grpc|",
	  false },
	{ "a status of gRPC with one of HTTP",
	  { LAST(":status=500 content-type=application/grpc grpc-status=8") },
	  "ResourceExhausted: |",
	  false },
	{ "a compressed answer",
	  { HEAD(OK_HEAD), { .message = "hi", .compressed = 1 } },
	  "Unimplemented: compressed message, flag (1)|",
	  false },
	{ "a compressed call",
	  { HEAD(OK_HEAD " grpc-encoding=gzip") },
	  "Unimplemented: answer is compressed|",
	  false },
};

/* clang-format on */

static void write_answer(struct str *out, const struct answer_case *c)
{
	for (size_t i = 0; i < ARRAY_LEN(c->steps); i++) {
		const struct step *s = &c->steps[i];
		unsigned flags = s->end ? WIRE_END_STREAM : 0;

		if (s->headers)
			write_block(out, flags, s->headers);
		else if (s->message && strcmp(s->message, "-") == 0)
			wire_frame(out, WIRE_DATA, flags, 1, NULL);
		else if (s->message)
			wire_message(out, 1, flags, s->compressed, s->message);
	}
}

/* A client with a call on stream 1, whose request is sent. */
static void start_call(struct pair *pair, bool stream)
{
	const char *data = NULL;

	pair_start(pair);
	pair_call_with(pair, (struct grpc_request){ .path = "/a.B/C", .stream = stream });
	while (grpc_session_output(grpc_client_session(pair->client), &data) > 0)
		;
}

static void answer_matches_table_cut(const struct answer_case *c, size_t chunk)
{
	struct pair pair = { .chunk = chunk };
	auto_str struct str in = STR_INIT;

	start_call(&pair, c->stream);
	wire_frame(&in, WIRE_SETTINGS, 0, 0, NULL);
	write_answer(&in, c);
	pair_feed(&pair, grpc_client_session(pair.client), in.buf, in.len);
	pair_saw(&pair, c->log);
	pair_done(&pair);
}

static void answer_matches_table(void **state)
{
	for (size_t chunk = 0; chunk < 40; chunk++)
		answer_matches_table_cut(*state, chunk);
}

/* --- resets, GOAWAY --------------------------------------------------------------------------- */

static struct reset_case {
	const char *name;
	uint32_t code;
	const char *log;
} resets[] = {
	{ "a stream that was refused", 7, "Unavailable: stream was reset, HTTP/2 error 7|" },
	{ "a stream that was cancelled", 8, "Canceled: stream was reset, HTTP/2 error 8|" },
	{ "a stream that was too much", 11,
	  "ResourceExhausted: stream was reset, HTTP/2 error 11|" },
	{ "a stream that met a bug", 2, "Internal: stream was reset, HTTP/2 error 2|" },
	{ "a stream that was reset for nothing", 0, "Internal: stream was reset, HTTP/2 error 0|" },
};

static void reset_matches_table(void **state)
{
	const struct reset_case *c = suite_row(state);
	struct pair *pair = *state;
	auto_str struct str in = STR_INIT;

	start_call(pair, true);
	wire_frame(&in, WIRE_SETTINGS, 0, 0, NULL);
	wire_word(&in, WIRE_RST_STREAM, 1, c->code);
	pair_feed(pair, grpc_client_session(pair->client), in.buf, in.len);
	pair_saw(pair, c->log);
}

/* Before our own clock was looked at. */
static void reset_at_the_deadline_is_the_deadline(void **state)
{
	for (int late = 0; late <= 1; late++) {
		struct pair pair = { .chunk = 0 };
		auto_str struct str in = STR_INIT;
		const char *data = NULL;

		pair_start(&pair);
		pair_call_with(&pair, (struct grpc_request){ .path = "/a.B/C", .timeout_ms = 100 });
		while (grpc_session_output(grpc_client_session(pair.client), &data) > 0)
			;
		pair.now_ms += 99 + (uint64_t)late;
		wire_frame(&in, WIRE_SETTINGS, 0, 0, NULL);
		wire_word(&in, WIRE_RST_STREAM, 1, 8);
		pair_feed(&pair, grpc_client_session(pair.client), in.buf, in.len);
		pair_saw(&pair, late ? "DeadlineExceeded: deadline exceeded|"
				     : "Canceled: stream was reset, HTTP/2 error 8|");
		pair_done(&pair);
	}
}

/* The server saw streams up to 1: the other call was not begun. */
static void goaway_ends_calls_that_were_not_begun(void **state)
{
	struct pair *pair = *state;
	auto_str struct str in = STR_INIT;
	auto_str struct str goaway = STR_INIT;
	const char *data = NULL;

	start_call(pair, true);
	pair_call_with(pair, (struct grpc_request){ .path = "/a.B/D", .stream = true });
	while (grpc_session_output(grpc_client_session(pair->client), &data) > 0)
		;
	wire_frame(&in, WIRE_SETTINGS, 0, 0, NULL);
	wire_u32(&goaway, 1);
	wire_u32(&goaway, 0);
	wire_frame(&in, WIRE_GOAWAY, 0, 0, &goaway);
	pair_feed(pair, grpc_client_session(pair->client), in.buf, in.len);
	pair_saw(pair, "Unavailable: stream was reset, HTTP/2 error 7|");
	assert_false(grpc_client_takes_calls(pair->client));
	str_clear(&in);
	write_block(&in, WIRE_END_STREAM, OK_HEAD " grpc-status=0");
	pair_feed(pair, grpc_client_session(pair->client), in.buf, in.len);
	pair_saw(pair, "OK: |");
}

static void other_protocols_are_told(void **state)
{
	struct pair *pair = *state;
	static const char answer[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
	struct grpc_session *client;
	const char *data = NULL;
	struct err err = { 0 };

	start_call(pair, true);
	client = grpc_client_session(pair->client);
	grpc_session_feed(client, answer, sizeof(answer) - 1, 1000, &err);
	while (grpc_session_output(client, &data) > 0)
		;
	assert_true(grpc_session_is_over(client));
	grpc_session_lost(client, "connection ended");
	assert_non_null(strstr(str_cstr(&pair->log), "Unavailable: connection ended|"));
}

static void pushed_streams_are_refused(void **state)
{
	struct pair *pair = *state;
	auto_str struct str in = STR_INIT;
	auto_str struct str promise = STR_INIT;
	struct wire_reader reader;
	auto_str struct str out = STR_INIT;
	const char *data = NULL;
	size_t n;

	start_call(pair, true);
	wire_frame(&in, WIRE_SETTINGS, 0, 0, NULL);
	wire_frame(&in, WIRE_SETTINGS, WIRE_ACK, 0, NULL);
	wire_u32(&promise, 2);
	wire_request_head(&promise, "/pushed");
	wire_frame(&in, WIRE_PUSH_PROMISE, WIRE_END_HEADERS, 1, &promise);
	pair_feed(pair, grpc_client_session(pair->client), in.buf, in.len);
	while ((n = grpc_session_output(grpc_client_session(pair->client), &data)) > 0)
		str_add_mem(&out, data, n);
	wire_reader_init(&reader);
	wire_read(&reader, &out);
	assert_string_equal(str_cstr(&reader.log), "GOAWAY 1|"); /* PROTOCOL_ERROR */
	wire_reader_done(&reader);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_rows(&suite, answers, answer_matches_table);
	suite_add(&suite, "a reset at the deadline is the deadline",
		  reset_at_the_deadline_is_the_deadline, NULL);
	suite_fixture(&suite, &pair_to_open_fixture);
	suite_rows(&suite, resets, reset_matches_table);
	suite_add(&suite, "GOAWAY ends calls that were not begun",
		  goaway_ends_calls_that_were_not_begun, NULL);
	suite_add(&suite, "other protocols are told", other_protocols_are_told, NULL);
	suite_add(&suite, "pushed streams are refused", pushed_streams_are_refused, NULL);
	return suite_run(&suite, "grpc client on the wire");
}
