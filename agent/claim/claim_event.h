/* claim_event: tells people what became of a claim, or of a function that moved for one: a line of the audit trail, and an
 * event on the claim and on its device. */
#pragma once

#include <stdbool.h>

struct claims_deps;
struct pcideviceclaim;

/* Borrowed. */
struct claim_event {
	const char *name;                   /* of the claim, and of its PCIDevice                 */
	const struct pcideviceclaim *claim; /* as it was; NULL: it is gone, or there is none      */
	const char *user;                   /* for whom it was done; NULL: whose the claim is     */
	bool release;                       /* of a device that goes back; else of one that comes */
	const char *result;                 /* "Done", "Refused", or as binder_result_text() */
	const char *reason;
	const char *message;
	bool warning;
};

void claim_event_tell(const struct claims_deps *deps, const struct claim_event *event);
