/* mig_want: what a MigConfiguration asks for against what the card has. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct mig_look;
struct migconfiguration_spec;

/* One profile of the card. */
struct mig_need {
	int profile;
	const char *name; /* the look's */
	int memory_mib;
	int total;
	int wanted;
	int there;
};

struct mig_needs {
	struct mig_need *items; /* the largest profile first */
	size_t len;
	size_t cap;
	const char
		*unknown; /* a profile that was asked for and that the card does not have; NULL */
};

/* Sorted by memory, then by how few of them the card can have, then by number: what is made in this order
 * leaves room for what follows. */
void mig_needs_make(const struct migconfiguration_spec *spec, const struct mig_look *look,
		    struct mig_needs *ret_needs);
void mig_needs_done(struct mig_needs *needs);

/* The first profile of which an instance is missing; NULL: none is. */
const struct mig_need *mig_needs_missing(const struct mig_needs *needs);

/* The first of which there are more than was asked for; NULL: none. */
const struct mig_need *mig_needs_surplus(const struct mig_needs *needs);
