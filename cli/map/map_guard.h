/*
 * map_guard: decides which requests are answered. Pure.
 *
 * The Host header must be ours: a page of another site whose name points to 127.0.0.1 (DNS
 * rebinding) sends the name of that site. The method must be GET, and the path must begin with the
 * token.
 */
#pragma once

#include "cli/map/map_token.h"

struct map_guard {
	char token[MAP_TOKEN_SIZE];
	unsigned port;
};

struct map_request {
	const char *method;
	const char *host; /* the header; NULL: there is none */
	const char *path; /* without the query               */
};

struct map_verdict {
	unsigned status;  /* of HTTP; 200: answer it */
	const char *page; /* with 200: the path after the token, "" for the page itself */
	const char *why;  /* otherwise: one line for people */
};

struct map_verdict map_guard_judge(const struct map_guard *guard,
				   const struct map_request *request);
