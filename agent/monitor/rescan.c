#include "agent/monitor/rescan.h"

#include <assert.h>

#include "base/mem.h"

static const uint64_t quiet_ms[] = {
	[RESCAN_LATE] = RESCAN_LATE_MS,
	[RESCAN_LAZY] = RESCAN_LAZY_QUIET_MS,
	[RESCAN_DEVICE] = RESCAN_DEVICE_QUIET_MS,
	[RESCAN_NOW] = 0,
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Each hint restarts its quiet time, with two exceptions: a scan that is due already is not
 * delayed, and a lazy hint does not change a time that a device hint may have set. */
void rescan_hint(struct rescan *r, enum rescan_urgency urgency, uint64_t now_ms)
{
	uint64_t due = now_ms + quiet_ms[urgency];

	if (urgency == RESCAN_LATE) {
		r->late_ms = r->late ? r->late_ms : due;
		r->late = true;
		return;
	}
	if (!r->wanted) {
		r->wanted = true;
		r->first_ms = now_ms;
		r->due_ms = due;
		return;
	}
	if (r->due_ms <= now_ms)
		return;
	if (urgency == RESCAN_LAZY && r->due_ms <= now_ms + RESCAN_DEVICE_QUIET_MS)
		return;
	if (urgency == RESCAN_NOW)
		due = min_u64(due, r->due_ms);
	r->due_ms = min_u64(due, r->first_ms + RESCAN_LONGEST_MS);
}

static uint64_t retry_delay(unsigned failures)
{
	uint64_t delay = RESCAN_RETRY_MS;

	for (unsigned i = 1; i < failures && delay < RESCAN_RETRY_MAX_MS; i++)
		delay *= 2;
	return min_u64(delay, RESCAN_RETRY_MAX_MS);
}

static uint64_t interval(const struct rescan *r)
{
	if (r->deaf && (r->interval_ms == 0 || r->interval_ms > RESCAN_DEAF_MS))
		return RESCAN_DEAF_MS;
	return r->interval_ms;
}

uint64_t rescan_due(const struct rescan *r)
{
	uint64_t interval_ms = interval(r);
	uint64_t due = RESCAN_NEVER;

	if (r->running)
		return RESCAN_NEVER;
	if (r->wanted)
		due = r->due_ms;
	if (r->late)
		due = min_u64(due, r->late_ms);
	if (r->failures > 0)
		return r->last_ms + retry_delay(r->failures);
	if (interval_ms > 0)
		due = min_u64(due, r->last_ms + interval_ms);
	return due;
}

void rescan_begin(struct rescan *r)
{
	assert(!r->running);
	r->running = true;
	r->wanted = false;
	r->late = false;
}

void rescan_end(struct rescan *r, bool ok, uint64_t now_ms)
{
	assert(r->running);
	r->running = false;
	r->last_ms = now_ms;
	r->failures = ok ? 0 : r->failures + 1;
}
