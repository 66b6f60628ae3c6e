/* claim_event: tells people what became of a claim: in the log, and as an event. */
#pragma once

#include <stdbool.h>

struct claims_deps;
struct pcideviceclaim;

/* Borrowed. */
struct claim_event {
	const char *name;                   /* of the claim, and of its PCIDevice */
	const struct pcideviceclaim *claim; /* as it was; NULL: it is gone, and what there is to say
					     * is said of its device */
	const char *reason;
	const char *message;
	bool warning;
};

void claim_event_tell(const struct claims_deps *deps, const struct claim_event *event);
