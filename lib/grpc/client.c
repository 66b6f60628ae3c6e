#include "grpc/client.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "grpc/session.h"

enum { HTTP2_CANCEL = 8 };

struct grpc_client {
	struct grpc_session *session;
	bool closed;
};

/* Exists until its end was reported or it is cancelled; its stream may exist longer. */
struct grpc_rpc {
	struct grpc_client *client;
	struct grpc_stream *stream;
	struct grpc_request request; /* without path and data */
	uint64_t deadline_ms;        /* UINT64_MAX: none */
	struct str answer;           /* of a call with a single response */
	bool has_answer;
	bool ending;
	bool cancelled;               /* cancelled by on_end while ending */
	enum grpc_status head_status; /* not GRPC_OK: the response headers are not gRPC's */
	char head_message[64];
};

static void rpc_free(struct grpc_rpc *rpc)
{
	str_done(&rpc->answer);
	free(rpc);
}

/* The status may be part of the rpc, and the response callback may cancel it. */
static void rpc_end(struct grpc_rpc *rpc, enum grpc_status status, const char *message)
{
	const struct grpc_result result = { status, message };
	const struct grpc_request *request = &rpc->request;

	rpc->ending = true;
	if (!request->stream && status == GRPC_OK)
		request->on_message(request->arg, str_cstr(&rpc->answer), rpc->answer.len);
	grpc_stream_set_arg(rpc->stream, NULL);
	if (!rpc->cancelled)
		request->on_end(request->arg, &result);
	rpc_free(rpc);
}

/* Whatever else the server sends on this stream is not needed. */
static void end_and_reset(struct grpc_rpc *rpc, enum grpc_status status, const char *message)
{
	grpc_stream_cancel(rpc->stream);
	rpc_end(rpc, status, message);
}

/* --- input from the server --- */

static void on_head(void *arg, struct grpc_stream *stream, const struct grpc_head *head)
{
	struct grpc_rpc *rpc = grpc_stream_arg(stream);
	uint64_t http = 0;

	(void)arg;
	if (!rpc || head->too_large)
		return;
	str_to_u64(head->http_status, &http);
	if (http != 200) {
		rpc->head_status = grpc_status_from_http((unsigned)http);
		(void)snprintf(rpc->head_message, sizeof(rpc->head_message), "HTTP status %u",
			       (unsigned)http);
	} else if (!grpc_head_is_grpc(head)) {
		rpc->head_status = GRPC_UNKNOWN;
		(void)snprintf(rpc->head_message, sizeof(rpc->head_message),
			       "answer is not of type application/grpc");
	} else if (!grpc_head_is_plain(head)) {
		end_and_reset(rpc, GRPC_UNIMPLEMENTED, "answer is compressed");
	}
}

static void on_message(void *arg, struct grpc_stream *stream, const char *data, size_t len)
{
	struct grpc_rpc *rpc = grpc_stream_arg(stream);

	(void)arg;
	if (!rpc || rpc->head_status != GRPC_OK)
		return;
	if (rpc->request.stream) {
		rpc->request.on_message(rpc->request.arg, data, len);
		return;
	}
	if (rpc->has_answer) {
		end_and_reset(rpc, GRPC_INTERNAL, "more than one answer");
		return;
	}
	rpc->has_answer = true;
	str_add_mem(&rpc->answer, data, len);
}

static void end_with_status(struct grpc_rpc *rpc, const struct grpc_head *last)
{
	enum grpc_status status = grpc_status_from_text(last->status);
	auto_str struct str message = STR_INIT;

	if (last->message)
		grpc_message_decode(&message, last->message, strlen(last->message));
	if (status == GRPC_OK && !rpc->request.stream && !rpc->has_answer)
		rpc_end(rpc, GRPC_INTERNAL, "no answer, and no error");
	else
		rpc_end(rpc, status, str_cstr(&message));
}

static void on_end(void *arg, struct grpc_stream *stream, const struct grpc_head *last)
{
	struct grpc_rpc *rpc = grpc_stream_arg(stream);

	(void)arg;
	if (!rpc)
		return;
	if (last && last->status)
		end_with_status(rpc, last);
	else if (rpc->head_status != GRPC_OK)
		rpc_end(rpc, rpc->head_status, rpc->head_message);
	else
		rpc_end(rpc, GRPC_INTERNAL, "stream ended without a status");
}

