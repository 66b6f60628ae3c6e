/*
 * certificate_plan: the next step with the webhook's certificates, based on their facts. Pure and
 * stateless: completed steps show in the facts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct certificate_facts;

enum certificate_step {
	CERTIFICATE_KEEP,
	CERTIFICATE_START_OVER, /* create a new CA and everything else */
	CERTIFICATE_ADD_CA,     /* add a new CA to the one that signed the serving certificate */
	CERTIFICATE_RENEW,      /* create a new serving certificate signed by the newest CA */
	CERTIFICATE_DROP_CA,    /* keep only the newest CA */
};

/* Both CAs are trusted for this long before the new one signs, and afterwards. */
enum { CERTIFICATE_OVERLAP_MS = 60 * 60 * 1000 };

/* For logs: "add-ca". */
const char *certificate_step_text(enum certificate_step step);

/*
 * The step to do at @now_ms. @trusted: the webhook configurations have all our CAs, so the newest
 * one may sign. With KEEP, *@ret_next_ms is when to plan again.
 */
enum certificate_step certificate_plan(const struct certificate_facts *facts, bool trusted,
				       int64_t now_ms, int64_t *ret_next_ms);
