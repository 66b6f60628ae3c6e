/*
 * uv_wire: transfers a session's bytes through a unix socket. Used by grpc/uv_server.h and
 * grpc/uv_client.h.
 *
 * Embedded in its owner, together with the session's server or client; both may be released only in
 * on_closed. libuv uses write(2), so the program must ignore SIGPIPE.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "base/str.h"

struct err;
struct grpc_session;

struct grpc_wire_ops {
	/* The connection ended by itself; the wire is being closed. */
	void (*on_end)(void *arg, const char *why);
	/* Called exactly once per wire, as the last callback. */
	void (*on_closed)(void *arg);
};

struct grpc_wire {
	uv_pipe_t pipe;
	uv_timer_t timer;
	uv_idle_t flush; /* runs when there may be output */
	uv_connect_t connect;
	uv_write_t write;
	struct grpc_session *session;
	const struct grpc_wire_ops *ops;
	void *arg;
	struct str out; /* being written */
	unsigned open;  /* handles */
	bool connected;
	bool reading;
	bool writing;
	bool closing;
};

void grpc_wire_init(struct grpc_wire *wire, uv_loop_t *loop, struct grpc_session *session,
		    const struct grpc_wire_ops *ops, void *arg);

/* Accept a connection from @listener. */
int grpc_wire_accept(struct grpc_wire *wire, uv_stream_t *listener, struct err *err);

/* Connect to @path, which must fit into a socket address; a failure is reported by on_end. */
void grpc_wire_connect(struct grpc_wire *wire, const char *path);

/* Close without sending the remaining output or calling on_end. May be called from anywhere,
 * also twice. */
void grpc_wire_close(struct grpc_wire *wire);

/* -ENAMETOOLONG if @path is too long for a unix socket. */
int grpc_wire_check_path(const char *path, struct err *err);
