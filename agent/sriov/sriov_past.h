/*
 * sriov_past: what the runs of the helper on one card came to, as far as that still matters: a
 * failure until the next try is due or the spec is another, what was looked at until the next scan,
 * a changed number until a scan has seen it. Pure; times are the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/sriov/sriov_outcome.h"

/* Zero is: nothing has been run. */
struct sriov_past {
	struct sriov_outcome failure; /* of the last run; its reason NULL: it was done   */
	unsigned failures;            /* in a row                                        */
	uint64_t due_ms;              /* when the next try may begin                     */
	int64_t generation;           /* of the object that the last was begun for       */
	uint64_t began_ms;            /* when it was begun                               */
	bool counted;                 /* it was to change how many there are             */
	uint64_t moved_ms;            /* when a change of their number ended; 0: never   */
	uint64_t verified_ms;         /* when the last that was done began; 0: never     */
};

void sriov_past_done(struct sriov_past *past);

/* A run begins. */
void sriov_past_begin(struct sriov_past *past, int64_t generation, bool counted, uint64_t now_ms);

/* It came to @outcome, whose texts are taken over. True if the number of virtual functions may have
 * changed. */
bool sriov_past_end(struct sriov_past *past, struct sriov_outcome *outcome, uint64_t now_ms);

/* One that was stuck has ended, and nobody knows how. */
void sriov_past_lose(struct sriov_past *past, uint64_t now_ms);

/* There is no object any more: of another of its name, nothing holds. */
void sriov_past_forget(struct sriov_past *past);

/* Can only a scan that began after this one (@began_ms) tell how many there are? */
bool sriov_past_is_unsure(const struct sriov_past *past, uint64_t began_ms);

/* The failure of the last run if it was begun for @generation, else NULL; *@ret_hold_ms: no other
 * try before this has gone by. */
const struct sriov_outcome *sriov_past_failure(const struct sriov_past *past, int64_t generation,
					       uint64_t now_ms, uint64_t *ret_hold_ms);

/* Has a run for @generation that began after the scan of @began_ms found, or put, all settings
 * right? */
bool sriov_past_is_verified(const struct sriov_past *past, int64_t generation, uint64_t began_ms);
