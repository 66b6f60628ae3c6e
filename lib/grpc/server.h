/*
 * server: answers gRPC calls on one connection, with one request each and one response or a stream
 * of them.
 *
 *	static void echo(void *arg, struct grpc_call *call, const char *request, size_t len)
 *	{
 *		grpc_call_answer(call, request, len);
 *	}
 *
 *	static const struct grpc_method methods[] = { { "/test.Echo/Echo", echo } };
 *
 * Input, output, time and the end of the connection go through grpc_server_session()
 * (grpc/session.h); for a unix socket, grpc/uv_server.h does all of this.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "grpc/limits.h"
#include "grpc/status.h"

struct err;
struct grpc_call;
struct grpc_server;
struct grpc_session;

/*
 * A call with its complete request, which is valid during this function. The handler owns the call
 * until it calls grpc_call_answer() or grpc_call_finish(), now or later, or until the function of
 * grpc_call_on_cancel() has been called.
 */
typedef void grpc_handler_fn(void *arg, struct grpc_call *call, const char *request, size_t len);

struct grpc_method {
	const char *path; /* "/package.Service/Method" */
	grpc_handler_fn *handle;
};

/* Borrowed by the server. Other paths are answered with UNIMPLEMENTED. */
struct grpc_service {
	const struct grpc_method *methods;
	size_t nmethods;
	void *arg; /* passed to the handlers */
};

struct grpc_server *grpc_server_new(const struct grpc_service *service,
				    const struct grpc_limits *limits, uint64_t now_ms);
/* Cancels all calls. Takes NULL, returns NULL. Must not be called from a handler. */
struct grpc_server *grpc_server_free(struct grpc_server *server);

/* Cancel all calls and tell their handlers before this returns. Later requests are refused, and
 * no function of the service is called any more. May be called from a handler. */
void grpc_server_close(struct grpc_server *server);

/* For feed, output, tick and shutdown; owned by the server. */
struct grpc_session *grpc_server_session(struct grpc_server *server);

/* --- calls --- */

enum grpc_send {
	GRPC_SENT = 0,
	GRPC_QUEUE_FULL = 1, /* the peer reads too slowly; the message was not queued */
};

/* Queue one message of a stream: enum grpc_send, or -EMSGSIZE if it is too long. The call
 * continues in either case. */
int grpc_call_send(struct grpc_call *call, const char *data, size_t len, struct err *err);

/* The same if each message replaces the previous one: queued messages are dropped, so that a
 * slow peer gets only the newest. GRPC_SENT or -EMSGSIZE. */
int grpc_call_send_latest(struct grpc_call *call, const char *data, size_t len, struct err *err);

/* Send one message and end the call with GRPC_OK, or with GRPC_RESOURCE_EXHAUSTED if it is too
 * long. */
void grpc_call_answer(struct grpc_call *call, const char *data, size_t len);

/* End the call. @message may be NULL; it is cut to GRPC_MESSAGE_MAX. */
void grpc_call_finish(struct grpc_call *call, enum grpc_status status, const char *message);

/*
 * @fn is called once if the call ends before the handler has ended it: the client cancelled it or
 * disconnected, its deadline passed, or the server was closed. Never called from the functions
 * above.
 */
void grpc_call_on_cancel(struct grpc_call *call, void (*fn)(void *arg), void *arg);

/* The call's connection: a number unique within the process, never 0. */
uint64_t grpc_call_connection(const struct grpc_call *call);

/* The client's deadline; UINT64_MAX: none. */
uint64_t grpc_call_deadline_ms(const struct grpc_call *call);
