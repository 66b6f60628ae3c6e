#include "kube/metrics.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

struct series {
	struct series *next;
	char *labels;  /* as printed: `verb="list",code="200"`; "" without labels */
	int64_t value; /* a counter's or gauge's value; a histogram's sum in ms */
	uint64_t count;
	uint64_t buckets[]; /* as many as the family has buckets */
};

struct metric {
	const struct metric_desc *desc;
	struct metric *next;
	struct series *series; /* in order of first use */
	struct series **last;
	size_t nseries;
	struct map *by_labels;
};

struct metrics {
	struct metric *families; /* in order of first use */
	struct metric **last;
	metrics_scrape_fn *on_scrape;
	void *arg;
};

struct metrics *metrics_new(void)
{
	struct metrics *metrics = xcalloc(1, sizeof(*metrics));

	metrics->last = &metrics->families;
	return metrics;
}

static void series_free(struct series *series)
{
	free(series->labels);
	free(series);
}

static void metric_free(struct metric *metric)
{
	struct series *next;

	for (struct series *series = metric->series; series; series = next) {
		next = series->next;
		series_free(series);
	}
	map_free(metric->by_labels);
	free(metric);
}

struct metrics *metrics_free(struct metrics *metrics)
{
	struct metric *next;

	if (!metrics)
		return NULL;
	for (struct metric *metric = metrics->families; metric; metric = next) {
		next = metric->next;
		metric_free(metric);
	}
	free(metrics);
	return NULL;
}

/* The format escapes backslash and newline everywhere, but quotes only in label values. */
static void add_escaped(struct str *out, const char *text, bool quotes)
{
	for (; *text; text++) {
		if (*text == '\n')
			str_add(out, "\\n");
		else if (*text == '\\' || (quotes && *text == '"'))
			str_addf(out, "\\%c", *text);
		else
			str_add_char(out, *text);
	}
}

static size_t label_count(const struct metric_desc *desc)
{
	size_t n = 0;

	while (n < METRIC_LABELS_MAX && desc->labels[n])
		n++;
	return n;
}

static size_t bucket_count(const struct metric_desc *desc)
{
	size_t n = 0;

	while (n < METRIC_BUCKETS_MAX && desc->buckets_ms[n])
		n++;
	return n;
}

static void add_label(struct str *out, const char *name, const char *value)
{
	str_addf(out, "%s=\"", name);
	add_escaped(out, value ? value : "", true);
	str_add_char(out, '"');
}

static void add_labels(struct str *out, const struct metric_desc *desc, const char *const values[])
{
	size_t n = label_count(desc);

	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			str_add_char(out, ',');
		add_label(out, desc->labels[i], values ? values[i] : "other");
	}
}

static struct series *series_new(struct metric *metric, const char *labels)
{
	size_t buckets = bucket_count(metric->desc) * sizeof(uint64_t);
	struct series *series = xcalloc(1, sizeof(*series) + buckets);

	series->labels = xstrdup(labels);
	map_set(metric->by_labels, labels, series);
	*metric->last = series;
	metric->last = &series->next;
	metric->nseries++;
	return series;
}

static struct series *series_of(struct metric *metric, const char *const values[])
{
	auto_str struct str labels = STR_INIT;
	struct series *series;

	add_labels(&labels, metric->desc, values);
	series = map_get(metric->by_labels, str_cstr(&labels));
	if (series)
		return series;
	if (metric->nseries < METRIC_SERIES_MAX - 1 || !values)
		return series_new(metric, str_cstr(&labels));
	return series_of(metric, NULL);
}

static void series_drop(struct metric *metric, struct series **link)
{
	struct series *series = *link;

	*link = series->next;
	if (metric->last == &series->next)
		metric->last = link;
	metric->nseries--;
	map_remove(metric->by_labels, series->labels);
	series_free(series);
}

void metric_forget(struct metric *metric, const char *value)
{
	auto_str struct str first = STR_INIT;
	auto_str struct str other = STR_INIT;
	struct series **link;

	if (!metric)
		return;
	assert(label_count(metric->desc) > 0);
	add_label(&first, metric->desc->labels[0], value);
	add_labels(&other, metric->desc, NULL);
	link = &metric->series;
	while (*link) {
		const char *labels = (*link)->labels;

		/* Quotes in values are escaped, so this prefix matches exactly this value. */
		if (strncmp(labels, str_cstr(&first), first.len) == 0 ||
		    strcmp(labels, str_cstr(&other)) == 0)
			series_drop(metric, link);
		else
			link = &(*link)->next;
	}
}

struct metric *metrics_family(struct metrics *metrics, const struct metric_desc *desc)
{
	struct metric *metric;

