/*
 * server: answers gRPC calls on one connection, with one request each and one answer or a stream of
 * them.
 *
 *	static void echo(void *arg, struct grpc_call *call, const char *request, size_t len)
 *	{
 *		grpc_call_answer(call, request, len);
 *	}
 *
 *	static const struct grpc_method methods[] = { { "/test.Echo/Echo", echo } };
 *
 * Bytes, the time and the connection's end go through grpc_server_session() (grpc/session.h), or
 * grpc/uv_server.h does all of it for a unix socket.
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
 * A call with its whole request, which is valid during this function. The call is the handler's until
 * grpc_call_answer() or grpc_call_finish(), now or later; or until grpc_call_on_cancel()'s function
 * has been called.
 */
typedef void grpc_handler_fn(void *arg, struct grpc_call *call, const char *request, size_t len);

struct grpc_method {
	const char *path; /* "/package.Service/Method" */
	grpc_handler_fn *handle;
};

/* Borrowed by who serves it. Other paths are answered UNIMPLEMENTED. */
struct grpc_service {
	const struct grpc_method *methods;
	size_t nmethods;
	void *arg; /* the handlers' */
};

struct grpc_server *grpc_server_new(const struct grpc_service *service,
				    const struct grpc_limits *limits, uint64_t now_ms);
/* Cancels what calls there are. Takes NULL, returns NULL. Not from a handler. */
struct grpc_server *grpc_server_free(struct grpc_server *server);

/* Cancel all calls, with their handlers told before this returns; later requests are refused, and no
 * function of the service is called any more. May be called from a handler. */
void grpc_server_close(struct grpc_server *server);

/* For feed, output, tick, shutdown; the server's. */
struct grpc_session *grpc_server_session(struct grpc_server *server);

/* --- calls ----------------------------------------------------------------- */

enum grpc_send {
	GRPC_SENT = 0,
	GRPC_QUEUE_FULL = 1, /* the peer reads too slowly; nothing was queued */
};

/* Queue one of a stream's messages: enum grpc_send, or -EMSGSIZE for one longer than a message may
 * be. The call goes on in either case. */
int grpc_call_send(struct grpc_call *call, const char *data, size_t len, struct err *err);

/* The same for messages of which each replaces the one before: those that wait are dropped, so that a
 * slow peer gets the newest and never a queue. GRPC_SENT or -EMSGSIZE. */
int grpc_call_send_latest(struct grpc_call *call, const char *data, size_t len, struct err *err);

/* Send one message and end the call with GRPC_OK; with GRPC_RESOURCE_EXHAUSTED if it is too long. */
void grpc_call_answer(struct grpc_call *call, const char *data, size_t len);

/* End the call. @message may be NULL; what is longer than GRPC_MESSAGE_MAX is cut. */
void grpc_call_finish(struct grpc_call *call, enum grpc_status status, const char *message);

/*
 * @fn is called once if the call ends before the handler has ended it: the client cancelled it or went
 * away, its deadline came, the server is closed. Never from inside of the functions above.
 */
void grpc_call_on_cancel(struct grpc_call *call, void (*fn)(void *arg), void *arg);

/* The connection that the call came by: another number for each that the program has had, never 0. */
uint64_t grpc_call_connection(const struct grpc_call *call);

/* When the client will have lost interest; UINT64_MAX: never. */
uint64_t grpc_call_deadline_ms(const struct grpc_call *call);
