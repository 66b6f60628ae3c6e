/*
 * process_metrics: the kernel's counters for this process, under the names that all Prometheus
 * client libraries use. Read only during a scrape.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct metric;
struct metrics;

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
