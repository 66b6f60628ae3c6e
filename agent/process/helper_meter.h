/*
 * helper_meter: how long each run of a helper takes, how many run, and how many the kernel keeps past their
 * deadline, as metrics by what the run does.
 *
 * A helper does hardly anything but ask the kernel and wait for it: its time is the kernel's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct metric;
struct metrics;

/* Of one run; all zero: it is not counted. */
struct helper_meter {
	struct metric *seconds;
	struct metric *running;
	struct metric *stuck;
	const char *verb;
	bool is_stuck;
};

/* What can run is shown as 0 from now on. @metrics may be NULL. */
void helper_meter_show(struct metrics *metrics);

/* A run of what the first word on its command line says has begun. @metrics may be NULL. */
void helper_meter_start(struct helper_meter *meter, struct metrics *metrics, const char *word);
/* It has missed its deadline. */
void helper_meter_stick(struct helper_meter *meter);
/* It has ended after @took_ms, late or not; it is counted no more. */
void helper_meter_end(struct helper_meter *meter, uint64_t took_ms);
/* The end of the run will not be seen; likewise. */
void helper_meter_drop(struct helper_meter *meter);
