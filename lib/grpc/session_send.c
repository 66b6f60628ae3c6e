/* Outgoing requests, responses, messages and statuses. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "grpc/session_http2.h"
#include "grpc/timeout.h"

enum { HEADERS_MAX = 12 };

struct headers {
	nghttp2_nv items[HEADERS_MAX];
	size_t len;
};

/* nghttp2 copies its input; its struct merely lacks the const. */
static uint8_t *bytes_of(const char *text)
{
	union {
		const char *text;
		uint8_t *bytes;
	} both = { .text = text };

	return both.bytes;
}

static void headers_add(struct headers *h, const char *name, const char *value)
{
	assert(h->len < HEADERS_MAX);
	h->items[h->len++] = (nghttp2_nv){
		.name = bytes_of(name),
		.value = bytes_of(value),
		.namelen = strlen(name),
		.valuelen = strlen(value),
	};
}

static void must(int code)
{
	assert(code == 0);
}

/* Tell a session that waits for data that there is some, or that none will follow. */
static void resume(struct grpc_stream *stream)
{
	(void)nghttp2_session_resume_data(stream->session->http2, stream->id);
	grpc_session_touch(stream->session);
}

static void status_headers(struct headers *h, const struct grpc_stream *stream, char number[12])
{
	(void)snprintf(number, 12, "%d", (int)stream->status);
	headers_add(h, "grpc-status", number);
	if (stream->message)
		headers_add(h, "grpc-message", stream->message);
}

static void trailers_submit(const struct grpc_stream *stream)
{
	struct headers h = { .len = 0 };
	char number[12];

	status_headers(&h, stream, number);
	must(nghttp2_submit_trailer(stream->session->http2, stream->id, h.items, h.len));
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static ssize_t read_data(nghttp2_session *http2, int32_t id, uint8_t *buf, size_t len,
			 uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct grpc_stream *stream = source->ptr;
	const struct grpc_session *session = arg;
	size_t n = grpc_outbox_read(&stream->outbox, buf, len);

	(void)http2;
	(void)id;
	if (n == 0 && !stream->finished)
		return NGHTTP2_ERR_DEFERRED;
	if (!stream->finished || stream->outbox.first)
		return (ssize_t)n;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (session->role == GRPC_SERVER && !stream->refused) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		trailers_submit(stream);
	}
	return (ssize_t)n;
}

/* --- server ------------------------------------------------------------------ */

static void respond(struct grpc_stream *stream)
{
	nghttp2_data_provider provider = { .source.ptr = stream, .read_callback = read_data };
	struct headers h = { .len = 0 };

	if (stream->responded)
		return;
	stream->responded = true;
	headers_add(&h, ":status", "200");
	headers_add(&h, "content-type", "application/grpc");
	must(nghttp2_submit_response(stream->session->http2, stream->id, h.items, h.len,
				     &provider));
}

bool grpc_stream_send(struct grpc_stream *stream, const char *data, size_t len)
{
	assert(!stream->finished && stream->session->role == GRPC_SERVER);
	if (!grpc_outbox_add(&stream->outbox, stream->session->limits.queue_max, data, len))
		return false;
	respond(stream);
	resume(stream);
	return true;
}

void grpc_stream_drop_waiting(struct grpc_stream *stream)
{
	grpc_outbox_drop_waiting(&stream->outbox);
}

/* Send the status alone, in a single header block. */
static void respond_status(struct grpc_stream *stream)
{
	struct headers h = { .len = 0 };
	char number[12];

	stream->responded = true;
	headers_add(&h, ":status", "200");
	headers_add(&h, "content-type", "application/grpc");
	headers_add(&h, "grpc-accept-encoding", "identity");
	status_headers(&h, stream, number);
	must(nghttp2_submit_response(stream->session->http2, stream->id, h.items, h.len, NULL));
}

void grpc_stream_finish(struct grpc_stream *stream, enum grpc_status status, const char *message)
{
	auto_str struct str encoded = STR_INIT;

	assert(!stream->finished && stream->session->role == GRPC_SERVER);
	stream->finished = true;
	stream->deadline_ms = UINT64_MAX;
	stream->status = status;
	if (message && message[0]) {
		grpc_message_encode(&encoded, message);
		stream->message = str_detach(&encoded);
	}
	stream->deaf = true;
	if (!stream->responded)
		respond_status(stream);
	resume(stream);
}

