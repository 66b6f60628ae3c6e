#include "unit/suite.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "base/str.h"
#include "kube/metrics.h"

static const struct metric_desc requests = {
	.name = "requests_total",
	.help = "Requests,\nby \\ outcome.",
	.type = METRIC_COUNTER,
	.labels = { "verb", "code" },
};
static const struct metric_desc depth = { .name = "depth", .help = "Depth.", .type = METRIC_GAUGE };
static const struct metric_desc seconds = {
	.name = "took_seconds",
	.help = "Time.",
	.type = METRIC_SECONDS,
	.labels = { "verb" },
	.buckets_ms = { 5, 250, 1000 },
};

SUITE_OBJECT(metrics, metrics_new(), metrics_free);

static void families_are_written_in_the_text_format(void **state)
{
	struct metrics *metrics = *state;
	struct metric *counter = metrics_family(metrics, &requests);
	struct metric *gauge = metrics_family(metrics, &depth);
	struct metric *histogram = metrics_family(metrics, &seconds);
	auto_str struct str text = STR_INIT;

	metric_count(counter, "list", "200");
	metric_count(counter, "list", "200");
	metric_count(counter, "a\"b\\c\nd", "500");
	metric_set(gauge, 7, NULL);
	metric_add(gauge, -9, NULL);
	metric_observe(histogram, 5, (const char *const[]){ "get" });
	metric_observe(histogram, 6, (const char *const[]){ "get" });
	metric_observe(histogram, 2001, (const char *const[]){ "get" });
	metrics_write(metrics, &text);
	assert_string_equal(str_cstr(&text),
			    "# HELP requests_total Requests,\\nby \\\\ outcome.\n"
			    "# TYPE requests_total counter\n"
			    "requests_total{verb=\"list\",code=\"200\"} 2\n"
			    "requests_total{verb=\"a\\\"b\\\\c\\nd\",code=\"500\"} 1\n"
			    "# HELP depth Depth.\n"
			    "# TYPE depth gauge\n"
			    "depth -2\n"
			    "# HELP took_seconds Time.\n"
			    "# TYPE took_seconds histogram\n"
			    "took_seconds_bucket{verb=\"get\",le=\"0.005\"} 1\n"
			    "took_seconds_bucket{verb=\"get\",le=\"0.25\"} 2\n"
			    "took_seconds_bucket{verb=\"get\",le=\"1\"} 2\n"
			    "took_seconds_bucket{verb=\"get\",le=\"+Inf\"} 3\n"
			    "took_seconds_sum{verb=\"get\"} 2.012\n"
			    "took_seconds_count{verb=\"get\"} 3\n");
}

static void a_family_without_labels_begins_at_zero(void **state)
{
	struct metrics *metrics = *state;
	auto_str struct str text = STR_INIT;

	metrics_family(metrics, &depth);
	metrics_family(metrics, &requests);
	metrics_write(metrics, &text);
	assert_string_equal(str_cstr(&text), "# HELP depth Depth.\n# TYPE depth gauge\ndepth 0\n");
}

static void the_same_name_is_the_same_family(void **state)
{
	struct metrics *metrics = *state;

	assert_ptr_equal(metrics_family(metrics, &depth), metrics_family(metrics, &depth));
}

static const struct metric_desc cpu = { .name = "cpu_seconds_total",
					.help = "Time.",
					.type = METRIC_COUNTER_MS };

static void look(void *arg)
{
	metric_set(arg, 61050, NULL);
}

static void a_scrape_looks_at_what_is_not_told(void **state)
{
	struct metrics *metrics = *state;
	struct metric *family = metrics_family(metrics, &cpu);
	auto_str struct str text = STR_INIT;

	metrics_on_scrape(metrics, look, family);
	metrics_write(metrics, &text);
	assert_string_equal(str_cstr(&text), "# HELP cpu_seconds_total Time.\n"
					     "# TYPE cpu_seconds_total counter\n"
					     "cpu_seconds_total 61.05\n");
}

