/* nghttp2 callbacks for received frames. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "grpc/session_http2.h"

/* Headers larger than this multiple of the limit are not even answered with a status. */
enum { HEADERS_DROPPED = 4 };

static struct grpc_stream *stream_of(const struct grpc_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session->http2, id);
}

static void count_unfinished(struct grpc_stream *stream)
{
	stream->session->unfinished += stream->frames.part.len - stream->unfinished;
	stream->unfinished = stream->frames.part.len;
}

static void stream_bad(struct grpc_stream *stream, enum grpc_status status, const char *why)
{
	struct grpc_session *session = stream->session;

	stream->deaf = true;
	grpc_frames_done(&stream->frames);
	count_unfinished(stream);
	session->ops->on_bad(session->arg, stream, status, why);
}

static void peer_end(struct grpc_stream *stream, const struct grpc_head *last)
{
	struct grpc_session *session = stream->session;

	if (!grpc_frames_at_rest(&stream->frames)) {
		stream_bad(stream, GRPC_INTERNAL, "stream ended inside of a message");
		return;
	}
	session->ops->on_end(session->arg, stream, last);
	/* The server does not want the rest of the request. */
	if (session->role == GRPC_CLIENT && stream->outbox.first)
		grpc_stream_cancel(stream);
}

/* --- headers -------------------------------------------------------------- */

static int on_begin_headers(nghttp2_session *http2, const nghttp2_frame *frame, void *arg)
{
	struct grpc_session *session = arg;
	int32_t id = frame->hd.stream_id;

	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		nghttp2_session_set_stream_user_data(http2, id, grpc_stream_new(session, id));
	return 0;
}

/* A single byte may encode a header of four kilobytes (HPACK), and nghttp2 passes on each header until
 * this returns an error. */