	if (!metrics)
		return NULL;
	for (metric = metrics->families; metric; metric = metric->next) {
		if (strcmp(metric->desc->name, desc->name) == 0)
			return metric;
	}
	metric = xcalloc(1, sizeof(*metric));
	metric->desc = desc;
	metric->last = &metric->series;
	metric->by_labels = map_new();
	if (label_count(desc) == 0)
		series_of(metric, NULL);
	*metrics->last = metric;
	metrics->last = &metric->next;
	return metric;
}

void metrics_on_scrape(struct metrics *metrics, metrics_scrape_fn *on_scrape, void *arg)
{
	metrics->on_scrape = on_scrape;
	metrics->arg = arg;
}

void metric_show(struct metric *metric, const char *const values[])
{
	if (metric)
		series_of(metric, values);
}

void metric_add(struct metric *metric, int64_t amount, const char *const values[])
{
	if (!metric)
		return;
	assert(metric->desc->type != METRIC_SECONDS);
	assert(metric->desc->type == METRIC_GAUGE || amount >= 0);
	series_of(metric, values)->value += amount;
}

void metric_set(struct metric *metric, int64_t value, const char *const values[])
{
	if (!metric)
		return;
	assert(metric->desc->type == METRIC_GAUGE || metric->desc->type == METRIC_COUNTER_MS);
	series_of(metric, values)->value = value;
}

void metric_observe(struct metric *metric, uint64_t ms, const char *const values[])
{
	struct series *series;
	size_t buckets;

	if (!metric)
		return;
	assert(metric->desc->type == METRIC_SECONDS);
	series = series_of(metric, values);
	series->count++;
	series->value += (int64_t)ms;
	buckets = bucket_count(metric->desc);
	for (size_t i = 0; i < buckets; i++) {
		if (ms <= metric->desc->buckets_ms[i])
			series->buckets[i]++;
	}
}

/* Shortest form, like client libraries: "le" is a string label, so different forms would be
 * different series. */
static void add_seconds(struct str *out, uint64_t ms)
{
	uint64_t rest = ms % 1000;
	int digits = 3;

	str_addf(out, "%" PRIu64, ms / 1000);
	if (rest == 0)
		return;
	for (; rest % 10 == 0; rest /= 10)
		digits--;
	str_addf(out, ".%0*" PRIu64, digits, rest);
}

static void write_buckets(const struct metric *metric, const struct series *series, struct str *out)
{
	const char *name = metric->desc->name;
	const char *comma = *series->labels ? "," : "";
	size_t buckets = bucket_count(metric->desc);

	for (size_t i = 0; i < buckets; i++) {
		str_addf(out, "%s_bucket{%s%sle=\"", name, series->labels, comma);
		add_seconds(out, metric->desc->buckets_ms[i]);
		str_addf(out, "\"} %" PRIu64 "\n", series->buckets[i]);
	}
	str_addf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, series->labels, comma,
		 series->count);
}

static void write_name(const struct metric *metric, const char *suffix, const struct series *series,
		       struct str *out)
{
	str_addf(out, "%s%s", metric->desc->name, suffix);
	if (*series->labels)
		str_addf(out, "{%s}", series->labels);
	str_add_char(out, ' ');
}

static void write_series(const struct metric *metric, const struct series *series, struct str *out)
{
	if (metric->desc->type != METRIC_SECONDS) {
		write_name(metric, "", series, out);
		if (metric->desc->type == METRIC_COUNTER_MS)
			add_seconds(out, (uint64_t)series->value);
		else
			str_addf(out, "%" PRId64, series->value);
		str_add_char(out, '\n');
		return;
	}
	write_buckets(metric, series, out);
	write_name(metric, "_sum", series, out);
	add_seconds(out, (uint64_t)series->value);
	str_add_char(out, '\n');
	write_name(metric, "_count", series, out);
	str_addf(out, "%" PRIu64 "\n", series->count);
}

void metrics_write(const struct metrics *metrics, struct str *out)
{
	static const char *const types[] = {
		[METRIC_COUNTER] = "counter",
		[METRIC_COUNTER_MS] = "counter",
		[METRIC_GAUGE] = "gauge",
		[METRIC_SECONDS] = "histogram",
	};

	if (metrics->on_scrape)
		metrics->on_scrape(metrics->arg);
	for (const struct metric *metric = metrics->families; metric; metric = metric->next) {
		if (!metric->series)
			continue;
		str_addf(out, "# HELP %s ", metric->desc->name);
		add_escaped(out, metric->desc->help, false);
		str_addf(out, "\n# TYPE %s %s\n", metric->desc->name, types[metric->desc->type]);
		for (const struct series *series = metric->series; series; series = series->next)
			write_series(metric, series, out);
	}
}

