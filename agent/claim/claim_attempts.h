/*
 * claim_attempts: the last attempt (agent/task/attempt.h) for each IOMMU group, found by each of
 * its functions, as far as it still matters; and when scans saw which function in use last.
 *
 * Pure. A transition matters while it runs, until a scan that began after its end has told what the
 * drivers are now, and, if it failed, until the next try is due. Starts nothing and decides
 * nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/claim/claim_plan.h"

struct claim_attempts;
struct err;
struct this_node;
struct json_strs;

/* @node is borrowed. */
struct claim_attempts *claim_attempts_new(const struct this_node *node);
/* Takes NULL, returns NULL. */
struct claim_attempts *claim_attempts_free(struct claim_attempts *attempts);

/* A transition that begins. Borrowed during the call. */
struct claim_begin {
	const struct binder_job *job;
	const struct json_strs *members;    /* addresses of the whole group       */
	const char *name;                   /* of the claim that it is begun for  */
	const struct pcideviceclaim *claim; /* NULL: there is none any more       */
};

/* A transition begins. It replaces earlier ones of its functions, except for the number of failures
 * in a row. */
void claim_attempts_begin(struct claim_attempts *attempts, const struct claim_begin *begin,
			  uint64_t now_ms);

/* May the functions @members be moved, all of them? */
bool claim_attempts_idle(const struct claim_attempts *attempts, const struct binder *binder,
			 const struct json_strs *members);

/* The running transition of @address has ended with @outcome, which is copied. */
void claim_attempts_end(struct claim_attempts *attempts, const char *address,
			const struct binder_outcome *outcome);

/* The helper of a stuck transition has ended, for those whose binder_look() says that they are not
 * stuck any more. Appends their functions to @ret_members. */
void claim_attempts_unstick(struct claim_attempts *attempts, const struct binder *binder,
			    uint64_t now_ms, struct json_strs *ret_members);

/* What is known of the group of a function. Valid until the attempts change. */
struct claim_view {
	struct claim_attempt last;
	bool running;
	bool on_demand;   /* the transition is for a ResourceClaim (on_demand_binds.h)     */
	bool unsure;      /* only the next inventory can tell the drivers                  */
	uint64_t hold_ms; /* no other attempt before this time; UINT64_MAX: not by itself  */
	const char *lead; /* a function that the transition moved; NULL: there was none    */
};

/* The view of the claim @name, @claim (NULL: none). An attempt in the other direction, or for an
 * older generation of the claim, delays nothing. */
void claim_attempts_view(const struct claim_attempts *attempts, const char *address,
			 const char *name, const struct pcideviceclaim *claim, uint64_t now_ms,
			 struct claim_view *ret_view);

/* The failure (FAILED, STUCK) of the last transition of @address as an error for the queue, if it
 * was begun for @name and has not been reported yet; else 0. */
int claim_attempts_failure(const struct claim_attempts *attempts, const char *address,
			   const char *name, uint64_t now_ms, struct err *err);
/* It has been reported. */
void claim_attempts_report(struct claim_attempts *attempts, const char *address);

/* What hindered the group of @address is gone: the next attempt may begin. */
void claim_attempts_wake(struct claim_attempts *attempts, const char *address);

/* The node has a new inventory: forget attempts that are older, and allow another attempt for
 * groups that have changed. */
void claim_attempts_update(struct claim_attempts *attempts);

/* use_log_unproven_ms() of the function. */
uint64_t claim_attempts_unproven_ms(const struct claim_attempts *attempts, const char *address,
				    bool refused, uint64_t now_ms);

/* Does a transition of @address run, or has no scan begun since it ended or got stuck? */
bool claim_attempts_moving(const struct claim_attempts *attempts, const char *address);

/* The functions of the group that the last transition of @address concerned; NULL: there was
 * none. */
const struct json_strs *claim_attempts_members(const struct claim_attempts *attempts,
					       const char *address);
