/*
 * map_guard: which requests are answered, and with what. Pure.
 *
 * A request is for us by its Host: a page of another site whose name was made to point to 127.0.0.1
 * (DNS rebinding) sends that site's name. Then it must be a GET, and its path must begin with the token.
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
	unsigned status;  /* HTTP's; 200: answer it                                         */
	const char *page; /* with 200: the path behind the token, "" for the page itself    */
	const char *why;  /* without: one line for a person                                 */
};

struct map_verdict map_guard_judge(const struct map_guard *guard,
				   const struct map_request *request);

struct map_header {
	const char *name;
	const char *value;
};

/* What every answer carries, refusals too; ends in {0}. */
extern const struct map_header map_guard_headers[];
