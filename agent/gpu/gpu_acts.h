/*
 * gpu_acts: does what changes a card, and asks how it is divided: by hostdev-helper, and by the vendor's own
 * commands, each as a child with a deadline.
 *
 * Owns the children. One for each card at a time. A child that misses its deadline is left to end by
 * itself; until then its card is stuck, and no other is started for it. Decides nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/gpu/gpu_outcome.h"
#include "agent/gpu/mig_look.h"
#include "agent/process/helper_place.h"

struct gpu_acts;
struct uv_loop_s;

/* Borrowed texts that outlive it. */
struct gpu_options {
	struct helper_place helper;
	const char *sriov_manage; /* NULL or "": the kernel's sriov_numvfs is written instead */
	const char *nvidia_smi;
	uint64_t deadline_ms; /* of one child; later it is stuck */
};

/* The stuck child of @card has ended. */
typedef void gpu_free_fn(void *arg, const char *card);

struct gpu_acts *gpu_acts_new(struct uv_loop_s *loop, const struct gpu_options *options,
			      gpu_free_fn *on_free, void *arg);
/* Takes NULL, returns NULL. Children are abandoned, no callback runs. The loop must run once more. */
struct gpu_acts *gpu_acts_free(struct gpu_acts *acts);

/* Does a child run for @card, stuck or not? */
bool gpu_acts_busy(const struct gpu_acts *acts, const char *card);

/* What the stuck child of @card does, in words; NULL: none is stuck. Valid until the loop goes on. */
const char *gpu_acts_stuck(const struct gpu_acts *acts, const char *card);

/* @outcome is valid during the call. */
typedef void gpu_act_end_fn(void *arg, const struct gpu_outcome *outcome);

/* The card must not be busy. @end runs exactly once, never before this returns. */
void gpu_acts_start(struct gpu_acts *acts, const struct gpu_act *act, gpu_act_end_fn *end,
		    void *arg);

/* @look is the receiver's to take (its members; it is emptied then); NULL with @outcome: the look failed. */
typedef void gpu_look_end_fn(void *arg, struct mig_look *look, const struct gpu_outcome *outcome);

/* Ask nvidia-smi how @card is divided. As gpu_acts_start(). */
void gpu_acts_look(struct gpu_acts *acts, const char *card, gpu_look_end_fn *end, void *arg);
