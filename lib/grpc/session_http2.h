/* session_http2: what the parts of the session share: its structs, as nghttp2 sees them. */
#pragma once

#include <nghttp2/nghttp2.h>

#include "grpc/frame.h"
#include "grpc/outbox.h"
#include "grpc/session.h"

enum { GRPC_TROUBLE_MAX = 160 };

struct grpc_session {
	nghttp2_session *http2;
	enum grpc_role role;
	struct grpc_limits limits;
	const struct grpc_session_ops *ops;
	void *arg;
	void (*on_output)(void *arg);
	void *output_arg;
	struct grpc_stream *streams;
	size_t unfinished;              /* bytes of messages that have not come whole  */
	uint64_t now_ms;                /* of the feed or tick that we are in or had   */
	uint64_t heard_ms;              /* the last feed                               */
	uint64_t hello_by_ms;           /* UINT64_MAX: it came                         */
	uint64_t pong_by_ms;            /* UINT64_MAX: no keepalive PING is on its way */
	uint64_t idle_look_ms;          /* when to look for calls; UINT64_MAX: never   */
	bool idle;                      /* there was none since the last look          */
	bool sent_away;                 /* for that                                    */
	size_t barren;                  /* DATA frames since the last with something   */
	bool gone;                      /* the connection is                           */
	char trouble[GRPC_TROUBLE_MAX]; /* what nghttp2 said last */
};

struct grpc_stream {
	struct grpc_session *session;
	struct grpc_stream *next;
	struct grpc_stream **link; /* what points to us */
	int32_t id;
	void *arg;
	uint64_t deadline_ms;
	struct grpc_head head; /* the block that is being read */
	bool announced;        /* on_head was called, or the stream is of our making */
	bool answered;         /* client: the head of the answer came */
	bool deaf;             /* what comes is dropped */
	bool skipping;         /* all of it but the end */
	struct grpc_frames frames;
	size_t unfinished; /* its part of the session's sum */
	struct grpc_outbox outbox;
	bool responded; /* server: our head is on its way     */
	bool refused;   /* server: in HTTP's words, so without a status of gRPC's */
	bool finished;  /* nothing will be added to the outbox */
	enum grpc_status status;
	char *message;
};

/* The calls that nghttp2 makes when something comes. */
void grpc_session_recv_callbacks(nghttp2_session_callbacks *callbacks);
/* Those that it makes when something is sent. */
void grpc_session_send_callbacks(nghttp2_session_callbacks *callbacks);

struct grpc_stream *grpc_stream_new(struct grpc_session *session, int32_t id);
/* Tell the engine above, and free. */
void grpc_stream_close(struct grpc_stream *stream, uint32_t http2_code, const char *lost);

/* nghttp2 wants to send something: say so. */
void grpc_session_touch(struct grpc_session *session);

/* Our PING that waits for the peer to have seen the first GOAWAY. */
extern const uint8_t grpc_session_farewell[8];
