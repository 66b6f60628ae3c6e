/* refusals: what is left out, told once for as long as the reason stays the same. */
#pragma once

#include "agent/plugin/plugin_event.h"

struct err;
struct refusals;

/* @type and @fn's @arg are borrowed. */
struct refusals *refusals_new(const char *type, plugin_event_fn *fn, void *arg);
/* Takes NULL, returns NULL. */
struct refusals *refusals_free(struct refusals *refusals);

/* Tell of the device @id (NULL: the whole resource), unless that was told before with this reason. */
void refusals_add(struct refusals *refusals, const char *resource, const char *id,
		  const struct err *err);

/* What is not added between these two is forgotten, and would be told again. */
void refusals_begin(struct refusals *refusals);
void refusals_end(struct refusals *refusals);
