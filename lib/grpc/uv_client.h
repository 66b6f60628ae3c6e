/*
 * uv_client: gRPC calls (grpc/client.h) to the server on a unix socket.
 *
 * Connects with the first call, and anew with the first call after the connection has ended or the
 * server has said GOAWAY. The program ignores SIGPIPE.
 */
#pragma once

#include <uv.h>

#include "grpc/client.h"

struct err;
struct grpc_uv_client;

/* @path is copied; so is @limits, NULL: GRPC_LIMITS. */
struct grpc_uv_client *grpc_uv_client_new(uv_loop_t *loop, const char *path,
					  const struct grpc_limits *limits);

/* Cancel all calls, without callbacks, and close. Takes NULL, returns NULL; may be called from a
 * callback. The loop must run once more. */
struct grpc_uv_client *grpc_uv_client_free(struct grpc_uv_client *client);

/*
 * Begin a call; *@ret_rpc (may be NULL) is for grpc_rpc_cancel() until its on_end. That there is no
 * connection comes as GRPC_UNAVAILABLE. < 0, and no callback: -EMSGSIZE for a request longer than a
 * message may be, -ENAMETOOLONG for a path of a socket that is none.
 */
int grpc_uv_client_call(struct grpc_uv_client *client, const struct grpc_request *request,
			struct grpc_rpc **ret_rpc, struct err *err);
