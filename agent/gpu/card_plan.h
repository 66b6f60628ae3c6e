/*
 * card_plan: the next single step for one SRIOVGPUDevice: a card, and whether it has its virtual
 * functions. Pure.
 *
 *	no object:  CREATE -> TELL (Enabled or Disabled)
 *	enabled:    TELL (Applying: ours from now on) -> ACT -> TELL (Enabled)
 *	disabled:   TELL (InUse) while a vGPU is there or somebody has a function, else
 *	            ACT -> TELL (Disabled)
 *	made by others: SPEC (adopted as enabled), never removed before somebody says so
 *	card gone:  TELL (DeviceGone), or DELETE if it is not enabled
 *	never seen: TELL (NotSupported)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/gpu/gpu_step.h"

struct gpu_card;
struct sriovgpudevice;

/* All borrowed. */
struct card_case {
	const char *node_name;
	const char *name;
	const struct sriovgpudevice
		*object;             /* the newest that is known; NULL: there is none      */
	const struct gpu_card *card; /* NULL: not on the node                               */
	bool known;                  /* what its functions are has been looked at           */
	bool claimed;                /* a PCIDeviceClaim has the card itself                */
	const char *user; /* holder of a virtual function, or a vGPU of the card; NULL: none */
	struct gpu_past past;
	int64_t now_wall_ms;
};

/* The caller releases *@ret_decision. */
void card_plan(const struct card_case *c, struct gpu_decision *ret_decision);
