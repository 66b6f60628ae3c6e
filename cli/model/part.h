/*
 * part: what a card is divided into and is no device of its own: the vGPU of a virtual function,
 * and the MIG instances of a card.
 *
 * Pure. Parts are not claimed. Their state is that of the object that asks for them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/model/state.h"

struct cluster_device;
struct migconfiguration;
struct node_fault;
struct vgpudevice;

enum { PARTS_MAX = 2 }; /* of one device */

struct part {
	const char *what; /* "vGPU", "MIG"                                  */
	char *text;       /* "NVIDIA A2-4C"; "2 of 7 MIG 1g.5gb"; the caller's */
	struct state_verdict verdict;
};

/* False: there is none, and no object asks for one. @used: a pod has the function. @fault of the
 * node may be NULL. */
bool part_of_vgpu(const struct vgpudevice *vgpu, bool used, const struct node_fault *fault,
		  struct part *ret_part);
bool part_of_mig(const struct migconfiguration *mig, const struct node_fault *fault,
		 struct part *ret_part);

/* The parts of @device, in @ret_parts, and their number. The caller releases each. */
size_t parts_of(const struct cluster_device *device, struct part ret_parts[PARTS_MAX]);

void part_done(struct part *part);
