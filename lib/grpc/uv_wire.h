/*
 * uv_wire: moves the bytes of a session through a unix socket. Below grpc/uv_server.h and
 * grpc/uv_client.h.
 *
 * Lives inside of what owns it, with the engine whose session it moves, and both may be released only
 * in on_closed. libuv writes with write(2): the program ignores SIGPIPE.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "base/str.h"

struct err;
struct grpc_session;

struct grpc_wire_ops {
	/* The connection ended by itself; the wire is closing. */
	void (*on_end)(void *arg, const char *why);
	/* Comes once for every wire, at last. */
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
	unsigned open;  /* handles       */
	bool connected;
	bool reading;
	bool writing;
	bool closing;
};

void grpc_wire_init(struct grpc_wire *wire, uv_loop_t *loop, struct grpc_session *session,
		    const struct grpc_wire_ops *ops, void *arg);

/* Take a connection that @listener has. */
int grpc_wire_accept(struct grpc_wire *wire, uv_stream_t *listener, struct err *err);

/* Connect to @path, which fits a socket's address; that it failed comes by on_end. */
void grpc_wire_connect(struct grpc_wire *wire, const char *path);

/* Close, with what was not written. on_end does not come. From anywhere; twice is fine. */
void grpc_wire_close(struct grpc_wire *wire);

/* -ENAMETOOLONG if @path is too long for a unix socket. */
int grpc_wire_check_path(const char *path, struct err *err);
