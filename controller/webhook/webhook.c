#include "controller/webhook/webhook.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "controller/webhook/admission_review.h"
#include "controller/webhook/ca_bundle.h"
#include "controller/webhook/certificate.h"
#include "controller/webhook/certificate_keeper.h"
#include "controller/webhook/listener.h"
#include "kube/metrics.h"

/* --- requests --- */

enum { OK = 200, BAD_REQUEST = 400, NOT_FOUND = 404, TOO_LARGE = 413 };

static const struct metric_desc requests_desc = {
	.name = "hostdev_webhook_requests_total",
	.help = "Admission reviews by path and result.",
	.type = METRIC_COUNTER,
	.labels = { "path", "result" },
};

static const struct metric_desc seconds_desc = {
	.name = "hostdev_webhook_seconds",
	.help = "Duration of an admission review by path.",
	.type = METRIC_SECONDS,
	.labels = { "path" },
	.buckets_ms = { 1, 2, 5, 10, 25, 100, 500, 1000, 2500 },
};

struct admission_service {
	const struct admission_rules *rules;
	struct metric *requests;
	struct metric *seconds;
};

/* Show all series from the start. */
static void show_series(const struct admission_service *service)
{
	static const char *const paths[] = { "validate", "mutate" };
	static const char *const results[] = { "allowed", "refused", "invalid" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		metric_show(service->seconds, &paths[i]);
		for (size_t j = 0; j < ARRAY_LEN(results); j++)
			metric_show(service->requests,
				    (const char *const[]){ paths[i], results[j] });
	}
}

struct admission_service *admission_service_new(const struct admission_rules *rules,
						struct metrics *metrics)
{
	struct admission_service *service = xcalloc(1, sizeof(*service));

	service->rules = rules;
	service->requests = metrics_family(metrics, &requests_desc);
	service->seconds = metrics_family(metrics, &seconds_desc);
	show_series(service);
	return service;
}

struct admission_service *admission_service_free(struct admission_service *service)
{
	free(service);
	return NULL;
}

static void decide(const struct admission_service *service, const char *path,
		   const struct admission_request *request, struct admission_answer *answer)
{
	const struct admission_rules *rules = service->rules;

	if (strcmp(path, "/mutate") == 0)
		rules->mutate(rules->arg, request, answer);
	else
		rules->validate(rules->arg, request, answer);
}

static void count_request(const struct admission_service *service, const char *path,
			  const struct admission_request *request, struct admission_answer *answer)
{
	metric_count(service->requests, path + 1, answer->allowed ? "allowed" : "refused");
	if (!answer->allowed)
		log_debug("refused", log_str("resource", request->resource),
			  log_str("name", request->name), log_str("user", request->user),
			  log_str("reason", str_cstr(&answer->message)));
}

static int answer_review(struct admission_service *service, const char *path, bool verified,
			 const char *body, size_t len, struct str *out)
{
	struct admission_review review = { 0 };
	struct admission_answer answer;
	struct err err = { 0 };
	int r = admission_review_parse(body, len, &review, &err);

	if (r < 0) {
		metric_count(service->requests, path + 1, "invalid");
		str_addf(out, "%s\n", err.msg);
		return r == -EMSGSIZE ? TOO_LARGE : BAD_REQUEST;
	}
	review.request.verified = verified;
	admission_answer_init(&answer);
	decide(service, path, &review.request, &answer);
	count_request(service, path, &review.request, &answer);
	admission_review_answer(review.request.uid, &answer, out);
	admission_answer_done(&answer);
	admission_review_done(&review);
	return OK;
}

int admission_service_answer(struct admission_service *service, const char *path, bool verified,
			     const char *body, size_t len, struct str *out)
{
	uint64_t began_ms = timefmt_now_ms();
	int status;

	if (strcmp(path, "/validate") != 0 && strcmp(path, "/mutate") != 0) {
		str_add(out, "there is /validate and /mutate\n");
		return NOT_FOUND;
	}
	status = answer_review(service, path, verified, body, len, out);
	metric_observe(service->seconds, timefmt_now_ms() - began_ms,
		       (const char *const[]){ path + 1 });
	return status;
}

/* --- the webhook --- */

/* As in manifests/base/webhook.yaml. */
static const char service_name[] = "hostdev-webhook";

