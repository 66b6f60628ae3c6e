/*
 * election: one of several replicas leads, by a Lease, as client-go does it.
 *
 * The clocks of others are never compared with ours: what counts is for how long, on our monotonic
 * clock, the record has not changed. This is not fencing: a leader that was stopped for a while
 * believes in itself until it looks. So each write of a leader is idempotent, carries a
 * precondition, and asks election_leads() first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clock;
struct kube_client;
struct metrics;

enum {
	ELECTION_LEASE_MS = 15 * 1000, /* others wait this long for a sign of life             */
	ELECTION_RENEW_MS = 10 * 1000, /* a leader that could not renew for so long gives up   */
	ELECTION_RETRY_MS =
		2 * 1000, /* between two tries; of those who do not lead, from half of it on */
};

/* Borrowed, but for the strings. */
struct election_spec {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;       /* may be NULL                                    */
	const char *ns;                /* of the Lease                                   */
	const char *name;              /* of the Lease                                   */
	const char *identity;          /* ours: unique among replicas and their restarts */
	void (*on_started)(void *arg); /* we lead */
	void (*on_stopped)(void *arg); /* we led, and do no more; not told by election_free() */
	void *arg;
};

struct election;

struct election *election_new(const struct election_spec *spec);
/* Safe at any time, also from a callback. Releases nothing: the Lease runs out. */
struct election *election_free(struct election *election); /* takes NULL, returns NULL */

void election_start(struct election *election);

/* Stop leading at once (on_stopped comes before this returns), then give the Lease back and call
 * @done (may be NULL) when that has ended, well or badly. */
void election_stop(struct election *election, void (*done)(void *arg), void *arg);

/* True while our last renewal is younger than ELECTION_RENEW_MS: ask before each write. Right also
 * after the process was stopped for a minute and no timer has run yet. */
bool election_leads(const struct election *election);

/* Who leads as far as we know, "" for nobody. Valid until the loop runs on. */
const char *election_leader(const struct election *election);
