#include "grpc/session.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <nghttp2/nghttp2.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/frame.h"
#include "grpc/head.h"
#include "grpc/outbox.h"

enum { LAST_ERROR_MAX = 160 };

struct grpc_session {
	nghttp2_session *http2;
	enum grpc_role role;
	struct grpc_limits limits;
	const struct grpc_session_ops *ops;
	void *arg;
	void (*on_output)(void *arg);
	void *output_arg;
	struct grpc_stream *streams;
	size_t unfinished;     /* bytes of incomplete messages */
	uint64_t now_ms;       /* time of the current or last feed or tick */
	uint64_t heard_ms;     /* time of the last feed */
	uint64_t hello_by_ms;  /* deadline for the peer's first SETTINGS; UINT64_MAX: it arrived */
	uint64_t pong_by_ms;   /* the PING's answer is due; UINT64_MAX: none sent */
	uint64_t idle_look_ms; /* next check whether there are calls; UINT64_MAX: never */
	bool idle;             /* no calls since the last check */
	bool sent_away;        /* GOAWAY was sent because of that */
	size_t barren;         /* consecutive DATA frames without data */
	bool gone;             /* the connection is gone */
	char last_error[LAST_ERROR_MAX]; /* nghttp2's last error message */
};

struct grpc_stream {
	struct grpc_session *session;
	struct grpc_stream *next;
	struct grpc_stream **link; /* the pointer that points to this stream */
	int32_t id;
	void *arg;
	uint64_t deadline_ms;
	struct grpc_head head; /* the header block being read */
	bool announced;        /* on_head was called, or we opened the stream */
	bool answered;         /* client: the response headers arrived */
	bool deaf;             /* input is dropped */
	bool skipping;         /* input is dropped, but its end is reported */
	struct grpc_frames frames;
	size_t unfinished; /* its share of the session's unfinished */
	struct grpc_outbox outbox;
	bool responded; /* server: our headers are queued */
	bool refused;   /* server: answered with an HTTP status, so without a gRPC status */
	bool finished;  /* nothing more will be added to the outbox */
	enum grpc_status status;
	char *message;
};

/* Payload of the PING that is sent after the first GOAWAY. */
static const uint8_t farewell[8] = "farewell";

/* nghttp2 fails only without memory, in which case we abort, or because of a bug in our code. */
static void must(int code)
{
	assert(code == 0);
}

/* Report to the owner that nghttp2 has output. */
static void output_ready(struct grpc_session *session)
{
	if (session->on_output)
		session->on_output(session->output_arg);
}

/* --- streams --- */

static struct grpc_stream *stream_new(struct grpc_session *session, int32_t id)
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

/* Call on_close and free the stream. */
static void stream_close(struct grpc_stream *stream, uint32_t http2_code, const char *lost)
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

/* --- sending --- */

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

/* Tell a session that waits for data that there is some, or that none will follow. */
static void resume(struct grpc_stream *stream)
{
	(void)nghttp2_session_resume_data(stream->session->http2, stream->id);
	output_ready(stream->session);
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

/* --- sending: the server --- */

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
	output_ready(stream->session);
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

/* --- sending: the client --- */

struct grpc_stream *grpc_session_request(struct grpc_session *session, const char *path,
					 uint64_t timeout_ms, const char *data, size_t len)
{
	struct grpc_stream *stream = stream_new(session, 0);
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
	output_ready(session);
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
		stream_close(stream, NGHTTP2_REFUSED_STREAM, NULL);
	return 0;
}

static void set_send_callbacks(nghttp2_session_callbacks *callbacks)
{
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_send);
}

/* --- sending: both --- */

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
	output_ready(stream->session);
}

void grpc_stream_cancel(struct grpc_stream *stream)
{
	stream->deaf = true;
	must(nghttp2_submit_rst_stream(stream->session->http2, NGHTTP2_FLAG_NONE, stream->id,
				       NGHTTP2_CANCEL));
	output_ready(stream->session);
}

/* --- receiving --- */

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

/* --- receiving: headers --- */

static int on_begin_headers(nghttp2_session *http2, const nghttp2_frame *frame, void *arg)
{
	struct grpc_session *session = arg;
	int32_t id = frame->hd.stream_id;

	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		nghttp2_session_set_stream_user_data(http2, id, stream_new(session, id));
	return 0;
}

/* A single byte may encode a header of four kilobytes (HPACK), and nghttp2 passes on each header
 * until this returns an error. */
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

/* --- receiving: data --- */

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

/* --- receiving: other frames --- */

static void ping_recv(struct grpc_session *session, const nghttp2_frame *frame)
{
	if ((frame->hd.flags & NGHTTP2_FLAG_ACK) &&
	    memcmp(frame->ping.opaque_data, farewell, 8) == 0)
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
		stream_close(stream, code, NULL);
	return 0;
}

