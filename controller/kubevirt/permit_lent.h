/*
 * permit_lent: which entries permittedHostDevices are to have, from what claims and configuration lend.
 *
 * Pure. A claim counts from its creation until it is gone, so that a machine is not refused the device that
 * the agent is about to bind, and what the configuration lends while it says so.
 */
#pragma once

#include <stdbool.h>

#include "controller/kubevirt/permit_wish.h"
#include "controller/views/view.h"

struct entry;
struct hostdeviceconfig;
struct store;

/* @stores by enum view_kind; @config may be NULL. @wish, which is empty, gets the entries, sorted. */
void permit_lent(const struct store *const *stores, const struct hostdeviceconfig *config,
		 struct permit_wish *wish);

/* May that be different by a change of the object @name of @kind? As informer_handlers has it; the stores have the
 * new state. */
bool permit_lent_changed(const struct store *const *stores, enum view_kind kind, const char *name,
			 const struct entry *before, const struct entry *after);
