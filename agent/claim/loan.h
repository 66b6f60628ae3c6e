/*
 * loan: functions that are bound for a ResourceClaim, without a PCIDeviceClaim, for as long as it is
 * prepared (DRA's mode OnDemand).
 *
 * To the rest of agent/claim such a function is one whose record names a claim that does not exist:
 * the record has the name of the PCIDevice, and the UID of the ResourceClaim. So it is given back as
 * soon as nobody has it, by whichever agent. A loan only has it bound: each IOMMU group as a whole,
 * judged and bound as if a PCIDeviceClaim with includeIOMMUGroup asked for it (claim_plan_loan()).
 *
 * What will pass by itself within seconds is waited for: another transition, the next scan, that the
 * device has been free for a while. Everything else ends the loan with the reason. Nothing is
 * remembered beyond its end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct binder_job;
struct claim_loan_decision;
struct clock;
struct err;
struct json_strs;
struct loan;
struct loans;

/* What is lent. Borrowed during the call. */
struct loan_spec {
	const struct json_strs *addresses;
	const char *uid; /* of the ResourceClaim                      */
	const char *to;  /* "ResourceClaim default/nic", for messages */
};

/* All functions are bound, or @err says why they are not; then some of them may be. The loan is
 * gone. */
typedef void loan_end_fn(void *arg, const struct err *err);

struct loans_deps {
	struct clock *clock;
	/* The next step for the group of the function @address, of the ResourceClaim @uid; for the
	 * caller to release. */
	void (*plan)(void *arg, const char *address, const char *uid,
		     struct claim_loan_decision *ret_decision);
	/* Begin the job; loans_wake() is to follow its end. False: something is in the way, and
	 * loans_wake() follows as well. */
	bool (*bind)(void *arg, const char *address, const struct loan_spec *spec,
		     const struct binder_job *job);
	/* Is the function being bound for the ResourceClaim @uid now, by whichever of its loans? */
	bool (*is_binding)(void *arg, const char *address, const char *uid);
	bool (*is_one_group)(void *arg, const char *a, const char *b);
	void *arg;
};

/* @deps is copied. */
struct loans *loans_new(const struct loans_deps *deps);
/* No loan ends any more. Takes NULL, returns NULL. */
struct loans *loans_free(struct loans *loans);

/* @end is called once, never before this returns, unless the loan is stopped. */
struct loan *loans_begin(struct loans *loans, const struct loan_spec *spec, loan_end_fn *end,
			 void *arg);
/* Begin nothing more for the loan, which is gone then. True if a group is being bound for its
 * ResourceClaim now, which goes on. @err (may be NULL) says what it was waiting for. */
bool loans_stop(struct loans *loans, struct loan *loan, struct err *err);

/* Something changed that a loan may wait for. */
void loans_wake(struct loans *loans);