void grpc_stream_skip(struct grpc_stream *stream)
{
	stream->skipping = true;
}

void grpc_stream_refuse(struct grpc_stream *stream, const char *http_status, const char *text)
{
	nghttp2_data_provider provider = { .source.ptr = stream, .read_callback = read_data };
	struct headers h = { .len = 0 };

	assert(!stream->responded);
	stream->responded = true;
	stream->refused = true;
	stream->finished = true;
	stream->deaf = true;
	grpc_outbox_add_plain(&stream->outbox, text, strlen(text));
	headers_add(&h, ":status", http_status);
	headers_add(&h, "content-type", "text/plain");
	must(nghttp2_submit_response(stream->session->http2, stream->id, h.items, h.len,
				     &provider));
	grpc_session_touch(stream->session);
}

/* Ask a client to stop if it still sends after its complete response (RFC 9113 8.1). */
static int on_frame_send(nghttp2_session *http2, const nghttp2_frame *frame, void *arg)
{
	const struct grpc_session *session = arg;
	int32_t id = frame->hd.stream_id;

	if (session->role != GRPC_SERVER || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
	    (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
		return 0;
	if (nghttp2_session_get_stream_remote_close(http2, id) == 0)
		must(nghttp2_submit_rst_stream(http2, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR));
	return 0;
}

/* --- client ------------------------------------------------------------------ */

struct grpc_stream *grpc_session_request(struct grpc_session *session, const char *path,
					 uint64_t timeout_ms, const char *data, size_t len)
{
	struct grpc_stream *stream = grpc_stream_new(session, 0);
	nghttp2_data_provider provider = { .source.ptr = stream, .read_callback = read_data };
	char timeout[GRPC_TIMEOUT_SIZE];
	struct headers h = { .len = 0 };

	assert(session->role == GRPC_CLIENT);
	stream->announced = true;
	stream->finished = true;
	grpc_outbox_add(&stream->outbox, session->limits.queue_max, data, len);
	headers_add(&h, ":method", "POST");
	headers_add(&h, ":scheme", "http");
	headers_add(&h, ":path", path);
	headers_add(&h, ":authority", "localhost");
	headers_add(&h, "content-type", "application/grpc");
	headers_add(&h, "te", "trailers");
	headers_add(&h, "user-agent", "hostdev/" HOSTDEV_VERSION);
	headers_add(&h, "grpc-accept-encoding", "identity");
	if (timeout_ms)
		headers_add(&h, "grpc-timeout", grpc_timeout_format(timeout_ms, timeout));
	stream->id =
		nghttp2_submit_request(session->http2, NULL, h.items, h.len, &provider, stream);
	assert(stream->id > 0);
	grpc_session_touch(session);
	return stream;
}

/* A request could not be sent; nghttp2 may no longer know its stream. */
static int on_frame_not_send(nghttp2_session *http2, const nghttp2_frame *frame, int code,
			     void *arg)
{
	struct grpc_session *session = arg;
	struct grpc_stream *stream = session->streams;

	(void)code;
	if (session->role != GRPC_CLIENT || frame->hd.type != NGHTTP2_HEADERS ||
	    nghttp2_session_find_stream(http2, frame->hd.stream_id))
		return 0;
	while (stream && stream->id != frame->hd.stream_id)
		stream = stream->next;
	if (stream)
		grpc_stream_close(stream, NGHTTP2_REFUSED_STREAM, NULL);
	return 0;
}

void grpc_session_send_callbacks(nghttp2_session_callbacks *callbacks)
{
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_send);
}

/* --- both roles ---------------------------------------------------------------- */

void grpc_stream_set_arg(struct grpc_stream *stream, void *arg)
{
	stream->arg = arg;
}

void *grpc_stream_arg(const struct grpc_stream *stream)
{
	return stream->arg;
}

void grpc_stream_set_deadline(struct grpc_stream *stream, uint64_t at_ms)
{
	stream->deadline_ms = at_ms;
	grpc_session_touch(stream->session);
}

void grpc_stream_cancel(struct grpc_stream *stream)
{
	stream->deaf = true;
	must(nghttp2_submit_rst_stream(stream->session->http2, NGHTTP2_FLAG_NONE, stream->id,
				       NGHTTP2_CANCEL));
	grpc_session_touch(stream->session);
}
