#include "kube/process_metrics.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/file.h"
#include "base/mem.h"
#include "kube/metrics.h"

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
