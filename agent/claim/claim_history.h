/*
 * claim_history: the last attempt (agent/task/attempt.h) for each IOMMU group, found by each of its
 * functions, as far as it still matters; and when scans saw which function in use last.
 *
 * Pure. A transition matters while it runs, until a scan that began after its end has told what the
 * drivers are now, and, if it failed, until the next try is due. Starts nothing and decides nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/claim/claim_plan.h"

struct claim_history;
struct err;
struct this_node;
struct json_strs;

/* @node is borrowed. */
struct claim_history *claim_history_new(const struct this_node *node);
/* Takes NULL, returns NULL. */
struct claim_history *claim_history_free(struct claim_history *history);

/* What a transition is begun for; borrowed during the call. */
struct claim_begin {
	const struct binder_job *job;
	const struct json_strs *members;    /* addresses of the whole group       */
	const char *name;                   /* of the claim whose work it is      */
	const struct pcideviceclaim *claim; /* NULL: there is none any more       */
};

/* A transition begins. What earlier ones came to on its functions matters no more, but for how
 * often in a row it has failed. */
void claim_history_begin(struct claim_history *history, const struct claim_begin *begin,
			 uint64_t now_ms);

/* May the functions @members be moved, all of them? */
bool claim_history_idle(const struct claim_history *history, const struct binder *binder,
			const struct json_strs *members);

/* The running transition of @address came to @outcome, which is copied. */
void claim_history_end(struct claim_history *history, const char *address,
		       const struct binder_outcome *outcome);

/* The helper of a stuck transition has ended, for those whose binder_look() says that they are not
 * stuck any more. Appends their functions to @ret_members. */
void claim_history_unstick(struct claim_history *history, const struct binder *binder,
			   uint64_t now_ms, struct json_strs *ret_members);

/* What is known of the group of a function. Valid until the history changes. */
struct claim_view {
	struct claim_past past;
	bool running;
	bool unsure;      /* what the drivers are now, only the next inventory can say    */
	uint64_t hold_ms; /* no other try before this has gone by; UINT64_MAX: not by itself */
	const char *lead; /* a function that the transition moved; NULL: there was none   */
};

/* @name and @claim (NULL: none) are those that it is looked at for: a past try for the other direction,
 * or for an older generation of the claim, holds nothing back. */
void claim_history_look(const struct claim_history *history, const char *address, const char *name,
			const struct pcideviceclaim *claim, uint64_t now_ms,
			struct claim_view *ret_view);

/* The failure (FAILED, STUCK) of the last transition of @address as an error for the queue, if it was begun
 * for @name and has not been reported yet; else 0. */
int claim_history_failure(const struct claim_history *history, const char *address,
			  const char *name, uint64_t now_ms, struct err *err);
/* It has been reported. */
void claim_history_report(struct claim_history *history, const char *address);

/* What stood in the way of the group of @address is gone: the next try may begin. */
void claim_history_wake(struct claim_history *history, const char *address);

/* The node has a new inventory: forget what it supersedes, wake what it shows to have changed. */
void claim_history_update(struct claim_history *history);

/* use_log_unproven_ms() of the function. */
uint64_t claim_history_unproven_ms(const struct claim_history *history, const char *address,
				   bool refused, uint64_t now_ms);

/* Does a transition of @address run, or has no scan begun since it ended or got stuck? */
bool claim_history_moving(const struct claim_history *history, const char *address);

/* The functions of the group that the last transition of @address concerned; NULL: there was none. */
const struct json_strs *claim_history_members(const struct claim_history *history,
					      const char *address);
