#include "kube/client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "api/json_values.h"
#include "base/array.h"
#include "base/err.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "kube/answer.h"
#include "kube/config.h"
#include "kube/credentials.h"
#include "kube/metrics.h"
#include "kube/transport.h"

/* A transport for @config: server, TLS verification, proxy and impersonation headers. */
static struct transport *client_transport(struct uv_loop_s *loop, const struct kube_config *config,
					  const char *user_agent)
{
	struct transport *transport;
	struct json_strs headers = { 0 };

	impersonate_headers(&config->as, &headers);
	*array_add(&headers) = NULL;
	transport = transport_new(loop, &(struct transport_config){
						.server = config->server,
						.tls_server_name = config->tls_server_name,
						.user_agent = user_agent,
						.insecure = config->insecure,
						.proxy = config->proxy,
						.proxy_env = config->proxy_env,
						.headers = (const char *const *)headers.items,
					});
	json_strs_done(&headers);
	return transport;
}

struct transfer;

struct kube_call {
	struct kube_client *client;
	struct kube_call *next;
	struct kube_call **link; /* the pointer that points to this call */
	char *verb;
	char *resource;
	char *method;
	char *path;
	char *content_type;
	char *body;
	size_t body_len;
	uint64_t timeout_ms;
	line_fn *on_line; /* NULL: not a stream */
	kube_done_fn *done;
	void *arg;

	struct transfer *transfer; /* NULL: not started, or finished */
	struct lines lines;        /* of a stream with a 2xx status */
	struct str text;           /* the body, or an error's body */
	struct err err;            /* set if we stopped the call ourselves */
	const char *warnings;      /* Warning headers; set only while the call ends */
	uint64_t start_ms;
	uint64_t proof; /* number of the provider's credentials used for it */
	bool waiting;   /* waits for the provider */
	bool retried;   /* sent again after a 401 */
	bool feeding;   /* on_line may be on the stack: do not free */
	bool cancelled;
	bool ended; /* done is on the stack: too late to cancel */
};

enum { TIMEOUT_MS = 30 * 1000, LINE_MAX_BYTES = 8 << 20 };

/* The call must be unlinked, and no callback of it may be on the stack. */
static void call_free(struct kube_call *call)
{
	free(call->verb);
	free(call->resource);
	free(call->method);
	free(call->path);
	free(call->content_type);
	free(call->body);
	lines_done(&call->lines);
	str_done(&call->text);
	free(call);
}

/* Remove the call from its list. */
static void call_unlink(struct kube_call *call)
{
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
}

/* Copy @request into a new call at the head of @list. */
static struct kube_call *call_new(struct kube_client *client, const struct kube_request *request,
				  struct kube_call **list, uint64_t now_ms)
{
	struct kube_call *call = xcalloc(1, sizeof(*call));

	call->client = client;
	call->verb = xstrdup(request->verb);
	call->resource = xstrdup(request->resource);
	call->method = xstrdup(request->method);
	call->path = xstrdup(request->path);
	call->content_type = xstrdup_or_null(request->content_type);
	if (request->body) {
		call->body = xmalloc(request->body_len);
		memcpy(call->body, request->body, request->body_len);
		call->body_len = request->body_len;
	}
	call->timeout_ms = request->timeout_ms ? request->timeout_ms : TIMEOUT_MS;
	call->lines.max = LINE_MAX_BYTES;
	call->start_ms = now_ms;
	call->next = *list;
	call->link = list;
	if (call->next)
		call->next->link = &call->next;
	*list = call;
	return call;
}

struct metric;

struct metrics;

struct client_metrics {
	struct metric *requests;
	struct metric *durations;
	struct metric *retries;
};

static const struct metric_desc requests_desc = {
	.name = "hostdev_api_requests_total",
	.help = "Requests to the API server by verb, resource and code.",
	.type = METRIC_COUNTER,
	.labels = { "verb", "resource", "code" },
};
static const struct metric_desc durations_desc = {
	.name = "hostdev_api_request_duration_seconds",
	.help = "Duration of requests to the API server, without watches.",
	.type = METRIC_SECONDS,
	.labels = { "verb" },
	.buckets_ms = { 5, 25, 100, 250, 1000, 2500, 5000, 10000, 30000 },
};
static const struct metric_desc retries_desc = {
	.name = "hostdev_api_retries_total",
	.help = "Requests that the client sent again, by reason.",
	.type = METRIC_COUNTER,
	.labels = { "reason" },
};

