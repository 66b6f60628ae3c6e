/*
 * client: requests to one API server, over one HTTP/2 connection, on one libuv loop.
 *
 * Owns its connection, credentials and calls in flight. Knows HTTP and Status objects, not kinds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lines.h"

struct err;
struct kube_call;
struct kube_client;
struct kube_config;
struct kube_provider;
struct metrics;
struct uv_loop_s;

/* Everything is copied before the call returns. */
struct kube_request {
	const char *verb;     /* Kubernetes' word, for metrics and logs: "list", "watch", "apply" */
	const char *resource; /* plural, likewise                                              */
	const char *method;   /* HTTP's: "GET", "PATCH", ...                                   */
	const char *path;     /* with its query, escaped (url.h)                               */
	const char
		*content_type; /* of the body; NULL without one                                 */
	const char *body;
	size_t body_len;
	uint64_t timeout_ms; /* for the whole of it; of a stream until its head; 0: 30 s      */
};

struct kube_response {
	int status;       /* HTTP's; 0 when none came                         */
	const char *body; /* terminated; "" for a stream; never NULL          */
	size_t body_len;
	uint64_t retry_after_ms; /* what the server asked for (429, 503), else 0     */
	const char *warnings;    /* what it warns of, one a line (warning.h); NULL or "": nothing */
};

/*
 * How a call ended: @result 0 for 2xx, else < 0 with @err filled; both are valid during the call.
 * What the codes mean (err.code; err.kind):
 *   -ENOENT  404 ERR_INVALID     -EEXIST 409 AlreadyExists ERR_CONFLICT
 *   -ESTALE  409, 410 ERR_CONFLICT      -EINVAL 400, 405, 413, 415, 422 ERR_INVALID
 *   -EACCES  401, 403 ERR_RETRY  -EAGAIN 408, 429, 5xx ERR_RETRY
 *   -EIO     no or no proper HTTP answer ERR_RETRY   -ETIMEDOUT ERR_RETRY
 *   -EMSGSIZE the answer passed the size limit ERR_INVALID
 *   -ENOKEY  the provider has no credentials ERR_RETRY
 * The message quotes the Status object's own message where there is one, and err.wait_ms is the
 * answer's Retry-After.
 */
typedef void kube_done_fn(void *arg, int result, const struct kube_response *response,
			  const struct err *err);

/* @config is borrowed and outlives the client, as do @loop and @metrics (may be NULL).
 * @user_agent names the program and its version, for the server's audit log. */
struct kube_client *kube_client_new(struct uv_loop_s *loop, const struct kube_config *config,
				    const char *user_agent, struct metrics *metrics);

/* Ask @provider for credentials before the first request, and again when they are over or refused: once
 * for every call that is refused. Borrowed, it outlives the client. To be called before the first call. */
void kube_client_provide(struct kube_client *client, struct kube_provider *provider);

/* Cancels every call in flight (their @done is not called). Closes its handles on the loop, which
 * must run once more before it can be closed. Takes NULL, returns NULL. */
struct kube_client *kube_client_free(struct kube_client *client);

/* Start a request. @done runs exactly once, never before this returns, unless the call is
 * cancelled. The call is gone when @done returns. */
struct kube_call *kube_client_send(struct kube_client *client, const struct kube_request *request,
				   kube_done_fn *done, void *arg);

/* The same for a stream of lines (a watch): @on_line gets each line of a 2xx answer as it comes. A
 * result < 0 from it ends the call with that error. Lines are bounded at 8 MiB. */
struct kube_call *kube_client_stream(struct kube_client *client, const struct kube_request *request,
				     line_fn *on_line, kube_done_fn *done, void *arg);

/* Has the head of a 2xx answer come? An API server sends that of a watch at once, however long nothing
 * happens then. */
bool kube_call_begun(const struct kube_call *call);

/* Give up on a call that has not ended: neither callback runs any more. */
void kube_call_cancel(struct kube_call *call);
