/*
 * permit_offered: computes the desired entries of permittedHostDevices from claims and configuration.
 *
 * Pure. A claim counts from its creation until it is deleted, so that a virtual machine is not
 * refused a device that the agent is about to bind. Configured resources count as long as the
 * configuration has them.
 */
#pragma once

#include <stdbool.h>

#include "controller/cache/view.h"
#include "controller/kubevirt/permit_desired.h"

struct entry;
struct hostdeviceconfig;
struct store;

/* @stores is indexed by enum view_kind; @config may be NULL. The entries are added to @desired,
 * which must be empty, and sorted. */
void permit_offered(const struct store *const *stores, const struct hostdeviceconfig *config,
		    struct permit_desired *desired);

/* True if a change of the object @name of @kind may change the result. As in informer_handlers;
 * the stores have the new state. */
bool permit_offered_changed(const struct store *const *stores, enum view_kind kind,
			    const char *name, const struct entry *before,
			    const struct entry *after);
