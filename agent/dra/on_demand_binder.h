/*
 * on_demand_binder: binds devices that a ResourceClaim has for as long as it is prepared, in the
 * words of agent/dra and agent/resource. The part that binds devices implements it.
 *
 * No function releases a device: each device that is bound for a ResourceClaim without a checkpoint
 * is released as soon as nobody has it (agent/claim/on_demand_binds.h).
 */
#pragma once

#include <stdbool.h>

struct err;
struct json_strs;
struct on_demand_bind;

/* What is bound on demand. Borrowed during the call. */
struct on_demand_devices {
	const struct json_strs *ids; /* of the devices                           */
	const char *uid;             /* of the ResourceClaim                     */
	const char *to;              /* "ResourceClaim default/nic", for messages */
};

/* All devices are bound, or @err says why they are not; then some of them may be. The bind is
 * gone. */
typedef void on_demand_bound_fn(void *arg, const struct err *err);

struct on_demand_binder {
	/* Why the device @id could not be bound now. NULL: it could, or it is bound for a
	 * ResourceClaim. The caller frees. */
	char *(*trouble)(void *arg, const char *id);
	/* Is the device @id being bound or released, or was it since the last scan began? That scan
	 * may have read its driver before, and its record after. */
	bool (*moving)(void *arg, const char *id);
	/* Bind the devices, with all of their IOMMU groups. The bind waits for what passes soon;
	 * anything else is an error. @bound is called once, not before this has returned, unless
	 * the bind is stopped. */
	struct on_demand_bind *(*begin)(void *arg, const struct on_demand_devices *devices,
					on_demand_bound_fn *bound, void *bound_arg);
	/* Begin nothing more for the bind, which is gone then. True if something is being bound for
	 * it now, which goes on. @err says what it was waiting for. */
	bool (*stop)(void *arg, struct on_demand_bind *bind, struct err *err);
	void *arg;
};
