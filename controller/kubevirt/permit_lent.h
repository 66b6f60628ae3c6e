/*
 * permit_lent: computes the desired entries of permittedHostDevices from claims and configuration.
 *
 * Pure. A claim counts from its creation until it is deleted, so that a virtual machine is not
 * refused a device that the agent is about to bind. Configured resources count as long as the
 * configuration has them.
 */
#pragma once

#include <stdbool.h>

#include "controller/cache/view.h"
#include "controller/kubevirt/permit_wish.h"

struct entry;
struct hostdeviceconfig;
struct store;

/* @stores is indexed by enum view_kind; @config may be NULL. The entries are added to @wish,
 * which must be empty, and sorted. */
void permit_lent(const struct store *const *stores, const struct hostdeviceconfig *config,
		 struct permit_wish *wish);

/* True if a change of the object @name of @kind may change the result. As in informer_handlers;
 * the stores have the new state. */
bool permit_lent_changed(const struct store *const *stores, enum view_kind kind, const char *name,
			 const struct entry *before, const struct entry *after);
