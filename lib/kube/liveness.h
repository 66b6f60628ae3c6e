/*
 * liveness: detects a connection whose peer has disappeared. Pure.
 *
 * TCP keepalive detects a dead kernel. A peer whose kernel still answers while the program does not
 * (a stopped process, a load balancer without its server) needs a probe: a connection that has been
 * silent for a while gets a small request and is dead if there is no response. libcurl 7.88
 * supports HTTP/2 PING only for handles without a multi (curl_easy_upkeep does nothing for the
 * others), so curl cannot do this for us.
 */
#pragma once

#include <stdint.h>

enum {
	LIVENESS_SILENT_MS = 25 * 1000, /* silent for this long: send a probe */
	LIVENESS_ANSWER_MS = 15 * 1000, /* no response for this long: dead */
};

struct liveness {
	uint64_t received_ms; /* when data last arrived */
	uint64_t probed_ms;   /* when the probe was sent; 0: none in flight */
};

enum liveness_act { LIVENESS_FINE, LIVENESS_PROBE, LIVENESS_DEAD };

/* Data arrived, or a transfer starts to wait for data. */
void liveness_received(struct liveness *l, uint64_t now_ms);

/* What to do now, while a transfer waits. PROBE is returned once per silence. */
enum liveness_act liveness_check(struct liveness *l, uint64_t now_ms);
