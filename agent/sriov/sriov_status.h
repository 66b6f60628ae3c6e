/*
 * sriov_status: the status that an SRIOVNetworkDevice should have, as a patch of the one it has.
 *
 * Conditions: Accepted, Ready; those of others are kept. A status without a difference gives no
 * patch: this is where "an unchanged card is not written" is decided.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct sriov_case;
struct sriov_verdict;

/* What the status depends on beside the case. All borrowed. */
struct sriov_pending {
	const struct sriov_verdict *verdict;
	const char *reason;  /* why Ready is False; NULL: by the verdict and the card */
	const char *message; /* with a reason                       */
};

/* The event that goes with the patch. */
struct sriov_event {
	bool warning;
	const char *reason; /* NULL: none; static, or part of the case and of what is pending */
	char *message;      /* the caller's */
};

/* The patch; NULL, and no event, if the status is so already. The caller releases both. */
json_t *sriov_status_patch(const struct sriov_case *c, const struct sriov_pending *pending,
			   struct sriov_event *ret_event);
