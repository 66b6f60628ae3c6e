/*
 * upkeep: the leader's work in the cluster: DevicePools, conditions of claims on failed nodes,
 * cleanup after deleted nodes, and KubeVirt's objects.
 *
 * Every replica watches; only the leader writes. Owns the views of the cluster, which the gate
 * reads as well.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/kubevirt/kubevirt.h"

struct leader;
struct program;
struct upkeep;
struct cache;

struct upkeep_options {
	const char *ns;     /* namespace of the agents' pods */
	const char *agents; /* their label selector; "none": they do not run as pods */
	uint64_t gone_ms;   /* a node missing for this long is considered deleted */
	bool machines;      /* watch virtual machines even with KUBEVIRT_OFF */
	enum kubevirt_mode kubevirt;
};

/* Everything is borrowed. Must be called before the loop runs. */
struct upkeep *upkeep_new(struct program *program, struct leader *leader,
			  const struct upkeep_options *options);
/* Valid as long as the upkeep. */
struct cache *upkeep_cache(const struct upkeep *upkeep);
/* Takes NULL, returns NULL. */
struct upkeep *upkeep_free(struct upkeep *upkeep);
