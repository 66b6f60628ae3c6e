/*
 * claim_trouble: what a claim waits for, in words that do not change while it waits.
 */
#pragma once

#include <stdbool.h>

struct claim_case;
struct claim_group;
struct claim_verdict;

/* What Ready waits for beside what the facts say themselves. All but @text is borrowed. */
struct claim_trouble {
	const char *reason;  /* NULL: nothing          */
	const char *message; /* with a reason          */
	const char *step;    /* NULL: none is to be named */
	const char *holder;
	bool unclear; /* whether the driver is bound cannot be told */
	char *text;   /* what @message may point to */
};

void claim_trouble_done(struct claim_trouble *trouble);

/* Of a live claim whose judgement is @verdict; @due: something is still to be bound. */
void claim_trouble_bind(const struct claim_case *c, const struct claim_group *group,
			const struct claim_verdict *verdict, bool due,
			struct claim_trouble *ret_trouble);

/* Of a deleted claim that has still something to give back. */
void claim_trouble_release(const struct claim_case *c, struct claim_trouble *ret_trouble);

/* Of a transition under way whose step takes long; @live: its claim is not being deleted. */
void claim_trouble_late(const struct claim_case *c, bool live, struct claim_trouble *ret_trouble);

/* Did the last transition, for the direction that is wanted now, come to anything but its end? */
bool claim_trouble_holds(const struct claim_case *c, bool live);

/* Does the claim wait for its PCIDevice to be published, native driver and all? */
bool claim_trouble_unpublished(const struct claim_case *c, const struct claim_group *group);
