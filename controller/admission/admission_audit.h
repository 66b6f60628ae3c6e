/*
 * admission_audit: logs requests for claims and card settings in the audit trail, with user and
 * result; also refused deletions of devices, and refused virtual machines and pods that request a
 * device.
 *
 * Requests that the API server refuses before calling the webhook (RBAC, policies) and dry runs are
 * not logged.
 */
#pragma once

struct admission_answer;
struct admission_request;
struct audit_quota;
struct events;
struct known;

/* Where requests are recorded; those that may be forged, within limits. All may be NULL. */
struct admission_trail {
	struct events *events;     /* NULL: no events */
	struct audit_quota *quota; /* limits the log lines; NULL: no limit */
};

/* Log a line, and record a refusal in the events on the claim's device if that is known. Admitted
 * requests get an event when the change is seen (claim_events.h). */
void admission_audit(const struct known *known, const struct admission_trail *trail,
		     const struct admission_request *request,
		     const struct admission_answer *answer);

/* Log a line if the deletion of a device, or a virtual machine or pod that requests one, is
 * refused. */
void admission_audit_refusal(const struct known *known, const struct admission_trail *trail,
			     const struct admission_request *request,
			     const struct admission_answer *answer);
