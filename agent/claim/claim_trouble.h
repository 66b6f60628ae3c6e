/*
 * claim_trouble: what a claim waits for, in words that do not change while it waits.
 */
#pragma once

#include <stdbool.h>

struct claim_case;
struct claim_group;
struct claim_verdict;

/* What Ready waits for, beyond the facts. All but @text is borrowed. */
struct claim_trouble {
	const char *reason;  /* NULL: nothing          */
	const char *message; /* with a reason          */
	const char *step;    /* NULL: none is to be named */
	const char *holder;
	bool unclear; /* the driver is not known */
	char *text;   /* what @message may point to */
};

void claim_trouble_done(struct claim_trouble *trouble);

/* For a live claim whose judgement is @verdict; @due: a function is still to be bound. */
void claim_trouble_bind(const struct claim_case *c, const struct claim_group *group,
			const struct claim_verdict *verdict, bool due,
			struct claim_trouble *ret_trouble);

/* For a deleted claim that has functions to release. */
void claim_trouble_release(const struct claim_case *c, struct claim_trouble *ret_trouble);

/* For a transition under way whose step takes long; @live: its claim is not being deleted. */
void claim_trouble_late(const struct claim_case *c, bool live, struct claim_trouble *ret_trouble);

/* Did the last transition in the wanted direction have another result than DONE? */
bool claim_trouble_holds(const struct claim_case *c, bool live);

/* Does the claim wait for its PCIDevice to be published, native driver and all? */
bool claim_trouble_unpublished(const struct claim_case *c, const struct claim_group *group);
