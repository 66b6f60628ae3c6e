/*
 * claim_run: one look at one claim: asks claim_plan for a step, does it, asks again, until there is
 * none left or something has to happen first.
 *
 * Owns its call or transition under way and the newest view of the claim. Decides nothing.
 */
#pragma once

#include <stdint.h>

#include "kube/workq_run.h"

struct binder;
struct echoes;
struct claim_history;
struct claim_run;
struct claims_deps;
struct inventory;
struct metric;
struct pcideviceclaim;

/* What a run leaves behind when nothing is to be done now. */
struct claim_rest {
	const struct pcideviceclaim *claim; /* as it is now; NULL: there is none                */
	uint64_t again_ms;                  /* look again after this; UINT64_MAX: not by itself */
	int watch_pid;                      /* look again when this process ends; 0: none       */
};

/* What all runs share. Borrowed. */
struct claim_context {
	const struct claims_deps *deps;
	const struct inventory *inventory;
	struct binder *binder;
	struct claim_history *history;
	struct echoes *echoes;
	struct metric *seconds; /* {verb}, may be NULL */

	/* A transition that moves @address ended or got stuck; @name is the claim that began it. */
	void (*on_moved)(void *arg, const char *address, const char *name);
	/* Right before the end of a run that came to rest. */
	void (*on_rest)(void *arg, const char *name, const struct claim_rest *rest);
	/* The run is gone when this returns. */
	void (*on_gone)(void *arg, const struct claim_run *run);
	void *arg;
};

/* At rest. @name is borrowed until @end has run. */
struct claim_run *claim_run_new(const struct claim_context *context, const char *name,
				work_end_fn *end, void *end_arg);

/* @end runs exactly once, maybe before this returns; then the run is gone. */
void claim_run_start(struct claim_run *run);

/* The step of the transition that moves @address takes long: if it is this run's, that is told on the claim. */
void claim_run_late(struct claim_run *run, const char *address);

/* Give up: calls are cancelled, a transition under way must have been abandoned (binder_free). @end
 * runs, on_gone does not. Takes NULL, returns NULL. */
struct claim_run *claim_run_free(struct claim_run *run);