/* --- this process --- */

enum { STAT_MAX = 4096 };

static const struct metric_desc cpu_desc = {
	.name = "process_cpu_seconds_total",
	.help = "Total user and system CPU time spent in seconds.",
	.type = METRIC_COUNTER_MS,
};

static const struct metric_desc resident_desc = {
	.name = "process_resident_memory_bytes",
	.help = "Resident memory size in bytes.",
	.type = METRIC_GAUGE,
};

static const struct metric_desc virtual_desc = {
	.name = "process_virtual_memory_bytes",
	.help = "Virtual memory size in bytes.",
	.type = METRIC_GAUGE,
};

static const struct metric_desc open_fds_desc = {
	.name = "process_open_fds",
	.help = "Number of open file descriptors.",
	.type = METRIC_GAUGE,
};

static const struct metric_desc max_fds_desc = {
	.name = "process_max_fds",
	.help = "Maximum number of open file descriptors.",
	.type = METRIC_GAUGE,
};

static const struct metric_desc start_desc = {
	.name = "process_start_time_seconds",
	.help = "Start time of the process since unix epoch in seconds.",
	.type = METRIC_GAUGE,
};

bool process_stat_parse(const char *text, struct process_stat *ret_stat)
{
	const char *at =
		strrchr(text, ')');  /* the process name may contain blanks and parentheses */
	uint64_t fields[25] = { 0 }; /* numbered as in proc(5) */
	char *end;

	if (!at || at[1] != ' ')
		return false;
	at += 2; /* field 3 is a single letter */
	for (size_t i = 4; i < ARRAY_LEN(fields); i++) {
		at = strchr(at, ' ');
		if (!at)
			return false;
		fields[i] = strtoull(++at, &end, 10);
		if (end == at)
			return false;
	}
	*ret_stat = (struct process_stat){
		.cpu_ticks = fields[14] + fields[15],
		.start_ticks = fields[22],
		.virtual_bytes = fields[23],
		.resident_pages = fields[24],
	};
	return true;
}

static uint64_t clock_ms(clockid_t clock)
{
	struct timespec now = { 0 };

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void update_stat(const struct process_metrics *p)
{
	auto_free char *text = NULL;
	struct process_stat stat;
	uint64_t hertz = (uint64_t)sysconf(_SC_CLK_TCK);

	if (file_read(AT_FDCWD, "/proc/self/stat", STAT_MAX, &text, NULL, NULL) < 0 ||
	    !process_stat_parse(text, &stat))
		return;
	metric_set(p->cpu, (int64_t)(stat.cpu_ticks * 1000 / hertz), NULL);
	metric_set(p->virtual_, (int64_t)stat.virtual_bytes, NULL);
	metric_set(p->resident, (int64_t)stat.resident_pages * sysconf(_SC_PAGESIZE), NULL);
}

static void update_fds(const struct process_metrics *p)
{
	struct rlimit limit;
	int64_t n = -1; /* do not count the descriptor used for reading */
	struct dir dir;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		metric_set(p->max_fds, (int64_t)limit.rlim_cur, NULL);
	if (dir_open(&dir, AT_FDCWD, "/proc/self/fd") < 0)
		return;
	while (dir_next(&dir))
		n++;
	dir_done(&dir);
	metric_set(p->open_fds, n, NULL);
}

static void update_metrics(void *arg)
{
	update_stat(arg);
	update_fds(arg);
}

/* Set once: later changes of the clock would change it. */
static void set_start_time(const struct process_metrics *p)
{
	uint64_t boot_ms = clock_ms(CLOCK_REALTIME) - clock_ms(CLOCK_BOOTTIME);
	auto_free char *text = NULL;
	struct process_stat stat;

	if (file_read(AT_FDCWD, "/proc/self/stat", STAT_MAX, &text, NULL, NULL) < 0 ||
	    !process_stat_parse(text, &stat))
		return;
	boot_ms += stat.start_ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
	metric_set(p->start, (int64_t)(boot_ms / 1000), NULL);
}

void process_metrics_init(struct process_metrics *p, struct metrics *metrics)
{
	*p = (struct process_metrics){
		.cpu = metrics_family(metrics, &cpu_desc),
		.resident = metrics_family(metrics, &resident_desc),
		.virtual_ = metrics_family(metrics, &virtual_desc),
		.open_fds = metrics_family(metrics, &open_fds_desc),
		.max_fds = metrics_family(metrics, &max_fds_desc),
		.start = metrics_family(metrics, &start_desc),
	};
	set_start_time(p);
	metrics_on_scrape(metrics, update_metrics, p);
}
