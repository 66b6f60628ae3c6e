/*
 * reason_count: counts claims by kind and reason of the condition Ready, as the metric
 * hostdev_claims. A reason that is not in the table counts as the table's last row.
 */
#pragma once

#include <stddef.h>

struct api_conditions;
struct metrics;
struct reason_count;

/* The state of a claim whose condition Ready has this reason. */
struct reason_row {
	const char *reason;
	const char *state; /* "ready", "waiting", "refused", "held", "stuck", "failed" */
};

enum { REASON_ROWS_MAX = 64 };

/* @rows (at most REASON_ROWS_MAX) and @kind must be static; all rows are printed from now on.
 * The first row is for ready claims, the last but one for claims without a reason. @metrics may
 * be NULL. */
struct reason_count *reason_count_new(struct metrics *metrics, const char *kind,
				      const struct reason_row *rows, size_t len);
/* The same with the reasons of lib/api/reason.h that have @flag, followed by "Unknown" and
 * "Other". */
struct reason_count *reason_count_of(struct metrics *metrics, const char *kind, unsigned flag);
/* Takes NULL, returns NULL. */
struct reason_count *reason_count_free(struct reason_count *count);

/* Count the claim @name by @conditions; NULL: the claim is gone or must not be counted. */
void reason_count_set(struct reason_count *count, const char *name,
		      const struct api_conditions *conditions);
