/*
 * election: leader election among replicas with a Lease, as in client-go.
 *
 * Other machines' clocks are never compared with ours. A Lease has expired if its record has not
 * changed for its duration on our monotonic clock. This is not fencing: a leader that was suspended
 * believes that it still leads until it checks. So each write of a leader is idempotent, carries a
 * precondition, and calls election_leads() first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clock;
struct election;
struct kube_client;
struct lease;
struct lease_spec;
struct metrics;

enum {
	ELECTION_LEASE_MS = 15 * 1000, /* others wait this long without a renewal */
	ELECTION_RENEW_MS =
		10 * 1000, /* a leader that could not renew for this long stops leading */
	ELECTION_RETRY_MS =
		2 * 1000, /* between two attempts; for non-leaders random, from half of it */
};

/* Borrowed, except for the strings, which are copied. */
struct election_spec {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;       /* may be NULL */
	const char *ns;                /* of the Lease */
	const char *name;              /* of the Lease */
	const char *identity;          /* unique among replicas and their restarts */
	void (*on_started)(void *arg); /* we lead now */
	void (*on_stopped)(void *arg); /* we no longer lead; not called by election_free() */
	void *arg;
};

struct election *election_new(const struct election_spec *spec);
/* Safe at any time, also from a callback. Does not release the Lease, which expires. */
struct election *election_free(struct election *election); /* takes NULL, returns NULL */

void election_start(struct election *election);

/* Stop leading at once (on_stopped is called before this returns), then release the Lease and
 * call @done (may be NULL) when that has succeeded or failed. */
void election_stop(struct election *election, void (*done)(void *arg), void *arg);

/* True while our last renewal is younger than ELECTION_RENEW_MS; check before each write.
 * Correct even after the process was suspended and no timer has run yet. */
bool election_leads(const struct election *election);

/* The current leader as far as known, "" if none. Valid until the next loop iteration. */
const char *election_leader(const struct election *election);

/*
 * --- the decision ---
 *
 * Decides what to do about the Lease from its content and our own clock. Pure.
 *
 * It compares only whether the record changed and when we saw the change. The times in the record
 * are from other machines' clocks and are never compared.
 */

enum elector_act {
	ELECTOR_WAIT = 1, /* another replica leads, or may lead */
	ELECTOR_CREATE,   /* there is no Lease: create it */
	ELECTOR_CLAIM,    /* it has no holder, or its holder is gone */
	ELECTOR_RENEW,    /* we hold it */
};

struct elector {
	const char *identity; /* borrowed */
	bool leading;
	uint64_t renewed_ms;  /* when the last successful renewal was sent */
	char *holder;         /* NULL: none */
	char *record;         /* the Lease's content as last seen, as one string */
	uint64_t changed_ms;  /* when we saw it change */
	uint64_t duration_ms; /* leaseDurationSeconds: it expires this long after the last change */
	int64_t transitions;
};

void elector_done(struct elector *e);

/* We read the Lease (NULL: there is none). If another replica holds it, we no longer lead. */
enum elector_act elector_observe(struct elector *e, const struct lease *lease, uint64_t now_ms);

/* Our claim or renewal, sent at @sent_ms, succeeded. */
void elector_won(struct elector *e, const struct lease *lease, uint64_t sent_ms, uint64_t now_ms);

/* True while our last renewal is recent enough to lead. */
bool elector_may_lead(const struct elector *e, uint64_t now_ms);

/* Fill in the spec to write for a claim or renewal; the caller releases it (json_map_done). */
void elector_write(const struct elector *e, enum elector_act act, int64_t wall_ms,
		   struct lease_spec *ret_spec);

/* The spec to write for a release: no holder, and a duration of one second. */
void elector_write_release(const struct elector *e, int64_t wall_ms, struct lease_spec *ret_spec);