/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static int on_header(nghttp2_session *http2, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *arg)
{
	struct grpc_session *session = arg;
	struct grpc_stream *stream = stream_of(session, frame->hd.stream_id);

	(void)name_len;
	(void)flags;
	if (!stream)
		return 0;
	grpc_head_add(&stream->head, session->limits.header_list_max, (const char *)name,
		      (const char *)value, value_len);
	if (stream->head.size / HEADERS_DROPPED < session->limits.header_list_max)
		return 0;
	nghttp2_submit_rst_stream(http2, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
				  NGHTTP2_ENHANCE_YOUR_CALM);
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* The response headers may be preceded by interim ones (1xx). */
static bool is_interim(const struct grpc_stream *stream)
{
	return stream->session->role == GRPC_CLIENT && !stream->answered &&
	       stream->head.http_status && stream->head.http_status[0] == '1';
}

static void head_end(struct grpc_stream *stream, bool first, bool last)
{
	struct grpc_session *session = stream->session;

	if (stream->deaf || is_interim(stream))
		return;
	if (first) {
		stream->answered = true;
		stream->announced = true;
		session->ops->on_head(session->arg, stream, &stream->head);
	}
	if (stream->head.too_large && !stream->deaf) {
		char why[64];

		(void)snprintf(why, sizeof(why), "more than %u bytes of headers",
			       session->limits.header_list_max);
		stream_bad(stream, GRPC_RESOURCE_EXHAUSTED, why);
	}
	if (!last || stream->deaf)
		return;
	peer_end(stream, &stream->head);
}

static void headers_recv(struct grpc_session *session, const nghttp2_frame *frame)
{
	struct grpc_stream *stream = stream_of(session, frame->hd.stream_id);
	bool first;

	if (!stream)
		return;
	first = session->role == GRPC_SERVER ? frame->headers.cat == NGHTTP2_HCAT_REQUEST
					     : !stream->answered;
	head_end(stream, first, frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
	grpc_head_done(&stream->head);
}

/* --- data ----------------------------------------------------------------- */

static bool on_message(void *arg, const char *data, size_t len)
{
	struct grpc_stream *stream = arg;
	struct grpc_session *session = stream->session;

	session->ops->on_message(session->arg, stream, data, len);
	return !stream->deaf;
}

/* The number of empty frames is not limited by flow control. */
static int on_begin_frame(nghttp2_session *http2, const nghttp2_frame_hd *hd, void *arg)
{
	struct grpc_session *session = arg;

	if (hd->type != NGHTTP2_DATA || (hd->flags & NGHTTP2_FLAG_END_STREAM) ||
	    (hd->length > 0 && !(hd->flags & NGHTTP2_FLAG_PADDED)))
		return 0;
	if (++session->barren > session->limits.barren_max)
		nghttp2_session_terminate_session(http2, NGHTTP2_ENHANCE_YOUR_CALM);
	return 0;
}

static int on_data_chunk(nghttp2_session *http2, uint8_t flags, int32_t id, const uint8_t *data,
			 size_t len, void *arg)
{
	struct grpc_session *session = arg;
	struct grpc_stream *stream = stream_of(session, id);
	enum grpc_status status;
	struct err err = { 0 };

	(void)http2;
	(void)flags;
	session->barren = 0;
	if (!stream || stream->deaf || stream->skipping)
		return 0;
	status = grpc_frames_feed(&stream->frames, (const char *)data, len, on_message, stream,
				  &err);
	count_unfinished(stream);
	if (status != GRPC_OK && !stream->deaf)
		stream_bad(stream, status, err.msg);
	else if (session->unfinished > session->limits.unfinished_max && !stream->deaf)
		stream_bad(stream, GRPC_RESOURCE_EXHAUSTED,
			   "too much of unfinished messages on this connection");
	return 0;
}

static void data_end(struct grpc_session *session, int32_t id)
{
	struct grpc_stream *stream = stream_of(session, id);

	if (stream && !stream->deaf)
		peer_end(stream, NULL);
}

/* --- other frames ------------------------------------------------------------- */

static void ping_recv(struct grpc_session *session, const nghttp2_frame *frame)
{
	if ((frame->hd.flags & NGHTTP2_FLAG_ACK) &&
	    memcmp(frame->ping.opaque_data, grpc_session_farewell, 8) == 0)
		nghttp2_submit_goaway(session->http2, NGHTTP2_FLAG_NONE,
				      nghttp2_session_get_last_proc_stream_id(session->http2),
				      NGHTTP2_NO_ERROR, NULL, 0);
}

static int on_frame_recv(nghttp2_session *http2, const nghttp2_frame *frame, void *arg)
{
	struct grpc_session *session = arg;

	(void)http2;
	if (frame->hd.type == NGHTTP2_HEADERS)
		headers_recv(session, frame);
	else if (frame->hd.type == NGHTTP2_PING)
		ping_recv(session, frame);
	else if (frame->hd.type == NGHTTP2_SETTINGS)
		session->hello_by_ms = UINT64_MAX;
	else if (frame->hd.type == NGHTTP2_DATA && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		data_end(session, frame->hd.stream_id);
	return 0;
}

static int on_stream_close(nghttp2_session *http2, int32_t id, uint32_t code, void *arg)
{
	struct grpc_stream *stream = stream_of(arg, id);

	(void)http2;
	if (stream)
		grpc_stream_close(stream, code, NULL);
	return 0;
}

void grpc_session_recv_callbacks(nghttp2_session_callbacks *callbacks)
{
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
}

/* --- streams ---------------------------------------------------------------- */

struct grpc_stream *grpc_stream_new(struct grpc_session *session, int32_t id)
{
	struct grpc_stream *stream = xcalloc(1, sizeof(*stream));

	stream->session = session;
	stream->id = id;
	stream->deadline_ms = UINT64_MAX;
	if (session->role == GRPC_SERVER && session->limits.request_ms)
		stream->deadline_ms = session->now_ms + session->limits.request_ms;
	stream->frames.max = session->limits.message_max;
	stream->link = &session->streams;
	stream->next = session->streams;
	if (stream->next)
		stream->next->link = &stream->next;
	session->streams = stream;
	session->idle = false;
	return stream;
}

void grpc_stream_close(struct grpc_stream *stream, uint32_t http2_code, const char *lost)
{
	struct grpc_session *session = stream->session;

	*stream->link = stream->next;
	if (stream->next)
		stream->next->link = stream->link;
	nghttp2_session_set_stream_user_data(session->http2, stream->id, NULL);
	session->unfinished -= stream->unfinished;
	if (stream->announced)
		session->ops->on_close(session->arg, stream, http2_code, lost);
	grpc_frames_done(&stream->frames);
	grpc_outbox_done(&stream->outbox);
	grpc_head_done(&stream->head);
	free(stream->message);
	free(stream);
}
