/*
 * claim_wait: waits until claims are Ready, or gone, and prints what they wait for.
 *
 * Reads the claims repeatedly and does not watch them: a user who may claim one device can often
 * get its claim, but not list or watch claims.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/client/claims.h"

struct command_run;

enum claim_goal { CLAIM_READY, CLAIM_GONE };

struct claim_wait {
	struct claim_target target;
	char *uid;    /* of the claim; NULL: any. A new claim of the same name has another */
	char *object; /* its JSON, as last read */
	bool skip;    /* do not wait for it */
	bool done;    /* it has reached the goal */
	/* of the claim, from which a release takes the device; NULL: it stays on it */
	char *driver;
	bool existed; /* the caller had claimed it before */
	bool patched; /* and a flag was added to it */
	/* functions of its IOMMU group that are to be claimed as well; "" or NULL: not known */
	char *rest;
	bool alone; /* no other claim of this run can be of its IOMMU group */
	/* Since when it waits for the rest of its group (timefmt_now_ms()); 0: it does not */
	uint64_t shared_ms;
	bool kept;         /* released, but another's finalizer keeps the claim */
	bool denied;       /* its deletion is refused (409) and will be repeated */
	uint64_t again_ms; /* not before this (timefmt_now_ms())                         */
	char *told;        /* the line that was printed last */
};

void claim_wait_done(struct claim_wait *wait);

/* Take uid, object and driver from an answer of the API server. */
void claim_wait_take(struct claim_wait *wait, const struct session_answer *answer);

/* Delete the claim, but ask by a dry run first, because a refused deletion is an event on the
 * device. As claim_delete(). */
int claim_delete_if_allowed(struct command_run *run, const struct claim_wait *wait,
			    struct session_answer *ret_answer, struct err *err);

/* 0, or the exit status; then the cause has been printed on standard error. Waits until the time
 * of session_set_end(). Signals must be caught (session_catch_signals()). */
int claim_wait_all(struct command_run *run, struct claim_wait *waits, size_t len,
		   enum claim_goal goal);

/* Which of two exit statuses counts: an interrupt more than a refusal, and a refusal more than a
 * timeout. Pure. */
int claim_worse(int status, int other);

/* What is printed when --timeout ends the wait: "Timed out (--timeout): 1 device is not released:
 * vm1-000001000. It will be once the reason above is resolved." The caller frees. Pure. */
char *claim_wait_late(enum claim_goal goal, const struct claim_wait *waits, size_t len);

/* The pod in the webhook's refusal to delete a claim, "pod NAMESPACE/NAME has it: ...". False: it
 * names none. The caller frees both. Pure. */
bool claim_wait_pod(const char *refusal, char **ret_ns, char **ret_pod);

/* Refused: not before somebody changes the claim, or the configuration of the agents. */
enum claim_progress {
	PROGRESS_WAITING,
	PROGRESS_KEPT, /* likewise, for a finalizer that is not hostdev's; the device is released */
	PROGRESS_DONE,
	PROGRESS_LOST,
	PROGRESS_REFUSED,
	PROGRESS_SHARED, /* likewise, or before the rest of its IOMMU group is claimed */
};

/* Has the claim in @json (NULL: it does not exist) reached @goal? If not, @line gets a line that
 * says what it waits for. @uid may be NULL. Pure. */
enum claim_progress claim_progress(enum claim_goal goal, enum device_type type, const char *json,
				   const char *uid, struct str *line);
