/* mdev_fare: how a parent fares, as its condition Configured says it. Pure. */
#pragma once

#include <stdbool.h>

#include "api/condition.h"

struct mdev_outcome;
struct mdev_parent_plan;

/* Owns its message. */
struct mdev_fare {
	bool configured;
	const char *reason; /* static, or the outcome's */
	char *message;
};

/*
 * By what is still to be done (@plan) and what the last try at it came to (@outcome, NULL: there was none,
 * or it went well). @holder says who has the first instance in use, NULL: not known. The reason of an
 * outcome is borrowed.
 */
struct mdev_fare mdev_fare(const struct mdev_parent_plan *plan, const struct mdev_outcome *outcome,
			   const char *holder);
void mdev_fare_done(struct mdev_fare *fare);

/* As publish wants it; borrowed. */
struct api_condition_value mdev_fare_value(const struct mdev_fare *fare);
