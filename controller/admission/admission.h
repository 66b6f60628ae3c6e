/*
 * admission: what the webhook's answers are made of: the rules, and the views that they look at.
 *
 * Every replica has them, leader or not, so that each can answer. Reads only; owns the count of resources.
 */
#pragma once

#include <stdbool.h>

struct admission;
struct admission_rules;
struct clock;
struct events;
struct views;

/* All is borrowed, and outlives it. */
struct admission_options {
	struct views *views; /* which watch virtual machines too                              */
	struct clock *clock;
	struct events *
		events; /* of what is seen, and of what API servers ask; NULL: nothing is recorded */
	struct events *doubts; /* of refusals that may be made up; NULL: nothing is recorded    */
	bool (*leads)(void *arg); /* one replica tells what all see; NULL: this one does */
	void *arg;
	bool refuse_pinned; /* pods that name a node which does not offer what they ask for  */
};

/* Before the loop runs, so that no change is missed. */
struct admission *admission_new(const struct admission_options *options);
/* Takes NULL, returns NULL. */
struct admission *admission_free(struct admission *admission);

/* For the webhook; valid as long as the admission. They are ready once all lists have been read. */
const struct admission_rules *admission_rules(const struct admission *admission);
