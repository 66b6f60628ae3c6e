/*
 * liveness: notices a connection whose other end has gone without a word. Pure.
 *
 * TCP's own keepalive finds a peer whose kernel is gone. A peer whose kernel still answers while
 * the program behind it does not (a stopped process, a load balancer without its server) is found
 * by asking: what has been silent for a while gets a small request, and is dead when that stays
 * unanswered. libcurl 7.88 has HTTP/2 PING only for handles without a multi (curl_easy_upkeep does
 * nothing for the others), so it cannot do this for us.
 */
#pragma once

#include <stdint.h>

enum {
	LIVENESS_SILENT_MS = 25 * 1000, /* nothing heard for so long: ask */
	LIVENESS_ANSWER_MS = 15 * 1000, /* no answer for so long: dead    */
};

struct liveness {
	uint64_t heard_ms; /* when bytes came last           */
	uint64_t asked_ms; /* when the question went out, 0 for none */
};

enum liveness_act { LIVENESS_FINE, LIVENESS_ASK, LIVENESS_DEAD };

/* Bytes came, or somebody begins to wait for some. */
void liveness_heard(struct liveness *l, uint64_t now_ms);

/* What to do now, while somebody waits. ASK comes once per silence. */
enum liveness_act liveness_check(struct liveness *l, uint64_t now_ms);
