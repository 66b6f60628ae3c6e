/*
 * elector: decides what to do about the Lease from its content and our own clock. Pure.
 *
 * It compares only whether the record changed and when we saw the change. The times in the record
 * are from other machines' clocks and are never compared.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lease;
struct lease_spec;

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
