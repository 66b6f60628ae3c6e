#include "agent/mdev/mdev_fare.h"

#include <stdlib.h>

#include "agent/mdev/mdev_line.h"
#include "agent/mdev/mdev_plan.h"
#include "base/mem.h"

/* clang-format off */
static const struct {
	const char *reason;
	const char *message; /* NULL: it has figures in it */
} rows[] = {
	[MDEV_UNCONFIGURED] = { "NotConfigured",
		"the HostDeviceConfig names no type of mediated devices for this node" },
	[MDEV_DISABLED]     = { "Disabled",
		"mediatedDevicesConfiguration.enabled is false: hostdev creates and removes nothing" },
	[MDEV_NO_TYPE_FITS] = { "NoTypeFits",
		"its driver supports none of the types that the HostDeviceConfig names for this node" },
	[MDEV_NOT_DEALT]    = { "NoneAvailable",
		"its driver cannot create an instance of the types in the HostDeviceConfig now" },
	[MDEV_TAKEN]        = { "OtherInstances",
		"it has instances of a type that the HostDeviceConfig does not name, and hostdev did not "
		"create them; remove them, or leave the device to whoever created them" },
	[MDEV_INCOMPLETE]   = { "Creating",       NULL },
	[MDEV_COMPLETE]     = { "Configured",     NULL },
	[MDEV_TO_REMOVE]    = { "Removing",       NULL },
	[MDEV_IN_USE]       = { "InUse",          NULL },
};
/* clang-format on */

static char *message_of(const struct mdev_parent_plan *plan, const char *holder)
{
	switch (plan->state) {
	case MDEV_INCOMPLETE:
		return xasprintf("%zu instances of '%s' exist, and %zu are still to be created",
				 plan->there, plan->type, plan->create.len);
	case MDEV_COMPLETE:
		return xasprintf("all %zu instances of '%s' exist", plan->there, plan->type);
	case MDEV_TO_REMOVE:
		return xasprintf(
			"%zu instances of a type that the HostDeviceConfig no longer names are to "
			"be removed",
			plan->remove.len);
	case MDEV_IN_USE:
		return xasprintf(
			"%zu instances of a type that the HostDeviceConfig no longer names are in "
			"use, and will be removed when they are free: %s by %s",
			plan->in_use.len, plan->in_use.items[0],
			holder ? holder : "an unknown user");
	case MDEV_UNCONFIGURED:
	case MDEV_DISABLED:
	case MDEV_NO_TYPE_FITS:
	case MDEV_NOT_DEALT:
	case MDEV_TAKEN:
		return xstrdup(rows[plan->state].message);
	}
	abort();
}

static bool has_work(const struct mdev_parent_plan *plan)
{
	return plan->create.len + plan->remove.len + plan->forget.len > 0;
}

struct mdev_fare mdev_fare(const struct mdev_parent_plan *plan, const struct mdev_outcome *outcome,
			   const char *holder)
{
	if (outcome && !outcome->done && has_work(plan))
		return (struct mdev_fare){
			.reason = outcome->held ? "InUse" : outcome->reason,
			.message = outcome->uuid
					   ? xasprintf("%s: %s", outcome->uuid, outcome->message)
					   : xstrdup(outcome->message),
		};
	return (struct mdev_fare){
		.configured = plan->state == MDEV_COMPLETE,
		.reason = rows[plan->state].reason,
		.message = message_of(plan, holder),
	};
}

void mdev_fare_done(struct mdev_fare *fare)
{
	free(fare->message);
	*fare = (struct mdev_fare){ 0 };
}

struct api_condition_value mdev_fare_value(const struct mdev_fare *fare)
{
	return (struct api_condition_value){
		.type = "Configured",
		.status = fare->configured ? API_TRUE : API_FALSE,
		.reason = fare->reason,
		.message = fare->message,
	};
}
