#include "kube/elector.h"

#include <stdlib.h>
#include <string.h>

#include "api/lease.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "kube/election.h"

enum { DURATION_MAX_S = 60 * 60 };

void elector_done(struct elector *e)
{
	free(e->holder);
	free(e->record);
	e->holder = NULL;
	e->record = NULL;
}

static char *record_of(const struct lease_spec *spec)
{
	return xasprintf("%s\n%s\n%s\n%lld", str_or_empty(spec->holder_identity),
			 str_or_empty(spec->acquire_time), str_or_empty(spec->renew_time),
			 (long long)spec->lease_transitions);
}

static uint64_t duration_of(const struct lease_spec *spec)
{
	int64_t seconds = spec->lease_duration_seconds;

	if (seconds < 1)
		return ELECTION_LEASE_MS;
	return (uint64_t)(seconds < DURATION_MAX_S ? seconds : DURATION_MAX_S) * 1000;
}

static void record_lease(struct elector *e, const struct lease_spec *spec, uint64_t now_ms)
{
	char *record = record_of(spec);

	if (!e->record || strcmp(e->record, record) != 0)
		e->changed_ms = now_ms;
	free(e->record);
	e->record = record;
	free(e->holder);
	e->holder = xstrdup_or_null(spec->holder_identity);
	e->duration_ms = duration_of(spec);
	e->transitions = spec->lease_transitions;
}

static enum elector_act lease_missing(struct elector *e)
{
	elector_done(e);
	e->leading = false;
	e->transitions = 0;
	return ELECTOR_CREATE;
}

enum elector_act elector_observe(struct elector *e, const struct lease *lease, uint64_t now_ms)
{
	if (!lease)
		return lease_missing(e);
	record_lease(e, &lease->spec, now_ms);
	if (e->holder && strcmp(e->holder, e->identity) == 0)
		return ELECTOR_RENEW;
	e->leading = false;
	if (!e->holder || now_ms - e->changed_ms >= e->duration_ms)
		return ELECTOR_CLAIM;
	return ELECTOR_WAIT;
}

void elector_won(struct elector *e, const struct lease *lease, uint64_t sent_ms, uint64_t now_ms)
{
	record_lease(e, &lease->spec, now_ms);
	e->leading = true;
	e->renewed_ms = sent_ms;
}

bool elector_may_lead(const struct elector *e, uint64_t now_ms)
{
	return e->leading && now_ms - e->renewed_ms < ELECTION_RENEW_MS;
}

void elector_write(const struct elector *e, enum elector_act act, int64_t wall_ms,
		   struct lease_spec *ret_spec)
{
	char stamp[TIMEFMT_MAX];
	bool ours = act == ELECTOR_RENEW;

	timefmt_rfc3339_micro(wall_ms, stamp);
	*ret_spec = (struct lease_spec){
		.holder_identity = xstrdup(e->identity),
		.lease_duration_seconds = ELECTION_LEASE_MS / 1000,
		.acquire_time = ours ? NULL : xstrdup(stamp),
		.renew_time = xstrdup(stamp),
		.lease_transitions = e->transitions + (act == ELECTOR_CLAIM),
	};
}

void elector_write_release(const struct elector *e, int64_t wall_ms, struct lease_spec *ret_spec)
{
	char stamp[TIMEFMT_MAX];

	timefmt_rfc3339_micro(wall_ms, stamp);
	*ret_spec = (struct lease_spec){
		.lease_duration_seconds = 1,
		.renew_time = xstrdup(stamp),
		.lease_transitions = e->transitions,
	};
}
