/*
 * uv_client: gRPC calls (grpc/client.h) to a server on a unix socket.
 *
 * Connects for the first call, and again for the first call after the connection has ended or the
 * server has sent GOAWAY. The program must ignore SIGPIPE.
 */
#pragma once

#include <uv.h>

#include "grpc/client.h"

struct err;
struct grpc_uv_client;

/* @path and @limits (NULL: GRPC_LIMITS) are copied. */
struct grpc_uv_client *grpc_uv_client_new(uv_loop_t *loop, const char *path,
					  const struct grpc_limits *limits);

/* Cancel all calls without callbacks and close. Takes NULL, returns NULL; may be called from a
 * callback. The loop must run once more. */
struct grpc_uv_client *grpc_uv_client_free(struct grpc_uv_client *client);

/*
 * Begin a call; *@ret_rpc (may be NULL) can be passed to grpc_rpc_cancel() until its on_end. A
 * failure to connect is reported as GRPC_UNAVAILABLE. Returns < 0, without a callback: -EMSGSIZE if
 * the request is too long, -ENAMETOOLONG if the socket's path is.
 */
int grpc_uv_client_call(struct grpc_uv_client *client, const struct grpc_request *request,
			struct grpc_rpc **ret_rpc, struct err *err);
