/*
 * elector: decides from what the Lease says, and from our own clock, what to do about it. Pure.
 *
 * Only whether the record changes counts, and when we saw it change; the times written in it are
 * from other clocks and are never compared.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lease;
struct lease_spec;

enum elector_act {
	ELECTOR_WAIT = 1, /* another leads, or may                 */
	ELECTOR_CREATE,   /* there is no Lease: make one           */
	ELECTOR_CLAIM,    /* it is nobody's, or its holder is gone */
	ELECTOR_RENEW,    /* it is ours                            */
};

struct elector {
	const char *identity; /* borrowed */
	bool leading;
	uint64_t renewed_ms;  /* when the last request that renewed it was sent */
	char *holder;         /* NULL: nobody                                   */
	char *record;         /* what the Lease last said, in one text          */
	uint64_t changed_ms;  /* when we saw it say something new               */
	uint64_t patience_ms; /* its duration: for how long its silence means nothing */
	int64_t transitions;
};

void elector_done(struct elector *e);

/* We read the Lease (NULL: there is none). If it is another's, we do not lead from then on. */
enum elector_act elector_see(struct elector *e, const struct lease *lease, uint64_t now_ms);

/* Our claim or renewal, sent at @sent_ms, was taken. */
void elector_won(struct elector *e, const struct lease *lease, uint64_t sent_ms, uint64_t now_ms);

/* Time went by without a renewal: true while we may still call ourselves the leader. */
bool elector_may_lead(const struct elector *e, uint64_t now_ms);

/* Fill in what a claim or renewal writes; texts are the caller's (json_map_done). */
void elector_write(const struct elector *e, enum elector_act act, int64_t wall_ms,
		   struct lease_spec *ret_spec);

/* What a release writes: nobody's, and to be waited for no longer than a second. */
void elector_write_release(const struct elector *e, int64_t wall_ms, struct lease_spec *ret_spec);
