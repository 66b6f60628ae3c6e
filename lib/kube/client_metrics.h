/* client_metrics: what the client counts. A part of client.c. */
#pragma once

#include <stdint.h>

struct metric;
struct metrics;

struct client_metrics {
	struct metric *requests;
	struct metric *durations;
	struct metric *retries;
};

/* The families in @metrics, which may be NULL. */
void client_metrics_init(struct client_metrics *m, struct metrics *metrics);

/* A call ended with @result (client.h) and HTTP's @status, 0 for none. @took_ms of a stream says
 * nothing: UINT64_MAX leaves it out. */
void client_metrics_ended(const struct client_metrics *m, const char *verb, const char *resource,
			  int result, int status, uint64_t took_ms);

/* A call is sent a second time. */
void client_metrics_retried(const struct client_metrics *m, const char *reason);