static void set_recv_callbacks(nghttp2_session_callbacks *callbacks)
{
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
}

/* --- the session --- */

static void set_last_error(struct grpc_session *session, const char *text, size_t len)
{
	if (len >= sizeof(session->last_error))
		len = sizeof(session->last_error) - 1;
	memcpy(session->last_error, text, len);
	session->last_error[len] = '\0';
}

static int on_error(nghttp2_session *http2, int code, const char *text, size_t len, void *arg)
{
	(void)http2;
	(void)code;
	set_last_error(arg, text, len);
	return 0;
}

static void options_set(nghttp2_option *option, const struct grpc_limits *limits)
{
	nghttp2_option_set_max_continuations(option, limits->continuations_max);
	nghttp2_option_set_max_settings(option, limits->settings_max);
	nghttp2_option_set_max_outbound_ack(option, limits->acks_max);
	nghttp2_option_set_stream_reset_rate_limit(option, limits->resets_burst,
						   limits->resets_per_s);
	nghttp2_option_set_max_send_header_block_length(option, limits->header_list_max);
	nghttp2_option_set_max_deflate_dynamic_table_size(option, limits->hpack_table_max);
	nghttp2_option_set_max_reserved_remote_streams(option, 0);
}

static void http2_new(struct grpc_session *session)
{
	nghttp2_session_callbacks *callbacks = NULL;
	nghttp2_option *option = NULL;

	must(nghttp2_session_callbacks_new(&callbacks));
	must(nghttp2_option_new(&option));
	options_set(option, &session->limits);
	nghttp2_session_callbacks_set_error_callback2(callbacks, on_error);
	set_recv_callbacks(callbacks);
	set_send_callbacks(callbacks);
	if (session->role == GRPC_SERVER)
		must(nghttp2_session_server_new2(&session->http2, callbacks, session, option));
	else
		must(nghttp2_session_client_new2(&session->http2, callbacks, session, option));
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
}

static void settings_submit(struct grpc_session *session)
{
	const struct grpc_limits *limits = &session->limits;
	const nghttp2_settings_entry entries[] = {
		{ NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, limits->hpack_table_max },
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
		  session->role == GRPC_SERVER ? limits->streams_max : 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits->stream_window },
		{ NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 16384 },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits->header_list_max },
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
	};
	size_t n = ARRAY_LEN(entries) -
		   (session->role == GRPC_SERVER); /* PUSH is only sent by the client */

	must(nghttp2_submit_settings(session->http2, NGHTTP2_FLAG_NONE, entries, n));
	must(nghttp2_session_set_local_window_size(session->http2, NGHTTP2_FLAG_NONE, 0,
						   (int32_t)limits->connection_window));
}

struct grpc_session *grpc_session_new(enum grpc_role role, const struct grpc_limits *limits,
				      const struct grpc_session_ops *ops, void *arg,
				      uint64_t now_ms)
{
	struct grpc_session *session = xcalloc(1, sizeof(*session));

	session->role = role;
	session->limits = *limits;
	session->ops = ops;
	session->arg = arg;
	session->now_ms = now_ms;
	session->heard_ms = now_ms;
	session->hello_by_ms = limits->hello_ms ? now_ms + limits->hello_ms : UINT64_MAX;
	session->pong_by_ms = UINT64_MAX;
	session->idle_look_ms =
		role == GRPC_SERVER && limits->idle_ms ? now_ms + limits->idle_ms : UINT64_MAX;
	http2_new(session);
	settings_submit(session);
	return session;
}

struct grpc_session *grpc_session_free(struct grpc_session *session)
{
	if (!session)
		return NULL;
	grpc_session_lost(session, "connection closed");
	nghttp2_session_del(session->http2);
	free(session);
	return NULL;
}

void grpc_session_set_output(struct grpc_session *session, void (*fn)(void *arg), void *arg)
{
	session->on_output = fn;
	session->output_arg = arg;
}

int grpc_session_feed(struct grpc_session *session, const char *data, size_t len, uint64_t now_ms,
		      struct err *err)
{
	ssize_t n;

	session->now_ms = now_ms;
	session->heard_ms = now_ms;
	session->pong_by_ms = UINT64_MAX;
	n = nghttp2_session_mem_recv(session->http2, (const uint8_t *)data, len);
	if (n >= 0)
		return 0;
	return err_set(err, ERR_RETRY, -EPROTO, "HTTP/2 connection: %s",
		       session->last_error[0] ? session->last_error : nghttp2_strerror((int)n));
}

size_t grpc_session_output(struct grpc_session *session, const char **ret_data)
{
	const uint8_t *data = NULL;
	ssize_t n = nghttp2_session_mem_send(session->http2, &data);

	if (n <= 0)
		return 0;
	*ret_data = (const char *)data;
	return (size_t)n;
}