static void client_metrics_init(struct client_metrics *m, struct metrics *metrics)
{
	m->requests = metrics_family(metrics, &requests_desc);
	m->durations = metrics_family(metrics, &durations_desc);
	m->retries = metrics_family(metrics, &retries_desc);
	metric_show(m->retries, (const char *const[]){ "unauthorized" });
}

/* A call ended with @result (client.h) and HTTP @status, 0 if none. @took_ms is UINT64_MAX for a
 * stream, whose duration is not recorded. */
static void client_metrics_ended(const struct client_metrics *m, const char *verb,
				 const char *resource, int result, int status, uint64_t took_ms)
{
	char number[16];
	const char *code = number;

	(void)snprintf(number, sizeof(number), "%d", status);
	if (result == -ETIMEDOUT)
		code = "timeout";
	else if (status == 0 || result == -EIO)
		code = "error";
	metric_count(m->requests, verb, resource, code);
	if (took_ms != UINT64_MAX)
		metric_observe(m->durations, took_ms, (const char *const[]){ verb });
}

/* A call is sent again. */
static void client_metrics_retried(const struct client_metrics *m, const char *reason)
{
	metric_count(m->retries, reason);
}

enum {
	LIST_MAX = 16 << 20,
	ANSWER_MAX = 1 << 20,
};

struct kube_client {
	uv_loop_t *loop;
	uv_timer_t later; /* ends calls that could not be started */
	const struct kube_config *config;
	struct transport *transport;
	struct credentials *credentials;
	struct kube_call *calls;
	struct client_metrics metrics;
	struct proof proof;
};

static void count_call(const struct kube_call *call, int result, int status)
{
	struct kube_client *client = call->client;
	uint64_t took_ms = call->on_line ? UINT64_MAX : uv_now(client->loop) - call->start_ms;

	client_metrics_ended(&client->metrics, call->verb, call->resource, result, status, took_ms);
}

/* Report the result and free the call. The callback may free the client. */
static void call_end(struct kube_call *call, int result, int status, uint64_t retry_after_ms)
{
	struct kube_response response = {
		.status = status,
		.body = call->on_line ? "" : str_cstr(&call->text),
		.body_len = call->on_line ? 0 : call->text.len,
		.retry_after_ms = retry_after_ms,
		.warnings = call->warnings,
	};

	if (result < 0)
		err_wrap(&call->err, "%s %s", call->verb, call->resource);
	count_call(call, result, status);
	call_unlink(call);
	call->ended = true;
	call->done(call->arg, result, &response, &call->err);
	call_free(call);
}

static int take_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct kube_call *call = arg;
	int r;

	if (call->cancelled)
		return -ECANCELED;
	r = call->on_line(call->arg, line, len, err);
	return call->cancelled ? -ECANCELED : r;
}

static int feed_lines(struct kube_call *call, const char *data, size_t len)
{
	int r;

	call->feeding = true;
	r = lines_feed(&call->lines, data, len, take_line, call, &call->err);
	call->feeding = false;
	if (call->cancelled) {
		call_free(call);
		return -1;
	}
	if (r < 0 && call->err.code == 0)
		err_set(&call->err, ERR_RETRY, r, "the line was refused");
	return r;
}

static int on_data(void *arg, int status, const char *data, size_t len)
{
	struct kube_call *call = arg;
	bool good = status >= 200 && status < 300;
	size_t max = strcmp(call->verb, "list") == 0 ? LIST_MAX : ANSWER_MAX;

	if (call->on_line && good)
		return feed_lines(call, data, len);
	if (!good && call->text.len + len > ANSWER_STATUS_MAX)
		return -1; /* larger than any Status: stop reading */
	if (call->text.len + len > max)
		return err_set(&call->err, ERR_INVALID, -EMSGSIZE,
			       "the answer is larger than %zu bytes", max);
	str_add_mem(&call->text, data, len);
	return 0;
}

