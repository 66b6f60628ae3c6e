/*
 * reason_count: how many claims there are of which kind and for which reason they are (not) ready, as
 * the metric hostdev_claims. A reason that its table does not have counts as the table's last.
 */
#pragma once

#include <stddef.h>

struct api_conditions;
struct metrics;
struct reason_count;

/* What a reason of the condition Ready means for the claim. */
struct reason_row {
	const char *reason;
	const char *state; /* "ready", "waiting", "refused", "held", "stuck", "failed" */
};

enum { REASON_ROWS_MAX = 64 };

/* @rows (at most REASON_ROWS_MAX) and @kind are static; all are shown from now on. The first is of what
 * is ready, the last but one of what has no reason yet. @metrics may be NULL. */
struct reason_count *reason_count_new(struct metrics *metrics, const char *kind,
				      const struct reason_row *rows, size_t len);
/* The same with the rows of lib/api/reason.h that have @flag, then "Unknown" and "Other". */
struct reason_count *reason_count_of(struct metrics *metrics, const char *kind, unsigned flag);
/* Takes NULL, returns NULL. */
struct reason_count *reason_count_free(struct reason_count *count);

/* The claim @name is as @conditions say; NULL: it is gone, or is not to be counted. */
void reason_count_set(struct reason_count *count, const char *name,
		      const struct api_conditions *conditions);
