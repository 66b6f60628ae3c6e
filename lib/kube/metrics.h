/*
 * metrics: counters, gauges and histograms in Prometheus' text format.
 *
 * Owns the families and their series. A family has at most METRIC_SERIES_MAX series. One of them
 * collects whatever exceeds the limit; all its labels are "other". So outside input cannot make the
 * table grow. A module whose labels name short-lived objects calls metric_forget() to make room for
 * new ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct metric;
struct metrics;
struct str;

enum { METRIC_LABELS_MAX = 4, METRIC_BUCKETS_MAX = 12, METRIC_SERIES_MAX = 1024 };

enum metric_type {
	METRIC_COUNTER,
	METRIC_COUNTER_MS, /* time counted elsewhere: set in ms, printed in seconds */
	METRIC_GAUGE,
	METRIC_SECONDS, /* histogram of durations: observed in ms, printed in seconds */
};

/* Static strings: the registry keeps pointers to all of them. */
struct metric_desc {
	const char *name; /* "hostdev_api_requests_total" */
	const char *help; /* one sentence */
	enum metric_type type;
	const char *labels[METRIC_LABELS_MAX];   /* names, NULL after the last */
	uint64_t buckets_ms[METRIC_BUCKETS_MAX]; /* upper bounds, 0 after the last */
};

struct metrics *metrics_new(void);
/* Takes NULL, returns NULL. */
struct metrics *metrics_free(struct metrics *metrics);

/* The family of @desc; the same name always gives the same family. Returns NULL for a NULL
 * registry. All functions below accept a NULL family and do nothing, so modules work without a
 * registry. A family without labels is printed as 0 from the start. */
struct metric *metrics_family(struct metrics *metrics, const struct metric_desc *desc);

/* Called at the start of every scrape to set gauges that are not updated otherwise. Must be
 * cheap and must not block. One per registry. */
typedef void metrics_scrape_fn(void *arg);
void metrics_on_scrape(struct metrics *metrics, metrics_scrape_fn *on_scrape, void *arg);

/* Print the series from now on, as 0 at first, so that its first event is visible as an
 * increase. */
void metric_show(struct metric *metric, const char *const values[]);

/* Add to a counter or gauge, set a gauge, or observe a duration in a histogram. @values are the
 * label values in the order of the labels (may be NULL without labels); they are copied. */
void metric_add(struct metric *metric, int64_t amount, const char *const values[]);
void metric_set(struct metric *metric, int64_t value, const char *const values[]);
void metric_observe(struct metric *metric, uint64_t ms, const char *const values[]);

/* Drop the series whose first label is @value. The series "other" is dropped too, since there is
 * room again from now on. Modules that may be counted in it call metric_show() again. */
void metric_forget(struct metric *metric, const char *value);

/* metric_count(m, "list", "pcidevices", "200") adds 1. */
#define metric_count(metric, ...) metric_add((metric), 1, (const char *const[]){ __VA_ARGS__ })

/* Write the response to a scrape of /metrics. */
void metrics_write(const struct metrics *metrics, struct str *out);

/*
 * --- this process ---
 *
 * The kernel's counters for this process, under the names that all Prometheus client libraries use.
 * Read only during a scrape.
 */

struct process_metrics {
	struct metric *cpu;
	struct metric *resident;
	struct metric *virtual_;
	struct metric *open_fds;
	struct metric *max_fds;
	struct metric *start;
};

/* Fields of /proc/PID/stat (proc(5)). */
struct process_stat {
	uint64_t cpu_ticks;   /* user and system */
	uint64_t start_ticks; /* since boot */
	uint64_t virtual_bytes;
	uint64_t resident_pages;
};

/* Returns false and leaves @ret_stat untouched if @text is not such a file. The process name may
 * contain any bytes. */
bool process_stat_parse(const char *text, struct process_stat *ret_stat);

/* Register this process's families in @metrics, which reads @p at every scrape and must be freed
 * before it. */
void process_metrics_init(struct process_metrics *p, struct metrics *metrics);
