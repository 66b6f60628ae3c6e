/*
 * client: makes gRPC calls on one connection, with one request each and one answer or a stream of
 * them.
 *
 * Bytes, the time and the connection's end go through grpc_client_session() (grpc/session.h), or
 * grpc/uv_client.h does all of it for a unix socket.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "grpc/limits.h"
#include "grpc/status.h"

struct grpc_client;
struct grpc_rpc;
struct grpc_session;

/* How a call ended; valid during the callback. */
struct grpc_result {
	enum grpc_status status;
	const char *message; /* never NULL; clean text */
};

struct grpc_request {
	const char *path; /* "/package.Service/Method" */
	const char *data;
	size_t len;
	bool stream; /* of answers; else there is exactly one with GRPC_OK, and none without */
	uint64_t timeout_ms; /* 0: none */
	void (*on_message)(void *arg, const char *data, size_t len);
	void (*on_end)(void *arg, const struct grpc_result *result); /* once, unless cancelled */
	void *arg;
};

struct grpc_client *grpc_client_new(const struct grpc_limits *limits, uint64_t now_ms);
/* Ends what calls there are with GRPC_UNAVAILABLE. Takes NULL, returns NULL. Not from a callback. */
struct grpc_client *grpc_client_free(struct grpc_client *client);

/* Cancel all calls and take no more: no callback follows. May be called from a callback. */
void grpc_client_close(struct grpc_client *client);

/* For feed, output, tick, shutdown; the client's. */
struct grpc_session *grpc_client_session(struct grpc_client *client);

/* False once the server said GOAWAY or the connection is gone: make another one. */
bool grpc_client_takes_calls(const struct grpc_client *client);

/*
 * Begin a call; the request is copied. Requires takes_calls, a message within the limits and a path
 * of at most GRPC_PATH_MAX. No callback comes before this has returned.
 */
struct grpc_rpc *grpc_client_call(struct grpc_client *client, const struct grpc_request *request,
				  uint64_t now_ms);

enum { GRPC_PATH_MAX = 256 };

/* End a call from our side. No callback of it follows. */
void grpc_rpc_cancel(struct grpc_rpc *rpc);
