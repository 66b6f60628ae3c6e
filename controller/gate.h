/*
 * gate: the admission webhook of this replica, with what its rules are to know.
 *
 * Owns the webhook and its rules. With no address to listen on there is neither.
 */
#pragma once

#include <stdbool.h>

#include "base/options.h"

struct err;
struct gate;
struct leader;
struct program;
struct views;

/* Long enough for API servers to ask once more on the connections that they keep. */
enum { GATE_DRAIN_MS = 4000 };

struct gate_options {
	const char *listen; /* "ADDRESS:PORT", or "off" */
	const char *ns;
	const struct option_list *hosts; /* what the webhook is called beside its Service's name */
	const char *pod_name;            /* of this replica */
	bool refuse_pinned;              /* as admission_options has it */
	const char *client_ca; /* file of the CAs of those who may ask; NULL or "": anybody may */
};

/* Is there an address to listen on? */
bool gate_opens(const struct gate_options *options);

/* All is borrowed; @views as admission_new() has them. Errors name the setting. */
int gate_new(struct program *program, struct leader *leader, struct views *views,
	     const struct gate_options *options, struct gate **ret_gate, struct err *err);
/* Answer for GATE_DRAIN_MS more, each time as the last answer of a connection, and then call @done, once; if @gate is
 * NULL, before this returns. */
void gate_drain(struct gate *gate, void (*done)(void *arg), void *arg);

/* Takes NULL, returns NULL. */
struct gate *gate_free(struct gate *gate);
