/*
 * rescan: decides when to scan again.
 *
 * A pure engine: hints and the time go in, the time of the next scan comes out. A burst of hints
 * leads to one scan shortly after its last one; a burst without end still gets a scan now and then;
 * hints that come while a scan runs lead to one more after it. Late hints only see to it that some
 * scan comes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum rescan_urgency {
	RESCAN_LATE,   /* nothing that is known of: RESCAN_LATE_MS after the first hint */
	RESCAN_LAZY,   /* mounts, routes, links: after RESCAN_LAZY_QUIET_MS of calm  */
	RESCAN_DEVICE, /* a device changed: after RESCAN_DEVICE_QUIET_MS of calm     */
	RESCAN_NOW,    /* messages were lost, or the first scan: at once             */
};

enum {
	RESCAN_DEVICE_QUIET_MS = 20,
	RESCAN_LAZY_QUIET_MS = 500,
	RESCAN_LATE_MS = 60000,
	RESCAN_LONGEST_MS = 5000, /* a burst that never ends waits no longer than this */
	RESCAN_RETRY_MS = 1000,   /* after a scan that failed, doubled up to ...       */
	RESCAN_RETRY_MAX_MS = 60000,
	RESCAN_DEAF_MS = 60000, /* the net while nothing tells of changes */
};

#define RESCAN_NEVER UINT64_MAX

/* Zero-initialise, then set @interval_ms. */
struct rescan {
	uint64_t interval_ms; /* the net: a scan at least this often; 0 none */
	bool deaf;            /* nothing tells of changes: the net is all there is */

	bool running;
	bool late;         /* late hints came that no scan has answered ... */
	uint64_t late_ms;  /* and by then one has to */
	bool wanted;       /* hints came that no scan has answered */
	uint64_t first_ms; /* when the first of them came          */
	uint64_t due_ms;   /* when they have waited long enough    */
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
