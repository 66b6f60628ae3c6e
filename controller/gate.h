/*
 * gate: this replica's admission webhook with the rules and data that it needs.
 *
 * Owns the webhook and its rules. Without an address to listen on there is neither.
 */
#pragma once

#include <stdbool.h>

#include "base/options.h"

struct err;
struct gate;
struct leader;
struct program;
struct cache;

/* Long enough for each API server to send another request on the connections it keeps. */
enum { GATE_DRAIN_MS = 4000 };

struct gate_options {
	const char *listen; /* "ADDRESS:PORT", or "off" */
	const char *ns;
	const struct option_list *hosts; /* host names in addition to the Service's */
	const char *pod_name;            /* of this replica */
	bool refuse_pinned;              /* see admission_options */
	const char *client_ca; /* file with the CAs of allowed clients; NULL or "": any client */
};

/* True if there is an address to listen on. */
bool gate_opens(const struct gate_options *options);

/* Everything is borrowed; @cache is as for admission_new(). Errors name the setting. */
int gate_new(struct program *program, struct leader *leader, struct cache *cache,
	     const struct gate_options *options, struct gate **ret_gate, struct err *err);
/* Answer requests for another GATE_DRAIN_MS, closing each connection after its response, then
 * call @done once; if @gate is NULL, @done is called before this returns. */
void gate_drain(struct gate *gate, void (*done)(void *arg), void *arg);

/* Takes NULL, returns NULL. */
struct gate *gate_free(struct gate *gate);
