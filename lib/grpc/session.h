/*
 * session: one HTTP/2 connection that carries gRPC, as server or as client: bytes in, bytes out.
 *
 * Below grpc/server.h and grpc/client.h, which say what streams mean; whoever ties an engine to a
 * socket uses feed, output, tick, next_ms and done. Owns its streams. No I/O, no clock: the time comes
 * in with feed and tick.
 *
 * Callbacks come from feed, output, tick and lost only. In them everything here may be called but
 * these four and free.
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
	/* The peer's first block of headers came. The server's on_close follows for every on_head. */
	void (*on_head)(void *arg, struct grpc_stream *stream, const struct grpc_head *head);
	/* A whole message; valid during the call. */
	void (*on_message)(void *arg, struct grpc_stream *stream, const char *data, size_t len);
	/* The peer will send no more; @last is its last block of headers, NULL if that was the first
	 * one of a request, or data. */
	void (*on_end)(void *arg, struct grpc_stream *stream, const struct grpc_head *last);
	/* What the peer sends is of no use; nothing of it follows but on_close. */
	void (*on_bad)(void *arg, struct grpc_stream *stream, enum grpc_status status,
		       const char *why);
	/* grpc_stream_set_deadline()'s time has come. */
	void (*on_deadline)(void *arg, struct grpc_stream *stream);
	/* The stream ends here and is freed. @http2_code: NO_ERROR (0) if both sides had ended it.
	 * @lost: why the connection is gone; NULL: it is not. */
	void (*on_close)(void *arg, struct grpc_stream *stream, uint32_t http2_code,
			 const char *lost);
};

/* @limits is copied; @ops is borrowed. */
struct grpc_session *grpc_session_new(enum grpc_role role, const struct grpc_limits *limits,
				      const struct grpc_session_ops *ops, void *arg,
				      uint64_t now_ms);
/* Ends what streams there are. Takes NULL, returns NULL. */
struct grpc_session *grpc_session_free(struct grpc_session *session);

/* @fn is told when there may be output or another next_ms, at any time, even from inside of other
 * calls; it only takes note. */
void grpc_session_set_output(struct grpc_session *session, void (*fn)(void *arg), void *arg);

/* --- for the tie to a socket --------------------------------------------- */

/* What came from the peer. < 0: the connection is of no more use, but for what output still has. */
int grpc_session_feed(struct grpc_session *session, const char *data, size_t len, uint64_t now_ms,
		      struct err *err);

/* The next bytes for the peer, valid until the next call of anything; 0 when there are none now. */
size_t grpc_session_output(struct grpc_session *session, const char **ret_data);

/* Do what is due. < 0: the peer is silent, give the connection up. */
int grpc_session_tick(struct grpc_session *session, uint64_t now_ms, struct err *err);

/* When tick is wanted; UINT64_MAX: never. */
uint64_t grpc_session_next_ms(const struct grpc_session *session);

/* So much waits to be sent that no more should be read until it is. */
bool grpc_session_is_full(const struct grpc_session *session);

/* Nothing will come and nothing is to be sent: close the connection. */
bool grpc_session_is_over(const struct grpc_session *session);

/* The connection is gone: end all streams with @why. Only free may follow. */
void grpc_session_lost(struct grpc_session *session, const char *why);

/* Take no new streams (GOAWAY) and be over when those that there are have ended. */
void grpc_session_shutdown(struct grpc_session *session);

/* --- for server and client ----------------------------------------------- */

/* False after GOAWAY, either way. */
bool grpc_session_takes_requests(const struct grpc_session *session);

uint64_t grpc_session_now_ms(const struct grpc_session *session);
const struct grpc_limits *grpc_session_limits(const struct grpc_session *session);

/* Client: open a stream with one message and end our side. @timeout_ms 0: none. */
struct grpc_stream *grpc_session_request(struct grpc_session *session, const char *path,
					 uint64_t timeout_ms, const char *data, size_t len);

/* Call @fn with each stream. */
void grpc_session_each(struct grpc_session *session, void (*fn)(struct grpc_stream *stream));

void grpc_stream_set_arg(struct grpc_stream *stream, void *arg);
void *grpc_stream_arg(const struct grpc_stream *stream);

/* One deadline per stream, once; UINT64_MAX: none. */
void grpc_stream_set_deadline(struct grpc_stream *stream, uint64_t at_ms);

/* Server: queue a message; the head goes out before the first. False: the queue is full. */
bool grpc_stream_send(struct grpc_stream *stream, const char *data, size_t len);

/* Drop the messages of which nothing was sent yet. */
void grpc_stream_drop_waiting(struct grpc_stream *stream);

/* Server: the status goes out after what is queued, and what the peer still sends is not read. */
void grpc_stream_finish(struct grpc_stream *stream, enum grpc_status status, const char *message);

/* Server: drop the messages to come; on_end still comes. */
void grpc_stream_skip(struct grpc_stream *stream);

/* Server: answer with an HTTP status and a text, because this is no gRPC request. */
void grpc_stream_refuse(struct grpc_stream *stream, const char *http_status, const char *text);

/* RST_STREAM with CANCEL. on_close follows. */
void grpc_stream_cancel(struct grpc_stream *stream);
