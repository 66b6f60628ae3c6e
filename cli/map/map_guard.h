/*
 * map_guard: decides which requests are answered. Pure.
 *
 * The Host header must be ours: a page of another site whose name points to 127.0.0.1 (DNS
 * rebinding) sends the name of that site. The method must be GET, and the path must begin with the
 * token.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * --- the token ---
 *
 * The secret in the address of the page.
 *
 * Without it, a request gets nothing: other users of this machine and pages of other origins can
 * reach the port, but cannot guess 128 random bits.
 */

enum { MAP_TOKEN_LEN = 32, MAP_TOKEN_SIZE = MAP_TOKEN_LEN + 1 };

/* Make a token: hexadecimal, terminated. Fails only if the kernel has no randomness. */
int map_token_make(char ret_token[MAP_TOKEN_SIZE], struct err *err);

/* Are the @len bytes at @text the token? Takes the same time wherever they differ. */
bool map_token_is(const char token[MAP_TOKEN_SIZE], const char *text, size_t len);

/* --- requests --- */

struct map_guard {
	char token[MAP_TOKEN_SIZE];
	unsigned port;
};

struct map_request {
	const char *method;
	const char *host; /* the header; NULL: there is none */
	const char *path; /* without the query */
};

struct map_verdict {
	unsigned status;  /* of HTTP; 200: answer it */
	const char *page; /* with 200: the path after the token, "" for the page itself */
	const char *why;  /* otherwise: one line for people */
};

struct map_verdict map_guard_check(const struct map_guard *guard,
				   const struct map_request *request);
