#include "fake/fake_client.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

struct kube_call {
	struct kube_client *client;
	struct kube_call *next;
	struct fake_request request;
	line_fn *on_line;
	kube_done_fn *done;
	void *arg;
	bool begun;
	bool feeding; /* its on_line is on the stack */
	bool cancelled;
};

struct kube_client {
	struct kube_call *calls; /* oldest first */
	size_t sent;
};

struct kube_client *fake_client_new(void)
{
	return xcalloc(1, sizeof(struct kube_client));
}

struct kube_client *kube_client_new(struct uv_loop_s *loop, const struct kube_config *config,
				    const char *user_agent, struct metrics *metrics)
{
	(void)loop;
	(void)config;
	(void)user_agent;
	(void)metrics;
	return fake_client_new();
}

void kube_client_provide(struct kube_client *client, struct kube_provider *provider)
{
	(void)client;
	(void)provider;
}

static void call_free(struct kube_call *call)
{
	free(call->request.verb);
	free(call->request.method);
	free(call->request.path);
	free(call->request.content_type);
	free(call->request.body);
	free(call);
}

static void unlink_call(struct kube_call *call)
{
	struct kube_call **at = &call->client->calls;

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
}

void kube_call_cancel(struct kube_call *call)
{
	unlink_call(call);
	call->cancelled = true;
	if (!call->feeding)
		call_free(call);
}

bool kube_call_begun(const struct kube_call *call)
{
	return call->begun;
}

struct kube_client *kube_client_free(struct kube_client *client)
{
	struct kube_call *call;

	if (!client)
		return NULL;
	while ((call = client->calls)) {
		client->calls = call->next;
		call_free(call);
	}
	free(client);
	return NULL;
}

static struct kube_call *add_call(struct kube_client *client, const struct kube_request *request)
{
	struct kube_call *call = xcalloc(1, sizeof(*call));
	struct kube_call **at = &client->calls;

	call->client = client;
	call->request = (struct fake_request){
		.verb = xstrdup(request->verb),
		.method = xstrdup(request->method),
		.path = xstrdup(request->path),
		.content_type = xstrdup_or_null(request->content_type),
		.body = xstrndup(request->body ? request->body : "", request->body_len),
		.timeout_ms = request->timeout_ms,
	};
	while (*at)
		at = &(*at)->next;
	*at = call;
	client->sent++;
	return call;
}

struct kube_call *kube_client_send(struct kube_client *client, const struct kube_request *request,
				   kube_done_fn *done, void *arg)
{
	struct kube_call *call = add_call(client, request);

	call->done = done;
	call->arg = arg;
	return call;
}

struct kube_call *kube_client_stream(struct kube_client *client, const struct kube_request *request,
				     line_fn *on_line, kube_done_fn *done, void *arg)
{
	struct kube_call *call = kube_client_send(client, request, done, arg);

	call->on_line = on_line;
	call->request.stream = true;
	return call;
}

size_t fake_client_sent(const struct kube_client *client)
{
	return client->sent;
}

size_t fake_client_open(const struct kube_client *client)
{
	size_t n = 0;

	for (const struct kube_call *call = client->calls; call; call = call->next)
		n++;
	return n;
}

const struct fake_request *fake_client_request(const struct kube_client *client)
{
	assert(client->calls);
	return &client->calls->request;
}

static void put_first(struct kube_client *client, struct kube_call *call)
{
	unlink_call(call);
	call->next = client->calls;
	client->calls = call;
}

void fake_client_choose(struct kube_client *client, const char *part)
{
	struct kube_call *call = client->calls;

	while (call && !strstr(call->request.path, part))
		call = call->next;
	assert(call);
	put_first(client, call);
}

static bool choose(struct kube_client *client, bool stream, const char *part)
{
	struct kube_call *call = client->calls;

	while (call && (call->request.stream != stream || !strstr(call->request.path, part)))
		call = call->next;
	if (call)
		put_first(client, call);
	return call != NULL;
}

bool fake_client_choose_call(struct kube_client *client)
{
	return choose(client, false, "");
}

bool fake_client_choose_stream(struct kube_client *client, const char *part)
{
	return choose(client, true, part);
}

static void end_call(struct kube_client *client, int result, const struct kube_response *response,
		     const struct err *err)
{
	struct kube_call *call = client->calls;

	unlink_call(call);
	call->done(call->arg, result, response, err);
	call_free(call);
}

static int classify(int status, const char *reason, struct err *err)
{
	if (status == 404)
		return err_set(err, ERR_INVALID, -ENOENT, "not found");
	if (status == 409 && strcmp(reason, "AlreadyExists") == 0)
		return err_set(err, ERR_CONFLICT, -EEXIST, "already exists");
	if (status == 409 || status == 410)
		return err_set(err, ERR_CONFLICT, -ESTALE, "conflict");
	if (status == 401 || status == 403)
		return err_set(err, ERR_RETRY, -EACCES, "denied");
	if (status == 408 || status == 429)
		return err_set(err, ERR_RETRY, -EAGAIN, "try again");
	if (status >= 500)
		return err_set(err, ERR_RETRY, -EREMOTEIO, "server error");
	return err_set(err, ERR_INVALID, -EINVAL, "invalid");
}

void fake_client_answer_later(struct kube_client *client, int status, const char *body,
			      uint64_t retry_after_ms)
{
	json_t *json = json_loads(body, 0, NULL);
	const char *reason = json_string_value(json_object_get(json, "reason"));
	struct kube_response response = {
		.status = status,
		.body = body,
		.body_len = strlen(body),
		.retry_after_ms = retry_after_ms,
	};
	struct err err = { 0 };
	int result = 0;

	assert(client->calls);
	if (status < 200 || status > 299)
		result = classify(status, reason ? reason : "", &err);
	if (result < 0)
		err.wait_ms = (unsigned)retry_after_ms;
	json_decref(json);
	end_call(client, result, &response, &err);
}

void fake_client_answer(struct kube_client *client, int status, const char *body)
{
	fake_client_answer_later(client, status, body, 0);
}

void fake_client_fail(struct kube_client *client, int code)
{
	struct kube_response response = { .body = "" };
	struct err err = { 0 };

	assert(client->calls);
	err_set(&err, code == -EMSGSIZE ? ERR_INVALID : ERR_RETRY, code, "no answer: %s",
		strerror(-code));
	end_call(client, code, &response, &err);
}

void fake_client_begin(struct kube_client *client)
{
	assert(client->calls);
	client->calls->begun = true;
}

int fake_client_line(struct kube_client *client, const char *line)
{
	struct kube_call *call = client->calls;
	struct kube_response response = { .status = 200, .body = "" };
	struct err err = { 0 };
	int r;

	assert(call && call->on_line);
	call->begun = true;
	call->feeding = true;
	r = call->on_line(call->arg, line, strlen(line), &err);
	call->feeding = false;
	if (call->cancelled) {
		call_free(call);
		return -ECANCELED;
	}
	if (r < 0)
		end_call(client, r, &response, &err);
	return r;
}
