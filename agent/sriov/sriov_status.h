/*
 * sriov_status: the status that an SRIOVNetworkDevice should have, and the text that makes it so.
 *
 * Conditions: Accepted, Ready; those of others are kept. A status that says all of it already gives
 * no text: this is where "an unchanged card writes nothing" is decided.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct sriov_case;
struct sriov_verdict;

/* What is to be said beside the facts. All borrowed. */
struct sriov_news {
	const struct sriov_verdict *verdict;
	const char *reason;  /* what Ready waits for; NULL: nothing */
	const char *message; /* with a reason                       */
};

/* What writing it would tell people. */
struct sriov_change {
	bool warning;
	const char *reason; /* NULL: nothing; static, or part of the case and its news */
	char *message;      /* the caller's */
};

/* The patch; NULL, and no change, if the status is so already. The caller releases both. */
json_t *sriov_status_patch(const struct sriov_case *c, const struct sriov_news *news,
			   struct sriov_change *ret_change);
