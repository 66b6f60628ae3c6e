/*
 * gpu_attempt: the last act for each object, its result and when it may be tried again; and what
 * nvidia-smi has said last of each card. Pure. A restart forgets it: then all is read and tried again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/gpu/gpu_outcome.h"
#include "agent/gpu/mig_look.h"

struct gpu_attempts;

struct gpu_attempts *gpu_attempts_new(void);
/* Takes NULL, returns NULL. */
struct gpu_attempts *gpu_attempts_free(struct gpu_attempts *attempts);

/* @act begins for the object @key, which is at @generation. */
void gpu_attempts_begin(struct gpu_attempts *attempts, const char *key, int64_t generation,
			const struct gpu_act *act);
void gpu_attempts_end(struct gpu_attempts *attempts, const char *key,
		      const struct gpu_outcome *outcome, uint64_t now_ms);

/* The last attempt for @key, whose object is at @generation now. @facts_ms: when the scan began that
 * says what is known of the cards. Texts are valid until the next change. */
void gpu_attempts_last(const struct gpu_attempts *attempts, const char *key, int64_t generation,
		       uint64_t facts_ms, uint64_t now_ms, struct gpu_past *ret_past);

/* The object is gone. */
void gpu_attempts_forget(struct gpu_attempts *attempts, const char *key);

/* What nvidia-smi said of @card. */
struct gpu_said {
	const struct mig_look *look; /* NULL: it is not known             */
	const char *reason;          /* why not; NULL: it was not asked   */
	const char *trouble;
};

/* nvidia-smi has answered: takes the members of @look; or it has not: @look is NULL, @outcome why. */
void gpu_attempts_keep_look(struct gpu_attempts *attempts, const char *card, struct mig_look *look,
			    const struct gpu_outcome *outcome, uint64_t now_ms);
/* Does a scan show what such an act does? What nvidia-smi does is seen by asking it again. */
bool gpu_attempts_is_scanned(enum gpu_verb verb);

/* A task that changes @card has ended at @now_ms; 0: a scan does not show what it does. What nvidia-smi
 * has said before does not count any more. */
void gpu_attempts_change_card(struct gpu_attempts *attempts, const char *card, uint64_t now_ms);
/* Has one ended since the scan began, at @facts_ms? */
bool gpu_attempts_is_outdated(const struct gpu_attempts *attempts, const char *card,
			      uint64_t facts_ms);
/* What is older than @max_age_ms is not known. */
void gpu_attempts_look(const struct gpu_attempts *attempts, const char *card, uint64_t now_ms,
		       uint64_t max_age_ms, struct gpu_said *ret_said);
