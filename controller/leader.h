/*
 * leader: the replica's part in the election, and what the leader does while it leads.
 *
 * Owns the election. The work of a leader (aggregation, cleanup) hangs on here as it comes to be.
 */
#pragma once

#include <stdbool.h>

struct kube_client;
struct leader;
struct metrics;
struct uv_loop_s;

struct leader_options {
	const char *ns;
	const char *identity;
};

/* Starts to compete at once. All is borrowed, the options' texts are copied. */
struct leader *leader_new(struct uv_loop_s *loop, struct kube_client *client,
			  const struct leader_options *options, struct metrics *metrics);
/* Takes NULL, returns NULL. */
struct leader *leader_free(struct leader *leader);

/* Give the Lease back, so that another replica leads within seconds; @done when that has ended. */
void leader_resign(struct leader *leader, void (*done)(void *arg), void *arg);

/* Ready: somebody leads, so the API server answers and the Lease may be read. */
bool leader_known(const struct leader *leader);
