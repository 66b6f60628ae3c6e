#include "grpc/server.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/head.h"
#include "grpc/session.h"

/* bytes of the path in messages */
enum { NAME_SHOWN_MAX = 200 };

struct grpc_server {
	const struct grpc_service *service;
	struct grpc_session *session;
	uint64_t connection;
	bool closed;
};

/* Exists as long as its stream. */
struct grpc_call {
	struct grpc_server *server;
	struct grpc_stream *stream;
	const struct grpc_method *method;
	uint64_t deadline_ms;    /* the client's */
	const char *http_status; /* NULL: a gRPC call */
	const char *http_text;
	struct str request;
	bool has_request;
	bool handled;  /* was passed to the handler */
	bool finished; /* the status is queued */
	void (*on_cancel)(void *arg);
	void *arg;
};

static void finish(struct grpc_call *call, enum grpc_status status, const char *message)
{
	call->finished = true;
	grpc_stream_finish(call->stream, status, message);
}

/* Tell the handler that it no longer owns the call. */
static void cancel(struct grpc_call *call)
{
	void (*fn)(void *arg) = call->on_cancel;

	call->on_cancel = NULL;
	if (fn)
		fn(call->arg);
}

/* --- requests --- */

static const struct grpc_method *method_find(const struct grpc_service *service, const char *path)
{
	for (size_t i = 0; i < service->nmethods; i++) {
		if (strcmp(service->methods[i].path, path) == 0)
			return &service->methods[i];
	}
	return NULL;
}

/* Returns false if the call was refused. */
static bool method_take(struct grpc_call *call, const char *path)
{
	auto_str struct str message = STR_INIT;

	call->method = method_find(call->server->service, path);
	if (call->method)
		return true;
	str_add(&message, "unknown method '");
	str_add_mem(&message, path, strnlen(path, NAME_SHOWN_MAX));
	str_add_char(&message, '\'');
	finish(call, GRPC_UNIMPLEMENTED, str_cstr(&message));
	return false;
}

static bool timeout_take(struct grpc_call *call, const char *text)
{
	const struct grpc_session *session = call->server->session;
	uint64_t request_ms = grpc_session_limits(session)->request_ms;
	uint64_t now_ms = grpc_session_now_ms(session);
	uint64_t due_ms = request_ms ? now_ms + request_ms : UINT64_MAX;
	uint64_t timeout_ms = 0;

	if (text && !grpc_timeout_parse(text, &timeout_ms)) {
		finish(call, GRPC_INTERNAL, "malformed grpc-timeout");
		return false;
	}
	if (text)
		call->deadline_ms = now_ms + timeout_ms;
	grpc_stream_set_deadline(call->stream,
				 call->deadline_ms < due_ms ? call->deadline_ms : due_ms);
	return true;
}

/* This peer does not speak gRPC; it gets an HTTP response after its whole request. */
static void refuse_later(struct grpc_call *call, const char *http_status, const char *text)
{
	call->http_status = http_status;
	call->http_text = text;
	grpc_stream_skip(call->stream);
	timeout_take(call, NULL);
}

static void refuse(struct grpc_call *call)
{
	call->finished = true;
	grpc_stream_refuse(call->stream, call->http_status, call->http_text);
}

static void abandon(struct grpc_stream *stream)
{
	struct grpc_call *call = grpc_stream_arg(stream);

	if (!call || call->finished)
		return;
	call->finished = true;
	grpc_stream_cancel(stream);
	cancel(call);
}

static void on_head(void *arg, struct grpc_stream *stream, const struct grpc_head *head)
{
	struct grpc_call *call = xcalloc(1, sizeof(*call));
	struct grpc_server *server = arg;

	call->server = server;
	call->stream = stream;
	call->deadline_ms = UINT64_MAX;
	grpc_stream_set_arg(stream, call);
	if (server->closed)
		abandon(stream);
	else if (head->too_large)
		return; /* on_bad follows */
	else if (!head->method || strcmp(head->method, "POST") != 0)
		refuse_later(call, "405", "gRPC calls are POST requests\n");
	else if (!grpc_head_is_grpc(head))
		refuse_later(call, "415", "gRPC calls have the content type application/grpc\n");
	else if (!grpc_head_is_plain(head))
		finish(call, GRPC_UNIMPLEMENTED, "compressed messages are not understood");
	else if (method_take(call, head->path ? head->path : ""))
		timeout_take(call, head->timeout);
}

static void on_message(void *arg, struct grpc_stream *stream, const char *data, size_t len)
{
	struct grpc_call *call = grpc_stream_arg(stream);

	(void)arg;
	if (call->has_request) {
		finish(call, GRPC_INTERNAL, "more than one request message");
		return;
	}
	call->has_request = true;
	str_add_mem(&call->request, data, len);
}

