/*
 * certificate_plan: the next step with the webhook's certificates, from what is true of them. Pure,
 * and remembers nothing: that a step was done shows in the facts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct certificate_facts;

enum certificate_step {
	CERTIFICATE_KEEP,
	CERTIFICATE_START_OVER, /* a new CA and all that follows                           */
	CERTIFICATE_ADD_CA,     /* a new CA beside the one that the served one is from     */
	CERTIFICATE_RENEW,      /* a new serving certificate by the newest CA              */
	CERTIFICATE_DROP_CA,    /* only the newest CA is left                              */
};

/* For so long both CAs are trusted before the new one signs, and after that. */
enum { CERTIFICATE_OVERLAP_MS = 60 * 60 * 1000 };

/* For logs: "add-ca". */
const char *certificate_step_text(enum certificate_step step);

/*
 * The step to do at @now_ms. @trusted: the webhook configurations have all our CAs, so that the
 * newest one may sign. With KEEP, *@ret_next_ms is when to look again.
 */
enum certificate_step certificate_plan(const struct certificate_facts *facts, bool trusted,
				       int64_t now_ms, int64_t *ret_next_ms);
