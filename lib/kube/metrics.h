/*
 * metrics: counters, gauges and histograms, written as Prometheus' text format.
 *
 * Owns the families and their series. A family has at most METRIC_SERIES_MAX series, of which one is
 * kept for what finds no room: its labels all say "other". So nothing outside can grow the table. Who
 * names series by what comes and goes forgets them, so that what is there has room.
 */
#pragma once

#include <stdint.h>

struct metric;
struct metrics;
struct str;

enum { METRIC_LABELS_MAX = 4, METRIC_BUCKETS_MAX = 12, METRIC_SERIES_MAX = 1024 };

enum metric_type {
	METRIC_COUNTER,
	METRIC_COUNTER_MS, /* of time that somebody else counts: set in ms, shown in seconds */
	METRIC_GAUGE,
	METRIC_SECONDS, /* a histogram of durations: fed in ms, shown in seconds */
};

/* Static text: the registry keeps pointers to all of it. */
struct metric_desc {
	const char *name; /* "hostdev_api_requests_total" */
	const char *help; /* one sentence                 */
	enum metric_type type;
	const char *labels[METRIC_LABELS_MAX];   /* names, NULL after the last   */
	uint64_t buckets_ms[METRIC_BUCKETS_MAX]; /* upper bounds, 0 after the last */
};

struct metrics *metrics_new(void);
/* Takes NULL, returns NULL. */
struct metrics *metrics_free(struct metrics *metrics);

/* The family of @desc; the same one for the same name. NULL for a NULL registry, and every call
 * below takes a NULL family and does nothing, so that a module needs no registry to work. A family
 * without labels is shown as 0 from the start. */
struct metric *metrics_family(struct metrics *metrics, const struct metric_desc *desc);

/* Called at the begin of every scrape, to set what is not told otherwise. Must be cheap and must not
 * block. One for all of @metrics. */
typedef void metrics_look_fn(void *arg);
void metrics_on_look(struct metrics *metrics, metrics_look_fn *look, void *arg);

/* Shown from now on, as 0 if nothing is known: so that the first of something is an increase, too. */
void metric_show(struct metric *metric, const char *const values[]);

/* Add to a counter or gauge, set a gauge, or put one duration into a histogram. @values are the
 * labels' values in the order of the labels (may be NULL without labels); they are copied. */
void metric_add(struct metric *metric, int64_t amount, const char *const values[]);
void metric_set(struct metric *metric, int64_t value, const char *const values[]);
void metric_observe(struct metric *metric, uint64_t ms, const char *const values[]);

/* Drop the series whose first label has @value. The one of what found no room goes with them: it is of
 * nobody's, and from now on there is room. Who may be in it shows its series again. */
void metric_forget(struct metric *metric, const char *value);

/* metric_count(m, "list", "pcidevices", "200"): one more. */
#define metric_count(metric, ...) metric_add((metric), 1, (const char *const[]){ __VA_ARGS__ })

/* What a scrape of /metrics gets. */
void metrics_write(const struct metrics *metrics, struct str *out);
