/*
 * upkeep: what the leader keeps up in the cluster: the DevicePools, what claims say of nodes that are not
 * well, that nothing is left of nodes that are gone, and what KubeVirt is to know of devices.
 *
 * Every replica watches; who leads writes. Owns the views of the cluster, into which the gate looks too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/kubevirt/kubevirt.h"

struct leader;
struct program;
struct upkeep;
struct views;

struct upkeep_options {
	const char *ns;     /* of the agents' pods                                    */
	const char *agents; /* label selector of the agents' pods; "none": they are no pods */
	uint64_t gone_ms;   /* a node that is missing for so long is gone for good    */
	bool machines;      /* watch virtual machines, too, also with KUBEVIRT_OFF    */
	enum kubevirt_mode kubevirt;
};

/* All is borrowed. Before the loop runs. */
struct upkeep *upkeep_new(struct program *program, struct leader *leader,
			  const struct upkeep_options *options);
/* Valid as long as the upkeep. */
struct views *upkeep_views(const struct upkeep *upkeep);
/* Takes NULL, returns NULL. */
struct upkeep *upkeep_free(struct upkeep *upkeep);