static void on_bad(void *arg, struct grpc_stream *stream, enum grpc_status status, const char *why)
{
	struct grpc_rpc *rpc = grpc_stream_arg(stream);

	(void)arg;
	if (rpc)
		end_and_reset(rpc, status, why);
}

static void on_deadline(void *arg, struct grpc_stream *stream)
{
	struct grpc_rpc *rpc = grpc_stream_arg(stream);

	(void)arg;
	if (rpc)
		end_and_reset(rpc, GRPC_DEADLINE_EXCEEDED, "deadline exceeded");
}

/* True if the deadline is reached. The server's clock may be ahead of ours, and then it cancels
 * the stream first. */
static bool is_late(const struct grpc_rpc *rpc, uint32_t http2_code)
{
	return http2_code == HTTP2_CANCEL &&
	       grpc_session_now_ms(rpc->client->session) >= rpc->deadline_ms;
}

static void on_close(void *arg, struct grpc_stream *stream, uint32_t http2_code, const char *lost)
{
	struct grpc_rpc *rpc = grpc_stream_arg(stream);
	char message[64];

	(void)arg;
	if (!rpc)
		return;
	if (lost) {
		rpc_end(rpc, GRPC_UNAVAILABLE, lost);
		return;
	}
	if (is_late(rpc, http2_code)) {
		rpc_end(rpc, GRPC_DEADLINE_EXCEEDED, "deadline exceeded");
		return;
	}
	(void)snprintf(message, sizeof(message), "stream was reset, HTTP/2 error %u",
		       (unsigned)http2_code);
	rpc_end(rpc, grpc_status_from_http2(http2_code), message);
}

static const struct grpc_session_ops ops = {
	.on_head = on_head,
	.on_message = on_message,
	.on_end = on_end,
	.on_bad = on_bad,
	.on_deadline = on_deadline,
	.on_close = on_close,
};

/* --- the client --- */

struct grpc_client *grpc_client_new(const struct grpc_limits *limits, uint64_t now_ms)
{
	struct grpc_client *client = xcalloc(1, sizeof(*client));

	client->session = grpc_session_new(GRPC_CLIENT, limits, &ops, client, now_ms);
	return client;
}

struct grpc_client *grpc_client_free(struct grpc_client *client)
{
	if (!client)
		return NULL;
	grpc_session_free(client->session);
	free(client);
	return NULL;
}

static void rpc_abandon(struct grpc_stream *stream)
{
	if (grpc_stream_arg(stream))
		grpc_rpc_cancel(grpc_stream_arg(stream));
}

void grpc_client_close(struct grpc_client *client)
{
	client->closed = true;
	grpc_session_each(client->session, rpc_abandon);
}

struct grpc_session *grpc_client_session(struct grpc_client *client)
{
	return client->session;
}

bool grpc_client_takes_calls(const struct grpc_client *client)
{
	return !client->closed && grpc_session_takes_requests(client->session);
}

struct grpc_rpc *grpc_client_call(struct grpc_client *client, const struct grpc_request *request,
				  uint64_t now_ms)
{
	struct grpc_rpc *rpc = xcalloc(1, sizeof(*rpc));

	assert(grpc_client_takes_calls(client));
	assert(request->len <= grpc_session_limits(client->session)->message_max);
	assert(strlen(request->path) <= GRPC_PATH_MAX);
	rpc->client = client;
	rpc->request = *request;
	rpc->stream = grpc_session_request(client->session, request->path, request->timeout_ms,
					   request->data, request->len);
	grpc_stream_set_arg(rpc->stream, rpc);
	rpc->deadline_ms = request->timeout_ms ? now_ms + request->timeout_ms : UINT64_MAX;
	grpc_stream_set_deadline(rpc->stream, rpc->deadline_ms);
	return rpc;
}

void grpc_rpc_cancel(struct grpc_rpc *rpc)
{
	if (rpc->ending) {
		rpc->cancelled = true;
		return;
	}
	grpc_stream_cancel(rpc->stream);
	grpc_stream_set_arg(rpc->stream, NULL);
	rpc_free(rpc);
}
