#include "grpc/session.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "grpc/session_http2.h"

const uint8_t grpc_session_farewell[8] = "farewell";

/* nghttp2 fails only without memory, in which case we abort, or because of a bug in our code. */
static void must(int code)
{
	assert(code == 0);
}

static void set_trouble(struct grpc_session *session, const char *text, size_t len)
{
	if (len >= sizeof(session->trouble))
		len = sizeof(session->trouble) - 1;
	memcpy(session->trouble, text, len);
	session->trouble[len] = '\0';
}

static int on_error(nghttp2_session *http2, int code, const char *text, size_t len, void *arg)
{
	(void)http2;
	(void)code;
	set_trouble(arg, text, len);
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
	grpc_session_recv_callbacks(callbacks);
	grpc_session_send_callbacks(callbacks);
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

void grpc_session_touch(struct grpc_session *session)
{
	if (session->on_output)
		session->on_output(session->output_arg);
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
		       session->trouble[0] ? session->trouble : nghttp2_strerror((int)n));
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
		grpc_session_touch(session);
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
		grpc_session_touch(session);
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
	while (session->streams)
		grpc_stream_close(session->streams, NGHTTP2_CANCEL, why);
}

/* The client may have sent requests that have not arrived yet. So a server sends GOAWAY twice:
 * first "send no more" and, after a PING round trip, "this was the last stream" (RFC 9113 6.8). */
void grpc_session_shutdown(struct grpc_session *session)
{
	if (session->role == GRPC_SERVER) {
		must(nghttp2_submit_shutdown_notice(session->http2));
		must(nghttp2_submit_ping(session->http2, NGHTTP2_FLAG_NONE, grpc_session_farewell));
	} else {
		must(nghttp2_submit_goaway(session->http2, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR,
					   NULL, 0));
	}
	grpc_session_touch(session);
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
