/*
 * admission_audit: logs requests for claims and card settings in the audit trail, with user and
 * result; also refused deletions of devices, and refused virtual machines and pods that request a
 * device.
 *
 * Requests that the API server refuses before calling the webhook (RBAC, policies) and dry runs are
 * not logged.
 */
#pragma once

#include "controller/cache/view.h"

struct admission_answer;
struct admission_request;
struct audit_quota;
struct entry;
struct events;
struct known;
struct store;

/* Where requests are recorded; those that may be forged, within limits. All may be NULL. */
struct admission_trail {
	struct events *events;     /* NULL: no events */
	struct audit_quota *quota; /* limits the log lines; NULL: no limit */
};

/* Log a line, and record a refusal in the events on the claim's device if that is known. Admitted
 * requests get an event when the change is seen (claim_events_on_change()). */
void admission_audit(const struct known *known, const struct admission_trail *trail,
		     const struct admission_request *request,
		     const struct admission_answer *answer);

/* Log a line if the deletion of a device, or a virtual machine or pod that requests one, is
 * refused. */
void admission_audit_refusal(const struct known *known, const struct admission_trail *trail,
			     const struct admission_request *request,
			     const struct admission_answer *answer);

/* Record an event on a device whose claim was created, changed or deleted, as seen in the cache. A
 * review proves nothing: anybody may send one, and another webhook may still refuse it. A change in
 * the store of @kind, as in cache.h. Ignored for kinds that are not claims and for devices that are
 * not in @stores (indexed by enum view_kind). */
void claim_events_on_change(struct events *events, const struct store *const *stores,
			    enum view_kind kind, const char *name, const struct entry *before,
			    const struct entry *after);
