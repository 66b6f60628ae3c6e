/* The server's engine and requests of all kinds, cut anywhere. */
#include "unit/grpc/scene.h"

/* The usual head without @omit and with one more header. */
static void write_head(struct str *out, const char *omit, const char *name, const char *value)
{
	static const char *const usual[][2] = {
		{ ":method", "POST" },
		{ ":scheme", "http" },
		{ ":path", SCENE_ECHO },
		{ ":authority", "localhost" },
		{ "content-type", "application/grpc" },
	};
	auto_str struct str block = STR_INIT;

	for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
		if (strcmp(usual[i][0], omit) != 0)
			wire_header(&block, usual[i][0], usual[i][1]);
		else if (strcmp(omit, name) == 0)
			wire_header(&block, name, value);
	}
	if (strcmp(omit, name) != 0)
		wire_header(&block, name, value);
	wire_frame(out, WIRE_HEADERS, WIRE_END_HEADERS, 1, &block);
	wire_message(out, 1, WIRE_END_STREAM, 0, "hi");
}

static void write_get(struct str *out)
{
	write_head(out, ":method", ":method", "GET");
}

static void write_no_type(struct str *out)
{
	write_head(out, "content-type", "x-other", "y");
}

/* Its body would be a compressed message, if it were one. */
static void write_form(struct str *out)
{
	auto_str struct str block = STR_INIT;
	auto_str struct str body = STR_INIT;

	wire_header(&block, ":method", "POST");
	wire_header(&block, ":scheme", "http");
	wire_header(&block, ":path", SCENE_ECHO);
	wire_header(&block, ":authority", "localhost");
	wire_frame(out, WIRE_HEADERS, WIRE_END_HEADERS, 1, &block);
	str_add(&body, "\001a=b&c=d");
	wire_frame(out, WIRE_DATA, WIRE_END_STREAM, 1, &body);
}

static void write_other_type(struct str *out)
{
	write_head(out, "content-type", "content-type", "application/grpcx");
}

static void write_proto_type(struct str *out)
{
	write_head(out, "content-type", "content-type", "application/grpc+proto");
}

static void write_gzip(struct str *out)
{
	write_head(out, "", "grpc-encoding", "gzip");
}

static void write_identity(struct str *out)
{
	write_head(out, "", "grpc-encoding", "identity");
}

static void write_bad_timeout(struct str *out)
{
	write_head(out, "", "grpc-timeout", "1 hour");
}

static void write_compressed(struct str *out)
{
	wire_request(out, 1, SCENE_ECHO);
	wire_message(out, 1, WIRE_END_STREAM, 1, "hi");
}

static void write_bad_flag(struct str *out)
{
	wire_request(out, 1, SCENE_ECHO);
	wire_message(out, 1, WIRE_END_STREAM, 2, "hi");
}

static void write_two(struct str *out)
{
	wire_request(out, 1, SCENE_ECHO);
	wire_message(out, 1, 0, 0, "hi");
	wire_message(out, 1, WIRE_END_STREAM, 0, "ho");
}

static void write_none(struct str *out)
{
	wire_request(out, 1, SCENE_ECHO);
	wire_frame(out, WIRE_DATA, WIRE_END_STREAM, 1, NULL);
}

static void write_none_at_once(struct str *out)
{
	auto_str struct str block = STR_INIT;

	wire_request_head(&block, SCENE_ECHO);
	wire_frame(out, WIRE_HEADERS, WIRE_END_HEADERS | WIRE_END_STREAM, 1, &block);
}

static void write_half(struct str *out)
{
	auto_str struct str payload = STR_INIT;

	wire_request(out, 1, SCENE_ECHO);
	str_add_mem(&payload, "\0\0\0\0\5hal", 8);
	wire_frame(out, WIRE_DATA, WIRE_END_STREAM, 1, &payload);
}

static void write_huge(struct str *out)
{
	auto_str struct str payload = STR_INIT;

	wire_request(out, 1, SCENE_ECHO);
	str_add_mem(&payload, "\0\xff\xff\xff\xff", 5);
	wire_frame(out, WIRE_DATA, 0, 1, &payload);
}

/* Ends with trailers, as a client may. */
static void write_trailers(struct str *out)
{
	auto_str struct str block = STR_INIT;

	wire_request(out, 1, SCENE_ECHO);
	wire_message(out, 1, 0, 0, "hi");
	wire_header(&block, "x-sum", "1");
	wire_frame(out, WIRE_HEADERS, WIRE_END_HEADERS | WIRE_END_STREAM, 1, &block);
}

static void write_long_header(struct str *out)
{
	auto_free char *value = xcalloc(1, 15001);

	memset(value, 'x', 15000);
	write_head(out, "", "x-long", value);
}

static void write_too_long_header(struct str *out)
{
	auto_str struct str block = STR_INIT;
	auto_free char *value = xcalloc(1, 9001);

	memset(value, 'x', 9000);
	wire_request_head(&block, SCENE_ECHO);
	wire_frame(out, WIRE_HEADERS, 0, 1, &block);
	for (int i = 0; i < 2; i++) {
		str_clear(&block);
		wire_header(&block, "x-long", value);
		wire_frame(out, WIRE_CONTINUATION, i ? WIRE_END_HEADERS : 0, 1, &block);
	}
	wire_message(out, 1, WIRE_END_STREAM, 0, "hi");
}

