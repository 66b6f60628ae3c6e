/*
 * rescan: decides when to scan again.
 *
 * Pure: hints and the time go in, the time of the next scan comes out. A burst of hints leads to
 * one scan shortly after its last one; a burst without end still gets a scan now and then; hints
 * that come while a scan runs lead to one more after it. A late hint only makes sure that there is
 * another scan.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum rescan_urgency {
	RESCAN_LATE,   /* no known change: RESCAN_LATE_MS after the first hint */
	RESCAN_LAZY,   /* mounts, routes, links: after RESCAN_LAZY_QUIET_MS without hints */
	RESCAN_DEVICE, /* a device changed: after RESCAN_DEVICE_QUIET_MS without hints */
	RESCAN_NOW,    /* messages were lost, or the first scan: at once             */
};

enum {
	RESCAN_DEVICE_QUIET_MS = 20,
	RESCAN_LAZY_QUIET_MS = 500,
	RESCAN_LATE_MS = 60000,
	RESCAN_LONGEST_MS = 5000, /* limit of the wait in a burst that does not end */
	RESCAN_RETRY_MS = 1000,   /* after a scan that failed, doubled up to ...       */
	RESCAN_RETRY_MAX_MS = 60000,
	RESCAN_DEAF_MS = 60000, /* interval while changes are not reported */
};

#define RESCAN_NEVER UINT64_MAX

/* Zero-initialise, then set @interval_ms. */
struct rescan {
	uint64_t interval_ms; /* a scan at least this often; 0: no limit */
	bool deaf;            /* changes are not reported: only the interval counts */

	bool running;
	bool late;         /* late hints came that no scan has answered ... */
	uint64_t late_ms;  /* latest time of the scan for them */
	bool wanted;       /* hints came that no scan has answered */
	uint64_t first_ms; /* when the first of them came          */
	uint64_t due_ms;   /* time of the scan for them            */
	uint64_t last_ms;  /* when the last scan ended             */
	unsigned failures; /* scans in a row that failed           */
};

/* Something may have changed. */
void rescan_hint(struct rescan *r, enum rescan_urgency urgency, uint64_t now_ms);

/* When to call rescan_begin(); RESCAN_NEVER while a scan runs or nothing is due. */
uint64_t rescan_due(const struct rescan *r);

/* A scan starts; hints up to now are answered by it. */
void rescan_begin(struct rescan *r);

/* The scan ended; after a failure the next one comes with back-off. */
void rescan_end(struct rescan *r, bool ok, uint64_t now_ms);
