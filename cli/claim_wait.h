/*
 * claim_wait: waits until claims are Ready, or gone, and says on the way what they wait for.
 *
 * Reads each claim again and again rather than watch it: who may claim one device may get its claim, but
 * often not list or watch claims.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/ask/claims.h"

struct command_run;

enum claim_goal { CLAIM_READY, CLAIM_GONE };

struct claim_wait {
	struct claim_target target;
	char *uid;         /* of the claim; another one of the same name is not it. NULL: any */
	char *object;      /* JSON of it as it was seen last                                 */
	bool skip;         /* nothing to wait for                                            */
	bool done;         /* the goal is reached                                            */
	bool existed;      /* it was already claimed, by the caller                          */
	bool patched;      /* and a flag has changed it                                      */
	bool denied;       /* its deletion is refused for now (409): it is asked for again   */
	uint64_t again_ms; /* not before this (timefmt_now_ms())                         */
	char *told;        /* the line that was said last                                    */
};

void claim_wait_done(struct claim_wait *wait);

/* Take uid and object from what the API server answered. */
void claim_wait_take(struct claim_wait *wait, const struct session_answer *answer);

/* 0, or the status to end with, after it was said on standard error why. For as long as session_set_end()
 * says. Signals must be caught (session_catch_signals()). */
int claim_wait_all(struct command_run *run, struct claim_wait *waits, size_t len,
		   enum claim_goal goal);

/* Of two statuses the one to end with: an interrupt counts more than a refusal, that more than a wait that
 * took too long. Pure. */
int claim_worse(int status, int other);

enum claim_progress { PROGRESS_WAITING, PROGRESS_DONE, PROGRESS_LOST };

/* How the claim in @json (NULL: there is none of that name) stands to @goal; and, unless done, a line
 * about it for @line. @uid may be NULL. Pure. */
enum claim_progress claim_progress(enum claim_goal goal, enum device_type type, const char *json,
				   const char *uid, struct str *line);
