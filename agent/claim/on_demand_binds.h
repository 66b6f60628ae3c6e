/*
 * on_demand_binds: functions that are bound for a ResourceClaim, without a PCIDeviceClaim, for as long as it is
 * prepared (DRA's mode OnDemand).
 *
 * To the rest of agent/claim such a function is one whose record names a claim that does not exist:
 * the record has the name of the PCIDevice, and the UID of the ResourceClaim. So this agent, or the
 * next one, gives it back once it is no longer in use. The code here only binds: each IOMMU group as
 * a whole, judged and bound as if a PCIDeviceClaim with includeIOMMUGroup asked for it (claim_plan_on_demand()).
 *
 * What will pass by itself within seconds is waited for: another transition, the next scan, that the
 * device has been free for a while. Everything else ends the bind with the reason. Nothing is
 * remembered beyond its end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct binder_job;
struct claim_on_demand_decision;
struct clock;
struct err;
struct json_strs;
struct on_demand_bind;
struct on_demand_binds;

/* What is bound on demand. Borrowed during the call. */
struct on_demand_spec {
	const struct json_strs *addresses;
	const char *uid; /* of the ResourceClaim                      */
	const char *to;  /* "ResourceClaim default/nic", for messages */
};

/* All functions are bound, or @err says why they are not; then some of them may be. The bind is
 * gone. */
typedef void on_demand_end_fn(void *arg, const struct err *err);

struct on_demand_binds_deps {
	struct clock *clock;
	/* The next step for the group of the function @address, of the ResourceClaim @uid; for the
	 * caller to release. */
	void (*plan)(void *arg, const char *address, const char *uid,
		     struct claim_on_demand_decision *ret_decision);
	/* Begin the job; on_demand_binds_wake() is to follow its end. False: something is in the way, and
	 * on_demand_binds_wake() follows as well. */
	bool (*bind)(void *arg, const char *address, const struct on_demand_spec *spec,
		     const struct binder_job *job);
	/* Is the function being bound for the ResourceClaim @uid now, by whichever of its binds? */
	bool (*is_binding)(void *arg, const char *address, const char *uid);
	bool (*is_one_group)(void *arg, const char *a, const char *b);
	void *arg;
};

/* @deps is copied. */
struct on_demand_binds *on_demand_binds_new(const struct on_demand_binds_deps *deps);
/* No bind ends any more. Takes NULL, returns NULL. */
struct on_demand_binds *on_demand_binds_free(struct on_demand_binds *binds);

/* @end is called once, never before this returns, unless the bind is stopped. */
struct on_demand_bind *on_demand_binds_begin(struct on_demand_binds *binds,
					     const struct on_demand_spec *spec,
					     on_demand_end_fn *end, void *arg);
/* Begin nothing more for the bind, which is gone then. True if a group is being bound for its
 * ResourceClaim now, which goes on. @err (may be NULL) says what it was waiting for. */
bool on_demand_binds_stop(struct on_demand_binds *binds, struct on_demand_bind *bind,
			  struct err *err);

/* Something changed that a bind may wait for. */
void on_demand_binds_wake(struct on_demand_binds *binds);
