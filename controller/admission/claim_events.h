/*
 * claim_events: tells on a device that a claim of it was made, changed or deleted, as the controller sees the objects. What a
 * review asked for is no proof: anybody may send one, and another webhook may refuse it later.
 */
#pragma once

#include "controller/views/view.h"

struct entry;
struct events;
struct store;

/* A change of the store of @kind, as views.h tells it; of other kinds than claims nothing is recorded, nor of a device that
 * is not in @stores (by enum view_kind). */
void claim_events_hear(struct events *events, const struct store *const *stores,
		       enum view_kind kind, const char *name, const struct entry *before,
		       const struct entry *after);
