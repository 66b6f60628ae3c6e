/*
 * nvidia_plan: decides the next question to hostdev-nvml, and which GPUs it watches. Pure.
 *
 * One question at a time, in this order: read new GPUs; release GPUs that claims take; attach GPUs
 * whose claim is gone; probe unhealthy GPUs; read the topology. A GPU that hung gets questions of
 * its own, so that the others do not wait for it. A GPU that a PCIDeviceClaim takes is not watched,
 * and only its UUID is read.
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
	bool asks;                       /* a question is in progress                     */
	uint64_t ask_ms;                 /* no question before this time                  */
	bool watches;                    /* a watch is running                            */
	const struct json_strs *watched; /* its GPUs                                      */
	uint64_t watch_ms;               /* after a failed watch, no other before this time */
	bool no_watch;                   /* events are not wanted                         */
	bool no_attach; /* claims are not known: one of them may still take the GPU       */
	uint64_t now_ms;
};

/* What to do now. Release with nvidia_step_done(). */
struct nvidia_step {
	bool ask;
	enum nvml_verb verb;
	struct json_strs asked;
	bool end_watch; /* end the present watch                */
	bool watch;     /* start a watch instead of the present */
	struct json_strs watched;
	uint64_t again_ms; /* plan again then at the latest; UINT64_MAX: at the next event */
};

void nvidia_plan(const struct nvidia_case *c, struct nvidia_step *ret_step);
void nvidia_step_done(struct nvidia_step *step);
