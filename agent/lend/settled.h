/*
 * settled: from when on a kubelet that has begun anew lists all of its pods. Pure.
 *
 * Until it has heard of them from the API server it lists none, or only those of the node's own files,
 * although they run: a list says then who has a device, and not that nobody has. That it has reached the
 * API server is seen from its Node: the heartbeat of the condition Ready is the kubelet's own (the node
 * controller, which makes the condition Unknown, leaves the heartbeat), and the first one is posted as it
 * begins. The list of its pods comes by another request, which it may try again only after half a minute
 * (client-go's reflector).
 */
#pragma once

#include <stdint.h>

enum {
	SETTLED_YOUNG_MS = 10000, /* without a heartbeat: a kubelet knows its pods by then    */
	SETTLED_AFTER_MS = 30000, /* after the first heartbeat                                */
	SETTLED_AGAIN_MS = 5000,  /* without one since it began: nothing says when it comes   */
};

/* All zero at first. */
struct settled {
	int64_t heartbeat_ms; /* wall clock, the last one that was heard of; 0: none ever */
	int64_t began_ms;     /* wall clock, of the kubelet                               */
	int64_t touch_ms;     /* its first heartbeat since; 0: not heard of               */
};

/* The Node says so; 0: it has no such condition, as one that is nobody's. */
void settled_hear(struct settled *settled, int64_t heartbeat_ms);

/* For how many ms a list of the kubelet that began at @began_ms is not all there is; 0: it is. Wall clock. */
uint64_t settled_wait_ms(struct settled *settled, int64_t began_ms, int64_t now_ms);
