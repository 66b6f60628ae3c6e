/*
 * mig_plan: the next single step for one MigConfiguration: a card, and the MIG instances that it is
 * divided into. Pure.
 *
 *	no object:  CREATE, once the card is divided by virtual functions and can do MIG at all
 *	enabled:    TELL (Applying: ours from now on) -> ACT mode -> ACT create, the largest
 *	            first -> TELL (Synced); missing instances are created again; unwanted ones
 *	            are reported (OutOfSync) and kept
 *	disabled:   ACT remove, what fills an instance first -> TELL (Disabled); others' are left
 *	            alone
 *
 * MIG mode is never touched without spec.enabled, and only of a card of this node.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/gpu/gpu_step.h"

struct gpu_card;
struct mig_look;
struct migconfiguration;
struct sriovgpudevice;

/* All borrowed. */
struct mig_case {
	const char *node_name;
	const char *name;
	const struct migconfiguration *object; /* the newest that is known; NULL: there is none */
	const struct sriovgpudevice *parent;   /* of the same name; NULL: none                 */
	const struct gpu_card *card;           /* NULL: not on the node                         */
	const struct mig_look *look;           /* how the card is divided; NULL: not looked yet */
	const char *look_trouble; /* the last look failed, in words; NULL: it did not */
	const char *look_reason;  /* ... as a word                                    */
	const char *user;         /* the holder of a vGPU of the card; NULL: none    */
	struct gpu_past past;
	int64_t now_wall_ms;
};

/* The caller releases *@ret_decision. */
void mig_plan(const struct mig_case *c, struct gpu_decision *ret_decision);
