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
	const char *verb;     /* Kubernetes verb for metrics and logs: "list", "watch", "apply" */
	const char *resource; /* plural resource name, for metrics and logs */
	const char *method;   /* HTTP method: "GET", "PATCH", ... */
	const char *path;     /* with query, escaped (url.h) */
	const char *content_type; /* NULL without a body */
	const char *body;
	size_t body_len;
	uint64_t timeout_ms; /* of the whole request; of a stream, until its headers; 0: 30 s */
};

struct kube_response {
	int status;       /* HTTP status; 0 if there was no response */
	const char *body; /* NUL-terminated; "" for a stream; never NULL */
	size_t body_len;
	uint64_t retry_after_ms; /* the server's Retry-After (429, 503), else 0 */
	const char *warnings;    /* Warning headers, one per line (answer.h); NULL or "": none */
};

/*
 * The result of a call: @result is 0 for 2xx, else < 0 with @err filled; @response and @err are
 * valid during the call. The codes (err.code, HTTP status, err.kind):
 *   -ENOENT  404 ERR_INVALID     -EEXIST 409 AlreadyExists ERR_CONFLICT
 *   -ESTALE  409, 410 ERR_CONFLICT      -EINVAL 400, 405, 413, 415, 422 ERR_INVALID
 *   -EACCES  401, 403 ERR_RETRY  -EAGAIN 408, 429 ERR_RETRY   -EREMOTEIO 5xx ERR_RETRY
 *   -EIO     no or no valid HTTP response ERR_RETRY   -ETIMEDOUT ERR_RETRY
 *   -EMSGSIZE the response exceeds the size limit ERR_INVALID
 *   -ENOKEY  the provider has no credentials ERR_RETRY
 * The message quotes the Status object's message if there is one; err.wait_ms is the response's
 * Retry-After.
 */
typedef void kube_done_fn(void *arg, int result, const struct kube_response *response,
			  const struct err *err);

/* @config is borrowed and must outlive the client, as must @loop and @metrics (may be NULL).
 * @user_agent names the program and its version for the server's audit log. */
struct kube_client *kube_client_new(struct uv_loop_s *loop, const struct kube_config *config,
				    const char *user_agent, struct metrics *metrics);

/* Get credentials from @provider before the first request and again when they expire or are
 * refused; each call retries at most once after a refusal. @provider is borrowed and must
 * outlive the client. Must be called before the first request. */
void kube_client_provide(struct kube_client *client, struct kube_provider *provider);

/* Cancels all calls in flight without calling @done. Closes its loop handles; the loop must run
 * once more before it can be closed. Takes NULL, returns NULL. */
struct kube_client *kube_client_free(struct kube_client *client);

/* Start a request. @done runs exactly once, never before this returns, unless the call is
 * cancelled. The call is freed when @done returns. */
struct kube_call *kube_client_send(struct kube_client *client, const struct kube_request *request,
				   kube_done_fn *done, void *arg);

/* The same for a stream of lines (a watch): @on_line gets each line of a 2xx response as it
 * arrives. If it returns < 0, the call ends with that error. Lines are limited to 8 MiB. */
struct kube_call *kube_client_stream(struct kube_client *client, const struct kube_request *request,
				     line_fn *on_line, kube_done_fn *done, void *arg);

/* True once the headers of a 2xx response have arrived. The API server sends those of a watch at
 * once, before any event. */
bool kube_call_begun(const struct kube_call *call);

/* Cancel a call that has not ended; no callback runs any more. */
void kube_call_cancel(struct kube_call *call);
