/*
 * leader: this replica's leader election, and the callbacks of the parts that run only in the
 * leader.
 *
 * Owns the election.
 */
#pragma once

#include <stdbool.h>

struct kube_client;
struct leader;
struct metrics;
struct uv_loop_s;

enum { LEADER_CALLBACKS_MAX = 8 };

/* Callbacks of a part; either may be NULL. */
struct leader_callbacks {
	void (*started)(void *arg); /* we lead now */
	void (*stopped)(void *arg); /* we no longer lead */
	void *arg;
};

struct leader_options {
	const char *ns;
	const char *identity;
};

/* Takes part in the election at once. Everything is borrowed; the options' strings are copied. */
struct leader *leader_new(struct uv_loop_s *loop, struct kube_client *client,
			  const struct leader_options *options, struct metrics *metrics);
/* Takes NULL, returns NULL. */
struct leader *leader_free(struct leader *leader);

/* Copied. Must be called before the loop runs. */
void leader_add(struct leader *leader, const struct leader_callbacks *callbacks);

/* Check before each write. Correct even right after the process was suspended. */
bool leader_leads(const struct leader *leader);

/* Release the Lease, so that another replica leads within seconds; @done is called when that has
 * ended. */
void leader_resign(struct leader *leader, void (*done)(void *arg), void *arg);

/* For readiness: true once any replica leads, which shows that the API server answers and the
 * Lease is readable. */
bool leader_known(const struct leader *leader);
