#include "kube/client_metrics.h"

#include <errno.h>
#include <stdio.h>

#include "kube/metrics.h"

static const struct metric_desc requests_desc = {
	.name = "hostdev_api_requests_total",
	.help = "Requests to the API server by their outcome: an HTTP status, timeout or error.",
	.type = METRIC_COUNTER,
	.labels = { "verb", "resource", "code" },
};
static const struct metric_desc durations_desc = {
	.name = "hostdev_api_request_duration_seconds",
	.help = "Time from a request to the end of its answer; watches are left out.",
	.type = METRIC_SECONDS,
	.labels = { "verb" },
	.buckets_ms = { 5, 25, 100, 250, 1000, 2500, 5000, 10000, 30000 },
};
static const struct metric_desc retries_desc = {
	.name = "hostdev_api_retries_total",
	.help = "Requests sent a second time by the client itself.",
	.type = METRIC_COUNTER,
	.labels = { "reason" },
};

void client_metrics_init(struct client_metrics *m, struct metrics *metrics)
{
	m->requests = metrics_family(metrics, &requests_desc);
	m->durations = metrics_family(metrics, &durations_desc);
	m->retries = metrics_family(metrics, &retries_desc);
	metric_show(m->retries, (const char *const[]){ "unauthorized" });
}

void client_metrics_ended(const struct client_metrics *m, const char *verb, const char *resource,
			  int result, int status, uint64_t took_ms)
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

void client_metrics_retried(const struct client_metrics *m, const char *reason)
{
	metric_count(m->retries, reason);
}
