#include "cli/client/session.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "api/json_map.h"
#include "api/status.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/login/exec_plugin.h"
#include "kube/config.h"
#include "kube/loop.h"
#include "text/out.h"

/* curl takes no more (CURLOPT_TIMEOUT_MS is an int inside). */
enum { FOR_EVER_MS = 24 * 3600 * 1000 };

/* Limits on waiting when the API server answers with Retry-After. */
enum { AGAIN_MAX = 10, AGAIN_WAIT_MAX_MS = 10 * 1000 };

struct session {
	uv_loop_t loop;
	struct kube_config config;
	struct kube_client *client;
	struct exec_plugin *login; /* NULL: the kubeconfig has no credential plugin */
	uint64_t timeout_ms;
	uint64_t end_ms; /* by timefmt_now_ms(); 0: none */
	uv_timer_t timer;
	uv_signal_t signals[2];
	unsigned interrupts; /* signals that have arrived */
	const char *notice;  /* not NULL: the first one ends nothing, and prints this */
};

static void tell_hint(const char *hint)
{
	auto_str struct str clean = STR_INIT;

	out_text(&clean, hint);
	(void)fprintf(stderr, "%s\n", str_cstr(&clean));
}

static void connect_session(struct session *session, const struct session_settings *settings)
{
	const struct exec_plugin_options login = {
		.wait_ms = settings->login_ms,
		.tell = tell_hint,
		.input = settings->login_ms ? -1 : STDIN_FILENO,
	};

	session->client = kube_client_new(&session->loop, &session->config,
					  "kubectl-hostdev/" HOSTDEV_VERSION, NULL);
	if (!session->config.exec)
		return;
	session->login = exec_plugin_new(&session->loop, &session->config, &login);
	kube_client_provide(session->client, exec_plugin_provider(session->login));
}

int session_new(const struct session_settings *settings, struct session **ret_session,
		struct err *err)
{
	struct kube_config_source source = { 0 };
	struct kube_config config;
	struct session *session;
	int r;

	kube_config_source_env(&source);
	source.path = settings->kubeconfig;
	source.context = settings->context;
	source.flags = &settings->flags;
	source.person = true;
	r = kube_config_load(&source, &config, err);
	if (r < 0)
		return r;
	session = xcalloc(1, sizeof(*session));
	r = loop_open(&session->loop, err);
	if (r < 0) {
		kube_config_done(&config);
		free(session);
		return r;
	}
	session->config = config;
	session->timeout_ms = settings->timeout_ms ? settings->timeout_ms : FOR_EVER_MS;
	uv_timer_init(&session->loop, &session->timer);
	for (size_t i = 0; i < ARRAY_LEN(session->signals); i++) {
		uv_signal_init(&session->loop, &session->signals[i]);
		session->signals[i].data = session;
	}
	connect_session(session, settings);
	*ret_session = session;
	return 0;
}

struct session *session_free(struct session *session)
{
	if (!session)
		return NULL;
	kube_client_free(session->client);
	exec_plugin_free(session->login);
	uv_close((uv_handle_t *)&session->timer, NULL);
	for (size_t i = 0; i < ARRAY_LEN(session->signals); i++)
		uv_close((uv_handle_t *)&session->signals[i], NULL);
	loop_close(&session->loop);
	kube_config_done(&session->config);
	free(session);
	return NULL;
}

struct uv_loop_s *session_loop(struct session *session)
{
	return &session->loop;
}

struct kube_client *session_client(struct session *session)
{
	return session->client;
}

const char *session_server(const struct session *session)
{
	return session->config.server;
}

uint64_t session_timeout_ms(const struct session *session)
{
	uint64_t now_ms = timefmt_now_ms();

	if (session->end_ms == 0)
		return session->timeout_ms;
	if (now_ms >= session->end_ms)
		return 1;
	return session->end_ms - now_ms < session->timeout_ms ? session->end_ms - now_ms
							      : session->timeout_ms;
}

void session_set_end(struct session *session, uint64_t ms)
{
	session->end_ms = ms ? timefmt_now_ms() + ms : 0;
}

bool session_has_end(const struct session *session)
{
	return session->end_ms != 0;
}

bool session_late(const struct session *session)
{
	return session->end_ms && timefmt_now_ms() >= session->end_ms;
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct session *session = handle->data;

	(void)number;
	session->interrupts++;
	if (session->notice && session->interrupts == 1)
		tell_hint(session->notice);
}

void session_catch_signals(struct session *session)
{
	static const int numbers[] = { SIGINT, SIGTERM };

	for (size_t i = 0; i < ARRAY_LEN(session->signals); i++) {
		uv_signal_start(&session->signals[i], on_signal, numbers[i]);
		/* This handle does not keep the loop running. */
		uv_unref((uv_handle_t *)&session->signals[i]);
	}
}

void session_hold_signals(struct session *session, const char *notice)
{
	session->notice = notice;
}

bool session_interrupted(const struct session *session)
{
	return session->interrupts > 0;
}

static bool is_ended(const struct session *session)
{
	return session->interrupts > (session->notice ? 1 : 0);
}

