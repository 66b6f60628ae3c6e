/* publish_view: all that is known of one object and its device, as publish_plan wants it. */
#pragma once

#include "agent/publish/publish_plan.h"

struct entry;
struct publish_deps;

/* Of the object @name, which the API server has as @entry (NULL: it has none). Borrowed, until the loop
 * goes on. */
struct publish_case publish_view(const struct publish_deps *deps, const struct inventory *inventory,
				 enum inventory_kind kind, const char *name,
				 const struct entry *entry);