static void write_too_long_trailers(struct str *out)
{
	auto_str struct str block = STR_INIT;
	auto_free char *value = xcalloc(1, 9001);

	memset(value, 'x', 9000);
	wire_request(out, 1, SCENE_ECHO);
	wire_message(out, 1, 0, 0, "hi");
	wire_header(&block, "x-long", value);
	wire_frame(out, WIRE_HEADERS, WIRE_END_STREAM, 1, &block);
	wire_frame(out, WIRE_CONTINUATION, WIRE_END_HEADERS, 1, &block);
}

/* A byte for each time that a header of 4000 bytes, which the table has, is meant. */
static void write_bomb(struct str *out)
{
	auto_str struct str block = STR_INIT;
	auto_free char *value = xcalloc(1, 4001);

	memset(value, 'x', 4000);
	wire_request_head(&block, SCENE_ECHO);
	str_add_char(&block, 0x40);
	wire_text(&block, "x");
	wire_text(&block, value);
	for (int i = 0; i < 1000; i++)
		str_add_char(&block, (char)(0x80 | 62));
	wire_frame(out, WIRE_HEADERS, WIRE_END_HEADERS, 1, &block);
}

static struct request_case {
	const char *name;
	void (*write)(struct str *out);
	const char *log;
} requests[] = {
	{ "a plain request", scene_write_plain, SCENE_ECHOED },
	{ "a request of a kind of gRPC", write_proto_type, SCENE_ECHOED },
	{ "a request that says it is not compressed", write_identity, SCENE_ECHOED },
	{ "a request that ends with trailers", write_trailers, SCENE_ECHOED },
	{ "a request with a long header", write_long_header, SCENE_ECHOED },
	{ "GET is answered in HTTP", write_get,
	  "HEADERS 1 :status=405 content-type=text/plain|DATA 1 29.|" },
	{ "no content type is answered in HTTP", write_no_type,
	  "HEADERS 1 :status=415 content-type=text/plain|DATA 1 50.|" },
	{ "a form is answered in HTTP", write_form,
	  "HEADERS 1 :status=415 content-type=text/plain|DATA 1 50.|" },
	{ "another content type is answered in HTTP", write_other_type,
	  "HEADERS 1 :status=415 content-type=text/plain|DATA 1 50.|" },
	{ "a compressed call is refused", write_gzip,
	  SCENE_ONLY " grpc-status=12 grpc-message=compressed messages are not understood.|" },
	{ "a compressed message is refused", write_compressed,
	  SCENE_ONLY " grpc-status=12 grpc-message=compressed message, flag (1).|" },
	{ "a message with unknown flags is refused", write_bad_flag,
	  SCENE_ONLY " grpc-status=13 grpc-message=message with unknown flags (2).|" },
	{ "a timeout that is none is refused", write_bad_timeout,
	  SCENE_ONLY " grpc-status=13 grpc-message=malformed grpc-timeout.|" },
	{ "a second message is refused", write_two,
	  SCENE_ONLY " grpc-status=13 grpc-message=more than one request message.|" },
	{ "a request without a message is refused", write_none,
	  SCENE_ONLY " grpc-status=13 grpc-message=no request message.|" },
	{ "a head without more is refused", write_none_at_once,
	  SCENE_ONLY " grpc-status=13 grpc-message=no request message.|" },
	{ "half a message is refused", write_half,
	  SCENE_ONLY " grpc-status=13 grpc-message=stream ended inside of a message.|" },
	{ "a message of 4 GiB is refused before it comes", write_huge,
	  SCENE_ONLY
	  " grpc-status=8 grpc-message=message longer than allowed (4294967295).|" SCENE_RST },
	{ "too much of headers is refused", write_too_long_header,
	  SCENE_ONLY " grpc-status=8 grpc-message=more than 16384 bytes of headers.|" },
	{ "too much of trailers is refused", write_too_long_trailers,
	  SCENE_ONLY " grpc-status=8 grpc-message=more than 16384 bytes of headers.|" },
	{ "a bomb of headers is dropped", write_bomb, "RST 1 11|" },
};

SUITE_OBJECT(scene, scene_new(&GRPC_LIMITS), scene_free);

/* At once, and another request on the same connection works afterwards. */
static void request_matches_table(void **state)
{
	const struct request_case *c = suite_row(state);
	struct scene *scene = *state;

	wire_preface(&scene->in);
	c->write(&scene->in);
	scene_play(scene, SIZE_MAX);
	assert_int_equal(scene->result, 0);
	scene_saw(scene, c->log);
	wire_request(&scene->in, 3, "/test.Test/Nothing");
	scene_play(scene, SIZE_MAX);
	scene_saw(scene, "HEADERS 3 :status=200 content-type=application/grpc "
			 "grpc-accept-encoding=identity grpc-status=12 "
			 "grpc-message=unknown method '/test.Test/Nothing'.|RST 3 0|");
}

/* In pieces of @chunk bytes. Then the end of the stream may come after the answer, which is
 * followed by a reset. */
static void play_cut(const struct request_case *c, size_t chunk)
{
	struct scene *scene = scene_new(&GRPC_LIMITS);
	auto_str struct str with_rst = STR_INIT;

	str_addf(&with_rst, "%s%s", c->log, SCENE_RST);
	wire_preface(&scene->in);
	c->write(&scene->in);
	scene_play(scene, chunk);
	assert_int_equal(scene->result, 0);
	if (strcmp(str_cstr(&scene->reader.log), str_cstr(&with_rst)) != 0)
		scene_saw(scene, c->log);
	scene_free(scene);
}

static void cuts_do_not_matter(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		for (size_t chunk = 1; chunk < 40; chunk++)
			play_cut(&requests[i], chunk);
	}
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "cuts do not matter", cuts_do_not_matter, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, requests, request_matches_table);
	return suite_run(&suite, "grpc server on the wire");
}
