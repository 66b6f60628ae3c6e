/*
 * admission_audit: tells in the audit trail who asked for what of a claim or of the settings of a card, and whether it
 * was admitted; and whose deletion of a device, and whose virtual machine or pod with a device, was refused.
 *
 * What the API server refuses before it asks the webhook (by RBAC or a policy), or dry runs, is not told.
 */
#pragma once

struct admission_answer;
struct admission_request;
struct audit_quota;
struct events;
struct known;

/* Where it is told; of requests that may be made up, within bounds. All may be NULL. */
struct admission_trail {
	struct events *events;     /* NULL: nothing is recorded */
	struct audit_quota *quota; /* of the lines; NULL: each is written */
};

/* Log a line, and record a refusal in the events, on the device of the claim if it is known; what is admitted is told when it
 * is seen (claim_events.h). */
void admission_audit(const struct known *known, const struct admission_trail *trail,
		     const struct admission_request *request,
		     const struct admission_answer *answer);

/* Log a line if the deletion of a device, or a virtual machine or pod that asks for one, is refused. */
void admission_audit_refusal(const struct known *known, const struct admission_trail *trail,
			     const struct admission_request *request,
			     const struct admission_answer *answer);
