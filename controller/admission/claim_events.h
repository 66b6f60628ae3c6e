/*
 * claim_events: records an event on a device when its claim is created, changed or deleted, as seen
 * in the cache. A review proves nothing: anybody may send one, and another webhook may still refuse
 * it.
 */
#pragma once

#include "controller/cache/view.h"

struct entry;
struct events;
struct store;

/* A change in the store of @kind, as in cache.h. Ignored for kinds that are not claims and for
 * devices that are not in @stores (indexed by enum view_kind). */
void claim_events_on_change(struct events *events, const struct store *const *stores,
			    enum view_kind kind, const char *name, const struct entry *before,
			    const struct entry *after);
