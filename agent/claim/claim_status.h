/*
 * claim_status: the status that a claim should have, and the patch that writes it; and the patches
 * that add what a claim needs before its device is moved, and that remove the finalizer after the
 * release.
 *
 * Conditions: Accepted, GroupViable, DriverBound, Offered, Ready; those of others are kept. A
 * status that is up to date gives no patch: an unchanged claim writes nothing.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct claim_case;
struct claim_group;
struct claim_verdict;
struct pcideviceclaim;
struct pcideviceclaim_status;

/* What the status says beside the facts. All borrowed. */
struct claim_news {
	const struct claim_verdict *verdict; /* NULL: Accepted stays as it is           */
	const char *reason;                  /* what Ready waits for; NULL: nothing     */
	const char *message;                 /* with a reason                           */
	bool unclear;                        /* the driver is not known: it counts as not bound */
	const char *step;   /* NULL: nothing is being done                              */
	const char *holder; /* NULL: the device has no holder                           */
};

/* The event of a status that is written. */
struct claim_change {
	bool warning;
	const char *reason; /* NULL: nothing; static, or part of the case and its news */
	char *message;      /* the caller's */
	char *bound; /* the device is bound now, which the event does not say; NULL; the caller's */
};

/* Is the device bound, but neither the claim nor its PCIDevice says so yet? Then write the
 * PCIDevice first, so that a client that waited for the claim finds the driver there. */
bool claim_status_awaits_device(const struct claim_case *c, const struct claim_group *group);

/* The patch; NULL, and no change, if the status is up to date. The caller releases both. */
json_t *claim_status_patch(const struct claim_case *c, const struct claim_group *group,
			   const struct claim_news *news, struct claim_change *ret_change);

/* Cut what is too long, drop what has a wrong form. Conditions are within their limits already
 * (api/condition.h). */
void claim_limits_apply(struct pcideviceclaim_status *status);

/* Is our finalizer on it? */
bool claim_is_marked(const struct pcideviceclaim *claim);

/* The patch that puts finalizer, address, node name and owner on the claim; NULL if all are
 * there. */
json_t *claim_mark(const struct claim_case *c, const struct claim_group *group);

/* The patch that takes our finalizer off. */
json_t *claim_unmark(const struct pcideviceclaim *claim);
