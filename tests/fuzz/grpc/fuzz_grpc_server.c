/*
 * Any bytes as a client of the server's engine: nothing leaks, every handler's call is either ended
 * by it or cancelled, what is held and what waits to be sent stays within the limits.
 *
 * The first byte says how the others are cut and whether the preface is given. Between two pieces
 * time goes on and handlers answer.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/server.h"
#include "grpc/session.h"

enum { CALLS_MAX = 128, MESSAGE_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct state;

struct held {
	struct state *state;
	struct grpc_call *call; /* NULL: over */
};

struct state {
	struct held held[CALLS_MAX];
	size_t open;
};

static void on_cancel(void *arg)
{
	struct held *held = arg;

	assert(held->call);
	held->call = NULL;
	held->state->open--;
}

static void on_hold(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	struct state *state = arg;
	size_t i = 0;

	assert(len <= MESSAGE_MAX && request[len] == '\0');
	while (i < CALLS_MAX && state->held[i].call)
		i++;
	assert(i < CALLS_MAX); /* more than streams_max */
	state->held[i] = (struct held){ state, call };
	state->open++;
	grpc_call_on_cancel(call, on_cancel, &state->held[i]);
	grpc_call_send_latest(call, request, len, NULL);
}

static void on_echo(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	(void)arg;
	grpc_call_answer(call, request, len);
}

static const struct grpc_method methods[] = { { "/a/H", on_hold }, { "/a/E", on_echo } };

/* One held call goes on, or ends. */
static void answer_one(struct state *state, uint8_t how)
{
	struct held *held = &state->held[how % CALLS_MAX];

	if (!held->call)
		return;
	if (how & 1) {
		grpc_call_send_latest(held->call, "more", 4, NULL);
		return;
	}
	grpc_call_finish(held->call, (enum grpc_status)(how % 17), "100 %\n");
	held->call = NULL;
	state->open--;
}

static void drain(struct grpc_session *session)
{
	const char *data = NULL;
	size_t total = 0;
	size_t n;

	while ((n = grpc_session_output(session, &data)) > 0)
		total += n;
	assert(total < (8 << 20));
}

static void play(struct grpc_session *session, struct state *state, const uint8_t *data,
		 size_t size)
{
	size_t chunk = size > 0 ? 1 + (data[0] & 0x7f) * 8 : 1;
	uint64_t now_ms = 0;
	int r = 0;

	if (size > 0 && (data[0] & 0x80)) {
		static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";

		/* The array's own NUL is the last byte. */
		r = grpc_session_feed(session, preface, sizeof(preface), now_ms, NULL);
		assert(r == 0);
	}
	for (size_t at = 1; at < size && r == 0; at += chunk) {
		size_t n = size - at < chunk ? size - at : chunk;

		now_ms += data[at] * 8;
		r = grpc_session_feed(session, (const char *)data + at, n, now_ms, NULL);
		answer_one(state, data[at]);
		if (data[at] & 2)
			drain(session);
		if (r == 0)
			r = grpc_session_tick(session, now_ms, NULL);
		assert(grpc_session_next_ms(session) > now_ms || r < 0);
	}
	drain(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state *state = xcalloc(1, sizeof(*state));
	const struct grpc_service service = { methods, ARRAY_LEN(methods), state };
	struct grpc_limits limits = GRPC_LIMITS;
	struct grpc_server *server;

	limits.message_max = MESSAGE_MAX;
	limits.unfinished_max = 4 * MESSAGE_MAX;
	limits.queue_max = 3 * MESSAGE_MAX;
	limits.keepalive_ms = 5000;
	server = grpc_server_new(&service, &limits, 0);
	play(grpc_server_session(server), state, data, size);
	if (size > 0 && (data[0] & 1))
		grpc_server_close(server);
	grpc_server_free(server);
	assert(state->open == 0);
	free(state);
	return 0;
}
