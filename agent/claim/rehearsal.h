/*
 * rehearsal: what the agent would do about claims, without a cluster and without doing it.
 *
 * Asks claim_plan for one step after the other, as the agent does, and carries the writes out on
 * claims that exist in memory only, until a step needs the helper.
 */
#pragma once

#include <stdbool.h>

#include "agent/claim/claim_plan.h"

struct err;
struct inventory;
struct json_strs;
struct rehearsal;

/* What is claimed, and how. All borrowed. */
struct rehearsal_wish {
	const char *node_name;
	const struct inventory *inventory;
	const struct json_strs *vfio_drivers;
	const struct json_strs *driverless; /* classes that a release leaves without driver */
	const char *driver;                 /* spec.driver; NULL: none            */
	bool include_group;                 /* spec.includeIOMMUGroup             */
	bool release;                       /* the claims are there, and deleted  */
};

struct rehearsal *rehearsal_new(const struct rehearsal_wish *wish);
/* Takes NULL, returns NULL. */
struct rehearsal *rehearsal_free(struct rehearsal *rehearsal);

/* One more claim, unless there is one of that name. @word is a claim's or device's name, or a PCI
 * address; ERR_INVALID if it is none. */
int rehearsal_add(struct rehearsal *rehearsal, const char *word, struct err *err);

/* How many claims there are. */
size_t rehearsal_len(const struct rehearsal *rehearsal);

/*
 * Go on with the claim that was added as number @at until a step needs the helper, or until it
 * rests. What the claim says then is *@ret_claim, valid until the next call. The step of
 * *@ret_decision is BIND or RELEASE, with the job; UNMARK if there is nothing to give back; else
 * REST. The caller releases it.
 */
void rehearsal_run(struct rehearsal *rehearsal, size_t at, const struct pcideviceclaim **ret_claim,
		   struct claim_decision *ret_decision);
