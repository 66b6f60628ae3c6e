/*
 * process_metrics: what the kernel says of this process, under the names that all client libraries of
 * Prometheus use. Looked at when a scrape asks, never otherwise.
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

/* Of /proc/PID/stat (proc(5)). */
struct process_stat {
	uint64_t cpu_ticks;   /* user and system */
	uint64_t start_ticks; /* since boot      */
	uint64_t virtual_bytes;
	uint64_t resident_pages;
};

/* False if @text is no such file: @ret_stat is untouched then. The name in it may hold anything. */
bool process_stat_parse(const char *text, struct process_stat *ret_stat);

/* The families of this process in @metrics, which looks at @p with every scrape and is freed before
 * it. */
void process_metrics_init(struct process_metrics *p, struct metrics *metrics);