static int tick_streams(struct grpc_session *session, struct err *err)
{
	struct grpc_stream *next;

	for (struct grpc_stream *s = session->streams; s; s = next) {
		next = s->next;
		if (s->deadline_ms > session->now_ms)
			continue;
		/* Before the peer's first header block has ended, only a connection error can be
		 * sent. */
		if (!s->announced)
			return err_set(err, ERR_RETRY, -ETIMEDOUT,
				       "a call's headers did not come in time");
		s->deadline_ms = UINT64_MAX;
		session->ops->on_deadline(session->arg, s);
	}
	return 0;
}

/* An idle peer gets GOAWAY first, because a call may be on its way. If it does not react, the
 * connection is closed at the next check. */
static int tick_idle(struct grpc_session *session, struct err *err)
{
	bool idle = session->idle && !session->streams;

	if (session->now_ms < session->idle_look_ms)
		return 0;
	if (idle && session->sent_away)
		return err_set(err, ERR_RETRY, -ETIMEDOUT, "peer makes no calls");
	if (idle) {
		session->sent_away = true;
		must(nghttp2_session_terminate_session(session->http2, NGHTTP2_NO_ERROR));
		output_ready(session);
	}
	session->idle = !session->streams;
	session->idle_look_ms = session->now_ms + session->limits.idle_ms;
	return 0;
}

static uint64_t keepalive_at(const struct grpc_session *session)
{
	if (!session->limits.keepalive_ms || session->pong_by_ms != UINT64_MAX)
		return UINT64_MAX;
	return session->heard_ms + session->limits.keepalive_ms;
}

int grpc_session_tick(struct grpc_session *session, uint64_t now_ms, struct err *err)
{
	session->now_ms = now_ms;
	if (now_ms >= session->hello_by_ms)
		return err_set(err, ERR_RETRY, -ETIMEDOUT, "peer sent no HTTP/2 SETTINGS");
	if (now_ms >= session->pong_by_ms)
		return err_set(err, ERR_RETRY, -ETIMEDOUT, "peer does not answer a PING");
	if (now_ms >= keepalive_at(session)) {
		must(nghttp2_submit_ping(session->http2, NGHTTP2_FLAG_NONE, NULL));
		session->pong_by_ms = now_ms + session->limits.keepalive_wait_ms;
		output_ready(session);
	}
	if (tick_streams(session, err) < 0)
		return -ETIMEDOUT;
	return tick_idle(session, err);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t grpc_session_next_ms(const struct grpc_session *session)
{
	uint64_t next = sooner(session->hello_by_ms, session->pong_by_ms);

	next = sooner(next, keepalive_at(session));
	if (!session->streams)
		next = sooner(next, session->idle_look_ms);
	for (const struct grpc_stream *s = session->streams; s; s = s->next)
		next = sooner(next, s->deadline_ms);
	return next;
}

bool grpc_session_is_full(const struct grpc_session *session)
{
	return nghttp2_session_get_outbound_queue_size(session->http2) >
	       session->limits.output_frames_max;
}

bool grpc_session_is_over(const struct grpc_session *session)
{
	return !nghttp2_session_want_read(session->http2) &&
	       !nghttp2_session_want_write(session->http2);
}

void grpc_session_lost(struct grpc_session *session, const char *why)
{
	session->gone = true;
	/* stream_close() takes the stream off the list through its link, which the analyzer does
	 * not follow. */
	while (session->streams)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		stream_close(session->streams, NGHTTP2_CANCEL, why);
}

/* The client may have sent requests that have not arrived yet. So a server sends GOAWAY twice:
 * first "send no more" and, after a PING round trip, "this was the last stream" (RFC 9113 6.8). */
void grpc_session_shutdown(struct grpc_session *session)
{
	if (session->role == GRPC_SERVER) {
		must(nghttp2_submit_shutdown_notice(session->http2));
		must(nghttp2_submit_ping(session->http2, NGHTTP2_FLAG_NONE, farewell));
	} else {
		must(nghttp2_submit_goaway(session->http2, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR,
					   NULL, 0));
	}
	output_ready(session);
}

bool grpc_session_takes_requests(const struct grpc_session *session)
{
	return !session->gone && nghttp2_session_check_request_allowed(session->http2);
}

uint64_t grpc_session_now_ms(const struct grpc_session *session)
{
	return session->now_ms;
}

const struct grpc_limits *grpc_session_limits(const struct grpc_session *session)
{
	return &session->limits;
}

void grpc_session_each(struct grpc_session *session, void (*fn)(struct grpc_stream *stream))
{
	for (struct grpc_stream *s = session->streams; s; s = s->next)
		fn(s);
}
