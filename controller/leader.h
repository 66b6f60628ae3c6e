/*
 * leader: the replica's part in the election, and what the leader does while it leads.
 *
 * Owns the election; the work of the leader hangs on here.
 */
#pragma once

#include <stdbool.h>

struct kube_client;
struct leader;
struct metrics;
struct uv_loop_s;

enum { LEADER_WORK_MAX = 8 };

/* What a leader does beside. Either function may be NULL. */
struct leader_work {
	void (*started)(void *arg); /* we lead           */
	void (*stopped)(void *arg); /* we do so no more  */
	void *arg;
};

struct leader_options {
	const char *ns;
	const char *identity;
};

/* Starts to compete at once. All is borrowed, the options' texts are copied. */
struct leader *leader_new(struct uv_loop_s *loop, struct kube_client *client,
			  const struct leader_options *options, struct metrics *metrics);
/* Takes NULL, returns NULL. */
struct leader *leader_free(struct leader *leader);

/* Copied. Before the loop runs, so that nothing is missed. */
void leader_add_work(struct leader *leader, const struct leader_work *work);

/* Ask before each write: also right after the process was stopped for a while. */
bool leader_leads(const struct leader *leader);

/* Give the Lease back, so that another replica leads within seconds; @done when that has ended. */
void leader_resign(struct leader *leader, void (*done)(void *arg), void *arg);

/* Ready: somebody leads, so the API server answers and the Lease may be read. */
bool leader_known(const struct leader *leader);
