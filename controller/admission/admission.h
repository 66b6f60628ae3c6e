/*
 * admission: the rules behind the webhook, and the caches that they read.
 *
 * Runs in every replica, leader or not, so that each can answer. Reads only; owns the count of
 * resources.
 */
#pragma once

#include <stdbool.h>

struct admission;
struct admission_rules;
struct clock;
struct events;
struct cache;

/* All borrowed; must outlive the admission. */
struct admission_options {
	struct cache *cache; /* must include virtual machines */
	struct clock *clock;
	struct events *events; /* for cached changes and API servers' requests; NULL: no events */
	struct events *unverified_events; /* for refusals of unverified requests; NULL: no events */
	bool (*leads)(
		void *arg); /* only one replica records events about the cache; NULL: this one */
	void *arg;
	bool refuse_pinned; /* refuse pods with spec.nodeName on a node without the resource */
};

/* Must be called before the loop runs, so that no change is missed. */
struct admission *admission_new(const struct admission_options *options);
/* Takes NULL, returns NULL. */
struct admission *admission_free(struct admission *admission);

/* For the webhook; valid as long as the admission. Ready once all lists have been read. */
const struct admission_rules *admission_rules(const struct admission *admission);
