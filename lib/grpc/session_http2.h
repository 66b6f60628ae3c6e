/* session_http2: structs shared by the parts of the session that use nghttp2. */
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
	char trouble[GRPC_TROUBLE_MAX]; /* nghttp2's last error message */
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

/* nghttp2 callbacks for received frames. */
void grpc_session_recv_callbacks(nghttp2_session_callbacks *callbacks);
/* nghttp2 callbacks for sent frames. */
void grpc_session_send_callbacks(nghttp2_session_callbacks *callbacks);

struct grpc_stream *grpc_stream_new(struct grpc_session *session, int32_t id);
/* Call on_close and free the stream. */
void grpc_stream_close(struct grpc_stream *stream, uint32_t http2_code, const char *lost);

/* Tell the owner that nghttp2 has output. */
void grpc_session_touch(struct grpc_session *session);

/* Payload of the PING that is sent after the first GOAWAY. */
extern const uint8_t grpc_session_farewell[8];
