/*
 * uv_server: serves gRPC methods (grpc/server.h) on a unix socket.
 *
 * The socket has mode 0600 and is removed only if the path still leads to it. The program must
 * ignore SIGPIPE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "grpc/server.h"

struct err;
struct grpc_uv_server;

struct grpc_uv_server_settings {
	const char *path;                   /* copied */
	const struct grpc_service *service; /* borrowed */
	const struct grpc_limits *limits;   /* copied; NULL: GRPC_LIMITS */
	size_t connections_max; /* concurrent connections; 0: 16; more are closed at once */
};

/* Bind and listen: when this returns, clients can connect. -EADDRINUSE if the path exists, even
 * if it is not a socket; -ENAMETOOLONG for more than 107 bytes. */
int grpc_uv_server_new(uv_loop_t *loop, const struct grpc_uv_server_settings *settings,
		       struct grpc_uv_server **ret_server, struct err *err);

/*
 * Cancel all calls (handlers' callbacks run before this returns), remove the socket, close. Takes
 * NULL, returns NULL; may be called from a handler. The loop must run once more, and no function of
 * the service is called any more.
 */
struct grpc_uv_server *grpc_uv_server_free(struct grpc_uv_server *server);

/* Stop accepting, remove the socket and send GOAWAY; existing calls continue. */
void grpc_uv_server_shutdown(struct grpc_uv_server *server);

/* Cancel all calls and close all connections; new ones are accepted. Must not be called from a
 * handler. */
void grpc_uv_server_hang_up(struct grpc_uv_server *server);

/* True if the path still leads to our socket; false once it was removed or replaced. */
bool grpc_uv_server_has_socket(const struct grpc_uv_server *server);

/* Number of connections. */
size_t grpc_uv_server_connections(const struct grpc_uv_server *server);
