/*
 * gpu_memory: what acts came to and what nvidia-smi said last, until something newer is known. Pure; a
 * restart forgets it, and then all is simply looked at and tried once more.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/gpu/gpu_outcome.h"
#include "agent/gpu/mig_look.h"

struct gpu_memory;

struct gpu_memory *gpu_memory_new(void);
/* Takes NULL, returns NULL. */
struct gpu_memory *gpu_memory_free(struct gpu_memory *memory);

/* On behalf of the object @key, at @generation, @act is begun. */
void gpu_memory_begin(struct gpu_memory *memory, const char *key, int64_t generation,
		      const struct gpu_act *act);
void gpu_memory_end(struct gpu_memory *memory, const char *key, const struct gpu_outcome *outcome,
		    uint64_t now_ms);

/* The past of @key, whose object is at @generation now. @facts_ms: when what is known of the cards was
 * looked at. Texts are valid until the memory changes. */
void gpu_memory_past(const struct gpu_memory *memory, const char *key, int64_t generation,
		     uint64_t facts_ms, uint64_t now_ms, struct gpu_past *ret_past);

/* The object is gone. */
void gpu_memory_forget(struct gpu_memory *memory, const char *key);

/* What nvidia-smi said of @card. */
struct gpu_said {
	const struct mig_look *look; /* NULL: it is not known             */
	const char *reason;          /* why not; NULL: it was not asked   */
	const char *trouble;
};

/* Takes the members of @look; NULL with @outcome: it could not be had. */
void gpu_memory_look(struct gpu_memory *memory, const char *card, struct mig_look *look,
		     const struct gpu_outcome *outcome, uint64_t now_ms);
/* The card was changed, or may have been. */
void gpu_memory_forget_look(struct gpu_memory *memory, const char *card);
/* What is older than @max_age_ms is not known. */
void gpu_memory_said(const struct gpu_memory *memory, const char *card, uint64_t now_ms,
		     uint64_t max_age_ms, struct gpu_said *ret_said);
