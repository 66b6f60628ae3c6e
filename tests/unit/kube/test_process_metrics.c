#include "kube/process_metrics.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "base/str.h"
#include "kube/metrics.h"
#include "unit/suite.h"

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
	return suite_run(&suite, "process_metrics");
}
