/*
 * admission_audit: tells in the audit trail who asked for what of a claim or of the settings of a card, and whether it
 * was admitted; and whose deletion of a device, and whose virtual machine or pod with a device, was refused.
 *
 * What the API server refuses before it asks the webhook (by RBAC or a policy), or dry runs, is not told.
 */
#pragma once

struct admission_answer;
struct admission_request;
struct events;
struct known;

/* Log a line, and record a refusal in @events, on the device of the claim if it is known; what is admitted is told when it is
 * seen (claim_events.h). @events may be NULL. */
void admission_audit(const struct known *known, struct events *events,
		     const struct admission_request *request,
		     const struct admission_answer *answer);

/* Log a line if the deletion of a device, or a virtual machine or pod that asks for one, is refused. */
void admission_audit_refusal(const struct known *known, const struct admission_request *request,
			     const struct admission_answer *answer);
