/*
 * admission: what the webhook's answers are made of: the informers of all that the rules look at.
 *
 * Every replica has them, leader or not, so that each can answer. Reads only.
 */
#pragma once

struct admission;
struct admission_rules;
struct clock;
struct kube_client;
struct metrics;

/* Borrowed: all of it outlives the admission. */
struct admission_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics; /* may be NULL */
};

/* Starts to list at once. */
struct admission *admission_new(const struct admission_deps *deps);
/* Takes NULL, returns NULL. */
struct admission *admission_free(struct admission *admission);

/* For the webhook; valid as long as the admission. They are ready once all lists have been read. */
const struct admission_rules *admission_rules(const struct admission *admission);
