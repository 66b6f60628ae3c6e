#include "controller/webhook/admission_service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "controller/webhook/admission_review.h"
#include "kube/metrics.h"

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