/* The result of a finished transfer with @status; call->err is filled unless the result is 0. */
static int call_result(struct kube_call *call, const struct transfer_end *end, int status)
{
	uint64_t took_ms = uv_now(call->client->loop) - call->start_ms;

	if (call->err.code)
		return call->err.code;
	/* An error status counts even if the body was cut: the API server may close right after
	 * the head. */
	if (status >= 400 ||
	    (status && (end->result == TRANSFER_DONE || end->result == TRANSFER_STOPPED)))
		return answer_result(status, str_cstr(&call->text), call->text.len, &call->err);
	if (end->result == TRANSFER_TIMEOUT && took_ms >= call->timeout_ms)
		return err_set(&call->err, ERR_RETRY, -ETIMEDOUT,
			       "%s did not answer within %" PRIu64 " ms",
			       call->client->config->server, call->timeout_ms);
	return err_set(&call->err, ERR_RETRY, end->result == TRANSFER_TIMEOUT ? -ETIMEDOUT : -EIO,
		       "%s: %s", call->client->config->server, end->why);
}

static int call_start(struct kube_call *call);

static void end_unstarted(uv_timer_t *timer);

/* Deferred: no callback may run before the function that started the call has returned. */
static void call_end_later(struct kube_call *call)
{
	uv_timer_start(&call->client->later, end_unstarted, 0, 0);
}

static void call_retry(struct kube_call *call)
{
	call->retried = true;
	client_metrics_retried(&call->client->metrics, "unauthorized");
	credentials_reject(call->client->credentials);
	str_clear(&call->text);
	if (call_start(call) < 0)
		call_end_later(call);
}

/* The HTTP status, 0 if none. After a 401 the API server closes the HTTP/2 connection and with
 * it all other requests that used the same token. Those are reported as 401 too, not as network
 * errors. */
static int end_status(const struct kube_call *call, const struct transfer_end *end)
{
	if (end->status == 0 && end->result == TRANSFER_BROKEN &&
	    proof_is_refused(&call->client->proof, call->proof))
		return 401;
	return end->status;
}

static void on_end(void *arg, const struct transfer_end *end)
{
	struct kube_call *call = arg;
	int status = end_status(call, end);
	bool another = status == 401 && proof_refuse(&call->client->proof, call->proof);
	int result;

	call->transfer = NULL;
	if (another && !call->retried && call->err.code == 0) {
		call_retry(call);
		return;
	}
	call->warnings = end->warnings;
	result = call_result(call, end, status);
	if (result < 0)
		call->err.wait_ms = (unsigned)end->retry_after_ms;
	call_end(call, result, status, end->retry_after_ms);
}

static const struct transfer_ops ops = { .on_data = on_data, .on_end = on_end };

/* Refresh the credentials; changed credentials need a new connection. */
static int refresh_credentials(struct kube_client *client, struct err *err)
{
	struct credential_files files;
	bool changed;
	int r;

	r = credentials_refresh(client->credentials, uv_now(client->loop), &files, &changed, err);
	if (r == 0 && changed)
		transport_renew(client->transport, &files);
	return r;
}

static int call_transfer(struct kube_call *call)
{
	auto_free char *authorization = NULL;
	struct kube_client *client = call->client;
	const char *token;
	int r;

	r = refresh_credentials(client, &call->err);
	if (r < 0)
		return r;
	call->proof = client->proof.number;
	token = credentials_token(client->credentials);
	if (token)
		authorization = xasprintf("Bearer %s", token);
	call->transfer = transport_start(client->transport,
					 &(struct transport_request){
						 .method = call->method,
						 .path = call->path,
						 .authorization = authorization,
						 .content_type = call->content_type,
						 .body = call->body,
						 .body_len = call->body_len,
						 .timeout_ms = call->timeout_ms,
						 .stream = call->on_line,
					 },
					 &ops, call);
	if (authorization)
		explicit_bzero(authorization, strlen(authorization));
	return 0;
}

