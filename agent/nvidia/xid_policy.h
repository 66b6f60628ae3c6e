/*
 * xid_policy: which Xids make a GPU unhealthy: those that NVIDIA's device plugin does not ignore,
 * and what its variables DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS change about that.
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Xids of one variable. */
struct xid_list {
	bool all; /* "all" or "xids" was among them */
	uint64_t *items;
	size_t len, cap;
};

/* Zero: NVIDIA's own list. */
struct xid_policy {
	struct xid_list ignored;
	struct xid_list fatal; /* goes before the other and before NVIDIA's list */
};

/*
 * @ignored and @fatal: "79, 95", or "all" or "xids" somewhere in the list; blanks and case do not
 * matter, and what is no number is skipped. NULL: none. "all" and a list of fatal ones leave only
 * the latter, as NVIDIA documents it; its plugin then checks nothing.
 */
void xid_policy_init(struct xid_policy *policy, const char *ignored, const char *fatal);
/* Release. */
void xid_policy_done(struct xid_policy *policy);

bool xid_policy_is_fatal(const struct xid_policy *policy, uint64_t xid);

/* No Xid is fatal, so that nobody has to watch. */
bool xid_policy_is_off(const struct xid_policy *policy);