static void what_can_be_is_shown_as_zero(void **state)
{
	struct metrics *metrics = *state;
	struct metric *counter = metrics_family(metrics, &requests);
	struct metric *histogram = metrics_family(metrics, &seconds);
	auto_str struct str text = STR_INIT;

	metric_count(counter, "get", "200");
	metric_show(counter, (const char *const[]){ "get", "200" });
	metric_show(counter, (const char *const[]){ "get", "500" });
	metric_show(histogram, (const char *const[]){ "get" });
	metrics_write(metrics, &text);
	assert_non_null(strstr(str_cstr(&text), "{verb=\"get\",code=\"200\"} 1\n"));
	assert_non_null(strstr(str_cstr(&text), "{verb=\"get\",code=\"500\"} 0\n"));
	assert_non_null(
		strstr(str_cstr(&text), "took_seconds_bucket{verb=\"get\",le=\"+Inf\"} 0\n"));
}

static void too_many_series_become_others(void **state)
{
	struct metrics *metrics = *state;
	struct metric *counter = metrics_family(metrics, &requests);
	auto_str struct str text = STR_INIT;
	size_t lines = 0;
	const char *at;

	for (int i = 0; i < METRIC_SERIES_MAX + 100; i++) {
		char value[16];

		(void)snprintf(value, sizeof(value), "%d", i);
		metric_count(counter, value, "200");
	}
	metrics_write(metrics, &text);
	for (at = str_cstr(&text); (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, METRIC_SERIES_MAX + 2);
	assert_non_null(
		strstr(str_cstr(&text), "requests_total{verb=\"other\",code=\"other\"} 101\n"));
}

static void what_is_forgotten_is_shown_no_more(void **state)
{
	struct metrics *metrics = *state;
	struct metric *counter = metrics_family(metrics, &requests);
	auto_str struct str text = STR_INIT;

	metric_count(counter, "a\"b", "200");
	metric_count(counter, "list", "200");
	metric_count(counter, "a\"b", "500");
	metric_count(counter, "a\"bc", "200");
	metric_count(counter, "get", "a\"b");
	metric_count(counter, "a\"b", "404");
	metric_forget(counter, "a\"b");
	metric_forget(counter, "never");
	metric_count(counter, "watch", "200");
	metric_count(counter, "a\"b", "200");
	metrics_write(metrics, &text);
	assert_string_equal(str_cstr(&text), "# HELP requests_total Requests,\\nby \\\\ outcome.\n"
					     "# TYPE requests_total counter\n"
					     "requests_total{verb=\"list\",code=\"200\"} 1\n"
					     "requests_total{verb=\"a\\\"bc\",code=\"200\"} 1\n"
					     "requests_total{verb=\"get\",code=\"a\\\"b\"} 1\n"
					     "requests_total{verb=\"watch\",code=\"200\"} 1\n"
					     "requests_total{verb=\"a\\\"b\",code=\"200\"} 1\n");
}

/* The only label is all there is of them. */
static void the_last_ones_are_forgotten(void **state)
{
	struct metrics *metrics = *state;
	struct metric *histogram = metrics_family(metrics, &seconds);
	auto_str struct str text = STR_INIT;

	metric_show(histogram, (const char *const[]){ "get" });
	metric_forget(histogram, "get");
	metrics_write(metrics, &text);
	assert_int_equal(text.len, 0);
	metric_show(histogram, (const char *const[]){ "list" });
	metrics_write(metrics, &text);
	assert_non_null(strstr(str_cstr(&text), "took_seconds_count{verb=\"list\"} 0\n"));
}

static void forgetting_makes_room(void **state)
{
	struct metrics *metrics = *state;
	struct metric *counter = metrics_family(metrics, &requests);
	auto_str struct str text = STR_INIT;
	char value[16];

	metric_count(counter, "live", "200");
	for (int i = 0; i < 3 * METRIC_SERIES_MAX; i++) {
		(void)snprintf(value, sizeof(value), "%d", i);
		metric_count(counter, value, "200");
		if (i < METRIC_SERIES_MAX || i >= 2 * METRIC_SERIES_MAX)
			metric_forget(counter, value);
	}
	/* Those in between took it all. */
	metric_count(counter, "late", "200");
	metric_forget(counter, value);
	metrics_write(metrics, &text);
	assert_null(strstr(str_cstr(&text), "late"));
	assert_null(strstr(str_cstr(&text), "other"));
	(void)snprintf(value, sizeof(value), "%d", METRIC_SERIES_MAX);
	metric_forget(counter, value);
	metric_count(counter, "late", "200");
	str_clear(&text);
	metrics_write(metrics, &text);
	assert_non_null(strstr(str_cstr(&text), "{verb=\"live\",code=\"200\"} 1\n"));
	assert_non_null(strstr(str_cstr(&text), "{verb=\"late\",code=\"200\"} 1\n"));
	assert_null(strstr(str_cstr(&text), "other"));
}

static void nothing_needs_a_registry(void **state)
{
	struct metric *none = metrics_family(NULL, &requests);

	assert_null(none);
	metric_count(none, "list", "200");
	metric_set(none, 1, NULL);
	metric_show(none, (const char *const[]){ "list", "200" });
	metric_observe(none, 1, NULL);
	metric_forget(none, "list");
}

#define REST \
	" S 1 2 3 0 -1 4194560 5 6 7 8 120 30 9 10 20 0 1 0 4711 8192000 512 18446744073709551615 1"

static struct stat_case {
	const char *name;
	const char *text;
	bool good;
} stats[] = {
	{ "a line is read", "42 (hostdev-agent)" REST, true },
	{ "a name may hold anything", "42 (a) R 1 (b c)" REST, true },
	{ "a line that is cut is none", "42 (a) S 1 2 3", false },
	{ "letters are no numbers", "42 (a) S a b c", false },
	{ "nothing is none", "", false },
};

static void stat_matches_table(void **state)
{
	const struct stat_case *c = *state;
	struct process_stat stat = { .cpu_ticks = 1 };

	assert_int_equal(process_stat_parse(c->text, &stat), c->good);
	assert_int_equal(stat.cpu_ticks, c->good ? 150 : 1);
	assert_int_equal(stat.start_ticks, c->good ? 4711 : 0);
	assert_int_equal(stat.virtual_bytes, c->good ? 8192000 : 0);
	assert_int_equal(stat.resident_pages, c->good ? 512 : 0);
}

static uint64_t value_of(struct str *text, const char *name)
{
	auto_free char *line = xasprintf("\n%s ", name);
	const char *at = strstr(str_cstr(text), line);
	auto_free char *digits = NULL;
	uint64_t value = 0;

	assert_non_null(at);
	at += strlen(line);
	digits = xstrndup(at, strcspn(at, ".\n"));
	assert_true(str_to_u64(digits, &value));
	return value;
}

static void this_process_is_shown(void **state)
{
	struct metrics *metrics = metrics_new();
	struct process_metrics process;
	auto_str struct str before = STR_INIT;
	auto_str struct str after = STR_INIT;
	uint64_t now = (uint64_t)time(NULL);
	int fd;

	process_metrics_init(&process, metrics);
	metrics_write(metrics, &before);
	fd = dup(STDERR_FILENO);
	assert_true(fd >= 0);
	metrics_write(metrics, &after);
	close(fd);
	assert_int_equal(value_of(&after, "process_open_fds"),
			 value_of(&before, "process_open_fds") + 1);
	assert_in_range(value_of(&after, "process_resident_memory_bytes"), 100 * 1024,
			value_of(&after, "process_virtual_memory_bytes"));
	assert_in_range(value_of(&after, "process_start_time_seconds"), now - 600, now + 2);
	assert_in_range(value_of(&after, "process_max_fds"), 8, UINT64_MAX);
	assert_in_range(value_of(&after, "process_cpu_seconds_total"), 0, 600);
	metrics_free(metrics);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, stats, stat_matches_table);
	suite_add(&suite, "this process is shown", this_process_is_shown, NULL);
	suite_add(&suite, "nothing needs a registry", nothing_needs_a_registry, NULL);
	suite_fixture(&suite, &metrics_fixture);
	suite_add(&suite, "families are written in the text format",
		  families_are_written_in_the_text_format, NULL);
	suite_add(&suite, "a family without labels begins at zero",
		  a_family_without_labels_begins_at_zero, NULL);
	suite_add(&suite, "the same name is the same family", the_same_name_is_the_same_family,
		  NULL);
	suite_add(&suite, "a scrape looks at what is not told", a_scrape_looks_at_what_is_not_told,
		  NULL);
	suite_add(&suite, "what can be is shown as zero", what_can_be_is_shown_as_zero, NULL);
	suite_add(&suite, "too many series become others", too_many_series_become_others, NULL);
	suite_add(&suite, "what is forgotten is shown no more", what_is_forgotten_is_shown_no_more,
		  NULL);
	suite_add(&suite, "the last ones are forgotten", the_last_ones_are_forgotten, NULL);
	suite_add(&suite, "forgetting makes room", forgetting_makes_room, NULL);
	return suite_run(&suite, "metrics");
}