/* Start the calls that waited for the provider, or end them with its error. Credentials that
 * have already expired are still used for the waiting calls; otherwise no call would ever be
 * sent. */
static void on_proof(void *arg, int result, const struct kube_proof *proof, const struct err *err)
{
	struct kube_client *client = arg;

	client->proof.coming = false;
	if (result == 0) {
		credentials_set(client->credentials, proof);
		proof_set(&client->proof, proof->expires_ms);
	}
	for (struct kube_call *call = client->calls; call; call = call->next) {
		if (!call->waiting)
			continue;
		call->waiting = false;
		call->start_ms = uv_now(client->loop);
		if (result < 0)
			call->err = *err;
		if (result < 0 || call_transfer(call) < 0)
			call_end_later(call);
	}
}

static int call_start(struct kube_call *call)
{
	struct proof *proof = &call->client->proof;

	if (!proof->coming && !proof_is_needed(proof, timefmt_wall_ms()))
		return call_transfer(call);
	call->waiting = true;
	if (proof->coming)
		return 0;
	proof->coming = true;
	proof->provider->start(proof->provider, on_proof, call->client);
	return 0;
}

static struct kube_call *find_unstarted(const struct kube_client *client)
{
	struct kube_call *call = client->calls;

	while (call && (call->transfer || call->waiting))
		call = call->next;
	return call;
}

/* Ends one call per loop iteration, because the callback may have freed the client. */
static void end_unstarted(uv_timer_t *timer)
{
	struct kube_client *client = timer->data;
	struct kube_call *call = find_unstarted(client);

	if (!call)
		return;
	uv_timer_start(timer, end_unstarted, 0, 0);
	call_end(call, call->err.code, 0, 0);
}

struct kube_call *kube_client_stream(struct kube_client *client, const struct kube_request *request,
				     line_fn *on_line, kube_done_fn *done, void *arg)
{
	struct kube_call *call = call_new(client, request, &client->calls, uv_now(client->loop));

	call->on_line = on_line;
	call->done = done;
	call->arg = arg;
	if (call_start(call) < 0)
		call_end_later(call);
	return call;
}

struct kube_call *kube_client_send(struct kube_client *client, const struct kube_request *request,
				   kube_done_fn *done, void *arg)
{
	return kube_client_stream(client, request, NULL, done, arg);
}

bool kube_call_begun(const struct kube_call *call)
{
	return call->transfer && transfer_begun(call->transfer);
}

/* The call is already unlinked. */
static void call_drop(struct kube_call *call)
{
	call->cancelled = true;
	if (call->transfer)
		transfer_cancel(call->transfer);
	if (!call->feeding)
		call_free(call);
}

void kube_call_cancel(struct kube_call *call)
{
	if (call->ended)
		return;
	call_unlink(call);
	call_drop(call);
}

struct kube_client *kube_client_new(struct uv_loop_s *loop, const struct kube_config *config,
				    const char *user_agent, struct metrics *metrics)
{
	struct kube_client *client = xcalloc(1, sizeof(*client));

	client->loop = loop;
	client->config = config;
	uv_timer_init(loop, &client->later);
	client->later.data = client;
	client->credentials = credentials_new(config);
	client->transport = client_transport(loop, config, user_agent);
	client_metrics_init(&client->metrics, metrics);
	return client;
}

void kube_client_provide(struct kube_client *client, struct kube_provider *provider)
{
	client->proof.provider = provider;
}

static void on_client_closed(uv_handle_t *handle)
{
	free(handle->data);
}

struct kube_client *kube_client_free(struct kube_client *client)
{
	struct kube_call *next;

	if (!client)
		return NULL;
	if (client->proof.provider)
		client->proof.provider->stop(client->proof.provider);
	for (struct kube_call *call = client->calls; call; call = next) {
		next = call->next;
		call_drop(call);
	}
	transport_free(client->transport);
	credentials_free(client->credentials);
	uv_close((uv_handle_t *)&client->later, on_client_closed);
	return NULL;
}
