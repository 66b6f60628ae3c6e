/*
 * view_count: metrics of the cluster: devices, allocated devices and claims by state. Counted in
 * every replica.
 */
#pragma once

#include "controller/cache/view.h"

struct entry;
struct metric;
struct metrics;

struct view_count {
	struct metric *devices;
	struct metric *claims;
};

/* All series are shown as 0 from now on. @metrics may be NULL. */
void view_count_init(struct view_count *count, struct metrics *metrics);

/* An object of @kind changed from @before to @after; NULL: it did not exist, or is gone. */
void view_count_on_change(const struct view_count *count, enum view_kind kind,
			  const struct entry *before, const struct entry *after);
