#include "agent/lend/settled.h"

enum { HEARTBEAT_GRAIN_MS = 999 }; /* metav1.Time has whole seconds, and cuts */

void settled_hear(struct settled *settled, int64_t heartbeat_ms)
{
	settled->heartbeat_ms = heartbeat_ms;
}

static uint64_t left_ms(int64_t until_ms, int64_t now_ms)
{
	return until_ms > now_ms ? (uint64_t)(until_ms - now_ms) : 0;
}

uint64_t settled_wait_ms(struct settled *settled, int64_t began_ms, int64_t now_ms)
{
	uint64_t young_ms = left_ms(began_ms + SETTLED_YOUNG_MS, now_ms);
	uint64_t touch_ms;

	if (began_ms > now_ms)
		return 0; /* the clock was set back: nothing can be said of that kubelet's age */
	if (began_ms != settled->began_ms) {
		settled->began_ms = began_ms;
		settled->touch_ms = 0;
	}
	if (!settled->heartbeat_ms)
		return young_ms;
	if (settled->heartbeat_ms + HEARTBEAT_GRAIN_MS < began_ms)
		return SETTLED_AGAIN_MS;
	if (!settled->touch_ms)
		settled->touch_ms = settled->heartbeat_ms;
	touch_ms = left_ms(settled->touch_ms + SETTLED_AFTER_MS, now_ms);
	return touch_ms > young_ms ? touch_ms : young_ms;
}
