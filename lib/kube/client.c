#include "kube/client.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <uv.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "kube/answer.h"
#include "kube/client_call.h"
#include "kube/client_metrics.h"
#include "kube/client_transport.h"
#include "kube/config.h"
#include "kube/credentials.h"
#include "kube/proof.h"
#include "kube/provider.h"
#include "kube/transport.h"

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

/* The last act: the owner hears of it, then the call is gone. The client may be, too. */
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
		return -1; /* more than a Status is not worth waiting for */
	if (call->text.len + len > max)
		return err_set(&call->err, ERR_INVALID, -EMSGSIZE,
			       "the answer is larger than %zu bytes", max);
	str_add_mem(&call->text, data, len);
	return 0;
}

/* What the end of the transfer means; call->err is filled unless it is 0. */
static int judge(struct kube_call *call, const struct transfer_end *end)
{
	uint64_t took_ms = uv_now(call->client->loop) - call->start_ms;

	if (call->err.code)
		return call->err.code;
	/* A refusal is one even if its body was cut: the API server may close right behind it. */
	if (end->status >= 400 ||
	    (end->status && (end->result == TRANSFER_DONE || end->result == TRANSFER_STOPPED)))
		return answer_result(end->status, str_cstr(&call->text), call->text.len,
				     &call->err);
	if (end->result == TRANSFER_TIMEOUT && took_ms >= call->timeout_ms)
		return err_set(&call->err, ERR_RETRY, -ETIMEDOUT,
			       "%s did not answer within %" PRIu64 " ms",
			       call->client->config->server, call->timeout_ms);
	return err_set(&call->err, ERR_RETRY, end->result == TRANSFER_TIMEOUT ? -ETIMEDOUT : -EIO,
		       "%s: %s", call->client->config->server, end->why);
}

static int call_start(struct kube_call *call);

static void end_unstarted(uv_timer_t *timer);

/* Not now: nobody is called back before the function that started it has returned. */
static void call_end_later(struct kube_call *call)
{
	uv_timer_start(&call->client->later, end_unstarted, 0, 0);
}

static void call_retry(struct kube_call *call)
{
	call->retried = true;
	client_metrics_retried(&call->client->metrics, "unauthorized");
	credentials_reject(call->client->credentials);
	proof_refuse(&call->client->proof, call->proof);
	str_clear(&call->text);
	if (call_start(call) < 0)
		call_end_later(call);
}

static void on_end(void *arg, const struct transfer_end *end)
{
	struct kube_call *call = arg;
	int result;

	call->transfer = NULL;
	if (end->status == 401 && !call->retried && call->err.code == 0) {
		call_retry(call);
		return;
	}
	call->warnings = end->warnings;
	result = judge(call, end);
	if (result < 0)
		call->err.wait_ms = (unsigned)end->retry_after_ms;
	call_end(call, result, end->status, end->retry_after_ms);
}

static const struct transfer_ops ops = { .on_data = on_data, .on_end = on_end };

/* Credentials as they are now; a change of certificates means a new connection. */
static int refresh(struct kube_client *client, struct err *err)
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

	r = refresh(client, &call->err);
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

/* Those that waited for the provider go on, or end with its error. One that is over at once serves them
 * all the same: else nobody would ever get on. */
static void on_proof(void *arg, int result, const struct kube_proof *proof, const struct err *err)
{
	struct kube_client *client = arg;

	client->proof.coming = false;
	if (result == 0) {
		credentials_give(client->credentials, proof);
		proof_came(&client->proof, proof->expires_ms);
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

/* One per turn: the callback may have freed the client. */
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

/* Off the list already. */
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