struct webhook {
	const struct admission_rules *rules;
	struct admission_service *service;
	struct listener *listener;
	struct certificate_keeper *keeper;
	struct ca_bundle *bundle;
	bool (*leads)(void *arg);
	void *arg;
	bool serves; /* there is a certificate */
};

static int on_request(void *arg, const char *path, bool verified, const char *body, size_t len,
		      struct str *out)
{
	struct webhook *webhook = arg;

	return admission_service_answer(webhook->service, path, verified, body, len, out);
}

static bool leads(void *arg)
{
	struct webhook *webhook = arg;

	return webhook->leads(webhook->arg);
}

static bool trusted(void *arg)
{
	struct webhook *webhook = arg;

	return ca_bundle_trusted(webhook->bundle);
}

static void on_trusted(void *arg)
{
	struct webhook *webhook = arg;

	certificate_keeper_enqueue(webhook->keeper);
}

/* An unusable set is ignored: serving certificate and trusted CAs stay as they are. */
static void on_set(void *arg, const struct certificate_set *set, bool serves)
{
	struct webhook *webhook = arg;
	struct err err = { 0 };

	if (!serves)
		return;
	if (listener_use(webhook->listener, set->serving.cert, set->serving.key, &err) < 0) {
		log_error("webhook certificate", log_str("reason", err.msg));
		return;
	}
	log_info("webhook certificate in use");
	webhook->serves = true;
	ca_bundle_set(webhook->bundle, set->ca_certs);
}

static void make_keepers(struct webhook *webhook, const struct webhook_options *options)
{
	struct certificate_keeper_options keeper = {
		.client = options->client,
		.clock = options->clock,
		.metrics = options->metrics,
		.ns = options->ns,
		.leads = leads,
		.trusted = trusted,
		.on_set = on_set,
		.arg = webhook,
	};
	auto_free char *service = xasprintf("%s.%s.svc", service_name, options->ns);

	json_strs_add(&keeper.hosts, service);
	for (size_t i = 0; i < options->hosts.len; i++)
		json_strs_add_new(&keeper.hosts, options->hosts.items[i]);
	webhook->keeper = certificate_keeper_new(&keeper);
	json_strs_done(&keeper.hosts);
	webhook->bundle = ca_bundle_new(&(struct ca_bundle_options){
		.client = options->client,
		.clock = options->clock,
		.metrics = options->metrics,
		.leads = leads,
		.on_trusted = on_trusted,
		.arg = webhook,
	});
}

int webhook_new(struct uv_loop_s *loop, const struct webhook_options *options,
		struct webhook **ret_webhook, struct err *err)
{
	struct webhook *webhook = xcalloc(1, sizeof(*webhook));
	int r;

	webhook->rules = options->rules;
	webhook->leads = options->leads;
	webhook->arg = options->arg;
	r = listener_new(loop,
			 &(struct listener_options){
				 .clock = options->clock,
				 .metrics = options->metrics,
				 .address = options->address,
				 .client_ca = options->client_ca,
				 .answer = on_request,
				 .arg = webhook,
			 },
			 &webhook->listener, err);
	if (r < 0) {
		free(webhook);
		return r;
	}
	webhook->service = admission_service_new(options->rules, options->metrics);
	make_keepers(webhook, options);
	certificate_keeper_start(webhook->keeper);
	ca_bundle_start(webhook->bundle);
	*ret_webhook = webhook;
	return 0;
}

struct webhook *webhook_free(struct webhook *webhook)
{
	if (!webhook)
		return NULL;
	listener_free(webhook->listener);
	certificate_keeper_free(webhook->keeper);
	ca_bundle_free(webhook->bundle);
	admission_service_free(webhook->service);
	free(webhook);
	return NULL;
}

void webhook_lead(struct webhook *webhook)
{
	certificate_keeper_enqueue(webhook->keeper);
	ca_bundle_enqueue(webhook->bundle);
}

int webhook_ready(struct webhook *webhook, struct err *err)
{
	if (!webhook->serves)
		return err_set(err, ERR_RETRY, -EAGAIN,
			       "there is no certificate yet; the leader creates it (%s)",
			       certificate_keeper_text(webhook->keeper));
	if (webhook->rules->ready && !webhook->rules->ready(webhook->rules->arg, err))
		return -EAGAIN;
	return 0;
}

void webhook_drain(struct webhook *webhook)
{
	listener_drain(webhook->listener);
}

unsigned webhook_port(const struct webhook *webhook)
{
	return listener_port(webhook->listener);
}
