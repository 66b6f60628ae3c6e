/*
 * session: one HTTP/2 connection that carries gRPC, as server or client. It converts between bytes
 * and stream events.
 *
 * Used by grpc/server.h and grpc/client.h, which give the streams their meaning. The code that
 * connects it to a socket uses feed, output, tick, next_ms and done. Owns its streams. No I/O and
 * no clock: feed and tick take the time as an argument.
 *
 * Callbacks are called only from feed, output, tick and lost. They may call every function here
 * except these four and free.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "grpc/head.h"
#include "grpc/limits.h"
#include "grpc/status.h"

struct err;
struct grpc_session;
struct grpc_stream;

enum grpc_role { GRPC_SERVER, GRPC_CLIENT };

struct grpc_session_ops {
	/* The peer's first header block arrived. For a server, every on_head is followed by
	 * on_close. */
	void (*on_head)(void *arg, struct grpc_stream *stream, const struct grpc_head *head);
	/* A complete message; valid during the call. */
	void (*on_message)(void *arg, struct grpc_stream *stream, const char *data, size_t len);
	/* The peer has ended its side; @last is its last header block, NULL if that was the
	 * first one of a request, or data. */
	void (*on_end)(void *arg, struct grpc_stream *stream, const struct grpc_head *last);
	/* The peer's data is malformed; only on_close follows. */
	void (*on_bad)(void *arg, struct grpc_stream *stream, enum grpc_status status,
		       const char *why);
	/* The deadline of grpc_stream_set_deadline() has passed. */
	void (*on_deadline)(void *arg, struct grpc_stream *stream);
	/* The stream has ended and is freed. @http2_code: NO_ERROR (0) if both sides ended it.
	 * @lost: why the connection is gone; NULL: it is not. */
	void (*on_close)(void *arg, struct grpc_stream *stream, uint32_t http2_code,
			 const char *lost);
};

/* @limits is copied; @ops is borrowed. */
struct grpc_session *grpc_session_new(enum grpc_role role, const struct grpc_limits *limits,
				      const struct grpc_session_ops *ops, void *arg,
				      uint64_t now_ms);
/* Ends all streams. Takes NULL, returns NULL. */
struct grpc_session *grpc_session_free(struct grpc_session *session);

/* @fn is called when there may be new output or another next_ms, possibly from inside other
 * calls. It must only record that. */
void grpc_session_set_output(struct grpc_session *session, void (*fn)(void *arg), void *arg);

/* --- for the socket code --- */

/* Process bytes from the peer. < 0: the connection has failed; send the remaining output and
 * close it. */
int grpc_session_feed(struct grpc_session *session, const char *data, size_t len, uint64_t now_ms,
		      struct err *err);

/* The next bytes for the peer, valid until the next call of any function; 0 if there are none
 * now. */
size_t grpc_session_output(struct grpc_session *session, const char **ret_data);

/* Run timeouts that are due. < 0: the peer does not respond; close the connection. */
int grpc_session_tick(struct grpc_session *session, uint64_t now_ms, struct err *err);

/* When to call tick; UINT64_MAX: never. */
uint64_t grpc_session_next_ms(const struct grpc_session *session);

/* True if so much output is queued that input should not be read for now. */
bool grpc_session_is_full(const struct grpc_session *session);

/* True if no more input is expected and all output is sent: close the connection. */
bool grpc_session_is_over(const struct grpc_session *session);

/* The connection is gone: end all streams with @why. Only free may be called afterwards. */
void grpc_session_lost(struct grpc_session *session, const char *why);

/* Accept no new streams (GOAWAY) and finish when the existing ones have ended. */
void grpc_session_shutdown(struct grpc_session *session);

/* --- for server and client --- */

/* False after GOAWAY in either direction. */
bool grpc_session_takes_requests(const struct grpc_session *session);

uint64_t grpc_session_now_ms(const struct grpc_session *session);
const struct grpc_limits *grpc_session_limits(const struct grpc_session *session);

/* Client: open a stream, send one message and end our side. @timeout_ms 0: none. */
struct grpc_stream *grpc_session_request(struct grpc_session *session, const char *path,
					 uint64_t timeout_ms, const char *data, size_t len);

/* Call @fn for each stream. */
void grpc_session_each(struct grpc_session *session, void (*fn)(struct grpc_stream *stream));

void grpc_stream_set_arg(struct grpc_stream *stream, void *arg);
void *grpc_stream_arg(const struct grpc_stream *stream);

/* May be called once per stream; UINT64_MAX: none. */
void grpc_stream_set_deadline(struct grpc_stream *stream, uint64_t at_ms);

/* Server: queue a message; the headers are sent before the first one. False: the queue is full. */
bool grpc_stream_send(struct grpc_stream *stream, const char *data, size_t len);

/* Drop the queued messages that have not been partly sent. */
void grpc_stream_drop_waiting(struct grpc_stream *stream);

/* Server: send the status after the queued messages and ignore further input. */
void grpc_stream_finish(struct grpc_stream *stream, enum grpc_status status, const char *message);

/* Server: ignore further messages; on_end is still called. */
void grpc_stream_skip(struct grpc_stream *stream);

/* Server: answer with an HTTP status and a text, because this is not a gRPC request. */
void grpc_stream_refuse(struct grpc_stream *stream, const char *http_status, const char *text);

/* Send RST_STREAM with CANCEL. on_close follows. */
void grpc_stream_cancel(struct grpc_stream *stream);
