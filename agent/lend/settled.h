/*
 * settled: from when on a restarted kubelet lists all of its pods. Pure.
 *
 * Until it has read them from the API server it lists none, or only those of the node's own files,
 * although they run: such a list shows holders, but not that a device has none. The Node shows that the
 * kubelet has reached the API server: the heartbeat of the condition Ready is the kubelet's own (the node
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

/* The Node's heartbeat; 0: the Node has no such condition, because no kubelet has written it. */
void settled_hear(struct settled *settled, int64_t heartbeat_ms);

/* For how many ms a list of the kubelet that began at @began_ms is not all there is; 0: it is. Wall clock. */
uint64_t settled_wait_ms(struct settled *settled, int64_t began_ms, int64_t now_ms);
