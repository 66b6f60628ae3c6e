/*
 * pair: a client's engine and a server's, back to back in memory, and a service that does what the
 * request says. What happens is written to a log.
 */
#pragma once

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "grpc/client.h"
#include "grpc/server.h"
#include "grpc/session.h"
#include "unit/suite.h"

enum { PAIR_HELD_MAX = 64 };

struct pair {
	struct grpc_limits server_limits;
	struct grpc_limits client_limits;
	struct grpc_service service;
	struct grpc_server *server;
	struct grpc_client *client;
	uint64_t now_ms;
	size_t chunk; /* at most so many bytes at a time; 0: as they come */
	bool stalled; /* the client gets nothing */
	struct str log;
	struct grpc_call *held[PAIR_HELD_MAX];
	size_t nheld;
};

/* --- the service ------------------------------------------------------------------------------ */

static inline void pair_echo(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	(void)arg;
	grpc_call_answer(call, request, len);
}

/* The request is "STATUS MESSAGE". */
static inline void pair_fail(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	auto_free char *text = xstrndup(request, len);
	char *message = strchr(text, ' ');

	(void)arg;
	if (message)
		*message++ = '\0';
	grpc_call_finish(call, grpc_status_from_text(text), message);
}

/* As many bytes as the request says. */
static inline void pair_big(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	auto_free char *text = xstrndup(request, len);
	auto_free char *data = NULL;
	uint64_t size = 0;

	(void)arg;
	assert_true(str_to_u64(text, &size));
	data = xcalloc(1, size + 1);
	grpc_call_answer(call, data, size);
}

/* Each byte of the request is a message. */
static inline void pair_stream(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	(void)arg;
	for (size_t i = 0; i < len; i++)
		assert_int_equal(grpc_call_send(call, request + i, 1, NULL), GRPC_SENT);
	grpc_call_finish(call, GRPC_OK, NULL);
}

static inline void pair_on_cancel(void *arg)
{
	struct pair *pair = arg;

	str_add(&pair->log, "cancelled|");
}

/* Not answered: the test does that with held[]. */
static inline void pair_hold(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	struct pair *pair = arg;

	str_add(&pair->log, "held ");
	str_add_mem(&pair->log, request, len);
	str_add_char(&pair->log, '|');
	assert_true(pair->nheld < PAIR_HELD_MAX);
	pair->held[pair->nheld++] = call;
	grpc_call_on_cancel(call, pair_on_cancel, pair);
}

static const struct grpc_method pair_methods[] = {
	{ "/test.Test/Echo", pair_echo }, { "/test.Test/Fail", pair_fail },
	{ "/test.Test/Big", pair_big },   { "/test.Test/Stream", pair_stream },
	{ "/test.Test/Hold", pair_hold },
};

/* --- the client's side ------------------------------------------------------------------------ */

static inline void pair_on_message(void *arg, const char *data, size_t len)
{
	struct pair *pair = arg;

	if (len > 64)
		str_addf(&pair->log, "%zu bytes|", len);
	else
		str_addf(&pair->log, "%.*s|", (int)len, data);
}

static inline void pair_on_end(void *arg, const struct grpc_result *result)
{
	struct pair *pair = arg;

	str_addf(&pair->log, "%s: %s|", grpc_status_name(result->status), result->message);
}

/* A call with all of @request but the callbacks. */
static inline struct grpc_rpc *pair_call_with(struct pair *pair, struct grpc_request request)
{
	request.on_message = pair_on_message;
	request.on_end = pair_on_end;
	request.arg = pair;
	return grpc_client_call(pair->client, &request, pair->now_ms);
}

static inline struct grpc_rpc *pair_call(struct pair *pair, const char *method, const char *data)
{
	auto_free char *path = xasprintf("/test.Test/%s", method);

	return pair_call_with(
		pair, (struct grpc_request){ .path = path,
					     .data = data,
					     .len = strlen(data),
					     .stream = method[0] == 'S' || method[0] == 'H' });
}

/* --- moving bytes ----------------------------------------------------------------------------- */

static inline void pair_feed(struct pair *pair, struct grpc_session *to, const char *data,
			     size_t len)
{
	while (len > 0) {
		size_t n = pair->chunk && pair->chunk < len ? pair->chunk : len;
		struct err err = { 0 };

		assert_int_equal(grpc_session_feed(to, data, n, pair->now_ms, &err), 0);
		data += n;
		len -= n;
	}
}

static inline size_t pair_move(struct pair *pair, struct grpc_session *from,
			       struct grpc_session *to)
{
	auto_str struct str bytes = STR_INIT;
	const char *data = NULL;
	size_t n;

	while ((n = grpc_session_output(from, &data)) > 0)
		str_add_mem(&bytes, data, n);
	if (bytes.len > 0)
		pair_feed(pair, to, bytes.buf, bytes.len);
	return bytes.len;
}

/* Until nothing moves any more. */
static inline void pair_run(struct pair *pair)
{
	struct grpc_session *server = grpc_server_session(pair->server);
	struct grpc_session *client = grpc_client_session(pair->client);
	size_t moved = 1;

	while (moved > 0) {
		moved = pair_move(pair, client, server);
		if (!pair->stalled)
			moved += pair_move(pair, server, client);
	}
}

/* Advance the time of both sides. */
static inline void pair_wait(struct pair *pair, uint64_t ms)
{
	pair->now_ms += ms;
	assert_int_equal(grpc_session_tick(grpc_server_session(pair->server), pair->now_ms, NULL),
			 0);
	assert_int_equal(grpc_session_tick(grpc_client_session(pair->client), pair->now_ms, NULL),
			 0);
	pair_run(pair);
}

/* --- life ------------------------------------------------------------------------------------- */

/* With the limits that are set, else the usual ones. */
static inline void pair_start(struct pair *pair)
{
	if (!pair->server_limits.message_max)
		pair->server_limits = GRPC_LIMITS;
	if (!pair->client_limits.message_max)
		pair->client_limits = GRPC_LIMITS;
	pair->now_ms = 1000;
	pair->service = (struct grpc_service){ pair_methods, ARRAY_LEN(pair_methods), pair };
	pair->server = grpc_server_new(&pair->service, &pair->server_limits, pair->now_ms);
	pair->client = grpc_client_new(&pair->client_limits, pair->now_ms);
}

static inline void pair_done(struct pair *pair)
{
	pair->client = grpc_client_free(pair->client);
	pair->server = grpc_server_free(pair->server);
	str_done(&pair->log);
}

SUITE_CLOSING(pair_to_open, struct pair, pair_done);
SUITE_FIXTURE(pair, struct pair, pair_start, pair_done);

/* The log is @text, and is empty from then on. */
static inline void pair_saw(struct pair *pair, const char *text)
{
	assert_string_equal(str_cstr(&pair->log), text);
	str_clear(&pair->log);
}
