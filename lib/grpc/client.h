/*
 * client: gRPC calls on one connection, with one request each and one response or a stream of them.
 *
 * Input, output, time and the end of the connection go through grpc_client_session()
 * (grpc/session.h); for a unix socket, grpc/uv_client.h does all of this.
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

/* The result of a call; valid during the callback. */
struct grpc_result {
	enum grpc_status status;
	const char *message; /* never NULL; sanitized */
};

struct grpc_request {
	const char *path; /* "/package.Service/Method" */
	const char *data;
	size_t len;
	bool stream; /* of responses; else exactly one with GRPC_OK, none with other codes */
	uint64_t timeout_ms; /* 0: none */
	void (*on_message)(void *arg, const char *data, size_t len);
	void (*on_end)(void *arg, const struct grpc_result *result); /* once, unless cancelled */
	void *arg;
};

struct grpc_client *grpc_client_new(const struct grpc_limits *limits, uint64_t now_ms);
/* Ends all calls with GRPC_UNAVAILABLE. Takes NULL, returns NULL. Must not be called from a
 * callback. */
struct grpc_client *grpc_client_free(struct grpc_client *client);

/* Cancel all calls, without callbacks, and refuse new ones. May be called from a callback. */
void grpc_client_close(struct grpc_client *client);

/* For feed, output, tick and shutdown; owned by the client. */
struct grpc_session *grpc_client_session(struct grpc_client *client);

/* False after the server's GOAWAY or the end of the connection: use a new client. */
bool grpc_client_takes_calls(const struct grpc_client *client);

/*
 * Begin a call; the request is copied. Requires takes_calls, a message within the limits and a path
 * of at most GRPC_PATH_MAX. No callback runs before this has returned.
 */
struct grpc_rpc *grpc_client_call(struct grpc_client *client, const struct grpc_request *request,
				  uint64_t now_ms);

enum { GRPC_PATH_MAX = 256 };

/* Cancel a call. Its callbacks do not run any more. */
void grpc_rpc_cancel(struct grpc_rpc *rpc);
