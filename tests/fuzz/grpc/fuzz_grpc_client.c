/*
 * Any bytes as a server of the client's engine: each call ends exactly once, in words.
 *
 * The first byte says how the others are cut.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "grpc/client.h"
#include "grpc/session.h"

enum { CALLS = 3, MESSAGE_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct call {
	bool stream;
	size_t messages;
	size_t ends;
};

static void on_message(void *arg, const char *data, size_t len)
{
	struct call *call = arg;

	(void)data;
	assert(len <= MESSAGE_MAX && call->ends == 0);
	call->messages++;
	assert(call->stream || call->messages == 1);
}

static void on_end(void *arg, const struct grpc_result *result)
{
	struct call *call = arg;

	assert(utf8_valid(result->message, strlen(result->message)));
	assert(call->stream || (call->messages == 1) == (result->status == GRPC_OK));
	call->ends++;
}

static void drain(struct grpc_session *session)
{
	const char *data = NULL;

	while (grpc_session_output(session, &data) > 0)
		;
}

static void play(struct grpc_session *session, const uint8_t *data, size_t size)
{
	size_t chunk = size > 0 ? 1 + data[0] * 4 : 1;
	uint64_t now_ms = 0;
	int r = 0;

	for (size_t at = 1; at < size && r == 0; at += chunk) {
		size_t n = size - at < chunk ? size - at : chunk;

		r = grpc_session_feed(session, (const char *)data + at, n, ++now_ms, NULL);
		if (data[at] & 1)
			drain(session);
		if (r == 0)
			r = grpc_session_tick(session, now_ms, NULL);
	}
	drain(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct call calls[CALLS] = { { .stream = true }, { .stream = false }, { .stream = true } };
	struct grpc_limits limits = GRPC_LIMITS;
	struct grpc_client *client;

	limits.message_max = MESSAGE_MAX;
	client = grpc_client_new(&limits, 0);
	for (size_t i = 0; i < CALLS; i++) {
		const struct grpc_request request = { .path = "/a/E",
						      .data = "request",
						      .len = 7,
						      .stream = calls[i].stream,
						      .timeout_ms = i == 2 ? 20 : 0,
						      .on_message = on_message,
						      .on_end = on_end,
						      .arg = &calls[i] };

		grpc_client_call(client, &request, 0);
	}
	drain(grpc_client_session(client));
	play(grpc_client_session(client), data, size);
	grpc_client_free(client);
	for (size_t i = 0; i < CALLS; i++)
		assert(calls[i].ends == 1);
	return 0;
}