static void on_end(void *arg, struct grpc_stream *stream, const struct grpc_head *last)
{
	struct grpc_call *call = grpc_stream_arg(stream);
	auto_str struct str request = call->request;

	(void)last;
	call->request = STR_INIT;
	if (call->http_status) {
		refuse(call);
		return;
	}
	if (!call->has_request) {
		finish(call, GRPC_INTERNAL, "no request message");
		return;
	}
	call->handled = true;
	grpc_stream_set_deadline(stream, call->deadline_ms);
	call->method->handle(((struct grpc_server *)arg)->service->arg, call, str_cstr(&request),
			     request.len);
}

static void on_bad(void *arg, struct grpc_stream *stream, enum grpc_status status, const char *why)
{
	struct grpc_call *call = grpc_stream_arg(stream);

	(void)arg;
	if (!call->finished)
		finish(call, status, why);
}

/* Send the status first: after its callback the handler no longer owns the call. */
static void on_deadline(void *arg, struct grpc_stream *stream)
{
	struct grpc_call *call = grpc_stream_arg(stream);

	(void)arg;
	if (call->finished)
		return;
	if (call->http_status) {
		refuse(call);
		return;
	}
	finish(call, GRPC_DEADLINE_EXCEEDED,
	       call->handled ? "deadline exceeded" : "request did not come in time");
	cancel(call);
}

static void on_close(void *arg, struct grpc_stream *stream, uint32_t http2_code, const char *lost)
{
	struct grpc_call *call = grpc_stream_arg(stream);

	(void)arg;
	(void)http2_code;
	(void)lost;
	call->stream = NULL;
	if (!call->finished) {
		call->finished = true;
		cancel(call);
	}
	str_done(&call->request);
	free(call);
}

static const struct grpc_session_ops ops = {
	.on_head = on_head,
	.on_message = on_message,
	.on_end = on_end,
	.on_bad = on_bad,
	.on_deadline = on_deadline,
	.on_close = on_close,
};

struct grpc_server *grpc_server_new(const struct grpc_service *service,
				    const struct grpc_limits *limits, uint64_t now_ms)
{
	static uint64_t connections;
	struct grpc_server *server = xcalloc(1, sizeof(*server));

	server->service = service;
	server->connection = ++connections;
	server->session = grpc_session_new(GRPC_SERVER, limits, &ops, server, now_ms);
	return server;
}

struct grpc_server *grpc_server_free(struct grpc_server *server)
{
	if (!server)
		return NULL;
	grpc_session_free(server->session);
	free(server);
	return NULL;
}

void grpc_server_close(struct grpc_server *server)
{
	server->closed = true;
	grpc_session_each(server->session, abandon);
}

struct grpc_session *grpc_server_session(struct grpc_server *server)
{
	return server->session;
}

/* --- responses --- */

static int message_check(const struct grpc_call *call, size_t len, struct err *err)
{
	size_t max = grpc_session_limits(call->server->session)->message_max;

	if (len > max)
		return err_set(err, ERR_INVALID, -EMSGSIZE,
			       "message of %zu bytes; at most %zu can be sent", len, max);
	return 0;
}

int grpc_call_send(struct grpc_call *call, const char *data, size_t len, struct err *err)
{
	int r = message_check(call, len, err);

	if (r < 0)
		return r;
	return grpc_stream_send(call->stream, data, len) ? GRPC_SENT : GRPC_QUEUE_FULL;
}

int grpc_call_send_latest(struct grpc_call *call, const char *data, size_t len, struct err *err)
{
	int r = message_check(call, len, err);

	if (r < 0)
		return r;
	grpc_stream_drop_waiting(call->stream);
	return grpc_call_send(call, data, len, err);
}

void grpc_call_answer(struct grpc_call *call, const char *data, size_t len)
{
	struct err err = { 0 };
	int r = grpc_call_send(call, data, len, &err);

	if (r < 0)
		grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, err.msg);
	else if (r == GRPC_QUEUE_FULL)
		grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "the client reads too slowly");
	else
		grpc_call_finish(call, GRPC_OK, NULL);
}

void grpc_call_finish(struct grpc_call *call, enum grpc_status status, const char *message)
{
	call->on_cancel = NULL;
	finish(call, status, message);
}

void grpc_call_on_cancel(struct grpc_call *call, void (*fn)(void *arg), void *arg)
{
	call->on_cancel = fn;
	call->arg = arg;
}

uint64_t grpc_call_connection(const struct grpc_call *call)
{
	return call->server->connection;
}

uint64_t grpc_call_deadline_ms(const struct grpc_call *call)
{
	return call->deadline_ms;
}