int session_run(struct session *session, const size_t *pending)
{
	while (*pending > 0 && !is_ended(session))
		uv_run(&session->loop, UV_RUN_ONCE);
	return is_ended(session) ? -EINTR : 0;
}

int session_judge(int result, struct err *err)
{
	static const char forbidden[] = "403 forbidden: ";
	const char *cause = result == -EACCES ? strstr(err->msg, forbidden) : NULL;
	auto_free char *text = NULL;

	if (!cause || !strstr(cause, "cannot impersonate"))
		return result;
	text = xstrdup(cause + sizeof(forbidden) - 1);
	return err_set(err, ERR_INVALID, -EPERM, "you may not act as that user: %s", text);
}

struct asking {
	struct session_answer *answer;
	struct err *err;
	int result;
	size_t pending;
};

static void on_answer(void *arg, int result, const struct kube_response *response,
		      const struct err *err)
{
	struct asking *asking = arg;

	*asking->answer = (struct session_answer){
		.status = response->status,
		.body = xstrndup(response->body, response->body_len),
		.len = response->body_len,
		.warnings = xstrdup(response->warnings ? response->warnings : ""),
	};
	if (result < 0)
		*asking->err = *err;
	asking->result = session_judge(result, asking->err);
	asking->pending = 0;
}

static int ask_once(struct session *session, const struct kube_request *request,
		    struct session_answer *ret_answer, struct err *err)
{
	struct asking asking = { .answer = ret_answer, .err = err, .pending = 1 };
	struct kube_request timed = *request;
	struct kube_call *call;

	if (session_late(session))
		return err_set(err, ERR_RETRY, -ETIMEDOUT, "the time is over");
	if (timed.timeout_ms == 0)
		timed.timeout_ms = session_timeout_ms(session);
	call = kube_client_send(session->client, &timed, on_answer, &asking);
	if (session_run(session, &asking.pending) < 0 && asking.pending > 0) {
		kube_call_cancel(call);
		return err_set(err, ERR_RETRY, -EINTR, "interrupted");
	}
	return asking.result;
}

/* As client-go does with Retry-After, up to a limit (rest: withRetry). */
bool session_again(struct session *session, int result, const struct err *err, unsigned *tries)
{
	if ((result != -EAGAIN && result != -EREMOTEIO) || err->wait_ms == 0 ||
	    err->wait_ms > AGAIN_WAIT_MAX_MS || *tries >= AGAIN_MAX ||
	    (session->end_ms && timefmt_now_ms() + err->wait_ms >= session->end_ms))
		return false;
	(*tries)++;
	return session_wait(session, err->wait_ms) == 0;
}

int session_ask(struct session *session, const struct kube_request *request,
		struct session_answer *ret_answer, struct err *err)
{
	struct session_answer answer = { 0 };
	struct err why = { 0 };
	unsigned tries = 0;
	int r;

	do {
		session_answer_done(&answer);
		r = ask_once(session, request, &answer, &why);
	} while (session_again(session, r, &why, &tries));
	*ret_answer = answer;
	if (r < 0 && err)
		*err = why;
	return r;
}

void session_answer_done(struct session_answer *answer)
{
	free(answer->body);
	free(answer->warnings);
	*answer = (struct session_answer){ 0 };
}

char *session_answer_message(const struct session_answer *answer)
{
	struct api_status status;
	char *message;

	if (!answer->body ||
	    json_map_parse(api_status_map, answer->body, answer->len, &status, NULL) < 0)
		return NULL;
	message = take_ptr(status.message);
	json_map_done(api_status_map, &status);
	return message;
}

int session_review(struct session *session, const char *group, const char *resource,
		   const char *body, struct session_answer *ret_answer, struct err *err)
{
	auto_free char *path = xasprintf("/apis/%s/v1/%s", group, resource);

	return session_ask(session,
			   &(struct kube_request){
				   .verb = "create",
				   .resource = resource,
				   .method = "POST",
				   .path = path,
				   .content_type = "application/json",
				   .body = body,
				   .body_len = strlen(body),
			   },
			   ret_answer, err);
}

char *session_caller(struct session *session)
{
	static const char body[] = "{\"apiVersion\":\"authentication.k8s.io/v1\","
				   "\"kind\":\"SelfSubjectReview\"}";
	auto_answer struct session_answer answer = { 0 };
	auto_json json_t *review = NULL;
	const json_t *info;
	int r = session_review(session, "authentication.k8s.io", "selfsubjectreviews", body,
			       &answer, NULL);

	if (r < 0 || json_map_load(answer.body, answer.len, &review, NULL) < 0)
		return NULL;
	info = json_object_get(json_object_get(review, "status"), "userInfo");
	return xstrdup_or_null(json_string_value(json_object_get(info, "username")));
}

static void on_timer(uv_timer_t *timer)
{
	size_t *pending = timer->data;

	*pending = 0;
}

int session_wait(struct session *session, uint64_t ms)
{
	size_t pending = 1;
	int r;

	session->timer.data = &pending;
	uv_update_time(&session->loop);
	uv_timer_start(&session->timer, on_timer, ms, 0);
	r = session_run(session, &pending);
	uv_timer_stop(&session->timer);
	return r;
}
