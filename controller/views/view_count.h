/*
 * view_count: how many devices the cluster has and how many containers have, and how well claims are, as
 * metrics. Every replica counts: they all see the cluster.
 */
#pragma once

#include "controller/views/view.h"

struct entry;
struct metric;
struct metrics;

struct view_count {
	struct metric *devices;
	struct metric *claims;
};

/* What can be counted is shown as 0 from now on. @metrics may be NULL. */
void view_count_init(struct view_count *count, struct metrics *metrics);

/* An object of @kind is @after where it was @before; NULL: it was not there, or is gone. */
void view_count_hear(const struct view_count *count, enum view_kind kind,
		     const struct entry *before, const struct entry *after);
