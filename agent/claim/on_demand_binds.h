/*
 * on_demand_binds: functions that are bound for a ResourceClaim, without a PCIDeviceClaim, for as
 * long as it is prepared (DRA's mode OnDemand).
 *
 * To the rest of agent/claim such a function is one whose record names a claim that does not exist:
 * the record has the name of the PCIDevice, and the UID of the ResourceClaim. So this agent, or the
 * next one, releases it once it is no longer in use. The code here only binds: each IOMMU group as
 * a whole, judged and bound as if a PCIDeviceClaim with includeIOMMUGroup asked for it
 * (claim_plan_on_demand()).
 *
 * A bind waits for what passes by itself within seconds: another transition, the next scan, that
 * the device has been free for a while. Everything else ends the bind with the reason. Nothing is
 * remembered beyond its end.
 */
#pragma once

#include <stdbool.h>

struct binder;
struct claim_attempts;
struct claim_on_demand_decision;
struct err;
struct json_strs;
struct on_demand_bind;
struct on_demand_binds;
struct pcideviceclaim;
struct this_node;

/* What is bound on demand. Borrowed during the call. */
struct on_demand_spec {
	const struct json_strs *addresses;
	const char *uid; /* of the ResourceClaim                      */
	const char *to;  /* "ResourceClaim default/nic", for messages */
};

/* All functions are bound, or @err says why they are not; then some of them may be. The bind is
 * gone. */
typedef void on_demand_end_fn(void *arg, const struct err *err);

/* Borrowed. */
struct on_demand_binds_deps {
	const struct this_node *node;
	struct binder *binder;
	struct claim_attempts *attempts;
	/* The next step for the group of the function @address; for the caller to release. @claim
	 * is a claim of the group that no API server has, with the UID of the ResourceClaim.
	 * @may_bind: the step will be done; else it is only of interest whether it is a refusal. */
	void (*plan)(void *arg, const char *address, const struct pcideviceclaim *claim,
		     bool may_bind, struct claim_on_demand_decision *ret_decision);
	/* The transition of the functions @members has ended. on_demand_binds_wake() is to
	 * follow. */
	void (*ended)(void *arg, const struct json_strs *members);
	void *arg;
};

/* @deps is copied. */
struct on_demand_binds *on_demand_binds_new(const struct on_demand_binds_deps *deps);
/* No bind ends any more; helpers under way are left to end by themselves. Takes NULL, returns
 * NULL. */
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

/* Why the function at @address could not be bound for a ResourceClaim now. NULL: it could, or it is
 * not known yet. The caller frees. */
char *on_demand_binds_trouble(const struct on_demand_binds *binds, const char *address);
