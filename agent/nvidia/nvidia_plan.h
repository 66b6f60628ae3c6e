/*
 * nvidia_plan: which question hostdev-nvml is asked next, and which GPUs it watches. Pure.
 *
 * One question at a time, in this order: what new GPUs are, whether the driver releases those that
 * claims take, and takes back those that none takes any more, how unhealthy ones are, how all are
 * linked. A GPU that hung is asked alone, so that the others do not wait for it. One that a
 * PCIDeviceClaim takes is not watched, and asked for its UUID only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/nvidia/nvml_run.h"
#include "api/json_values.h"

struct nvidia_gpus;

/* Borrowed. */
struct nvidia_case {
	const struct nvidia_gpus *gpus;
	bool asks;                       /* a question is under way                    */
	uint64_t ask_ms;                 /* no question before                         */
	bool watches;                    /* a watch is                                 */
	const struct json_strs *watched; /* the GPUs of it                             */
	uint64_t watch_ms;               /* no watch that follows a failed one before  */
	bool no_watch;                   /* nobody wants to know                       */
	uint64_t now_ms;
};

/* What to do now. The addresses are the caller's to release. */
struct nvidia_step {
	bool ask;
	enum nvml_verb verb;
	struct json_strs asked;
	bool end_watch; /* the one there is */
	bool watch;     /* in place of the watch there is */
	struct json_strs watched;
	uint64_t again_ms; /* plan again then, at the latest; UINT64_MAX: when something happens */
};

void nvidia_plan(const struct nvidia_case *c, struct nvidia_step *ret_step);
void nvidia_step_done(struct nvidia_step *step);
