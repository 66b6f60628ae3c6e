/*
 * preferred: which of the available devices a container should get. Pure; never fails.
 *
 * First those that it must have. Then those of the same NUMA nodes, then those of the node that has
 * enough for the rest and the fewest beyond that, so that larger gaps stay. Within a node the same
 * by PCIe root, and within a root by group. Then the order of the candidates.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_strs;

/* Texts are borrowed. */
struct preferred_candidate {
	const char *id;
	int numa_node;     /* -1: none                */
	const char *root;  /* PCIe root; NULL: none   */
	const char *group; /* as IOMMU groups; NULL: none */
	const char *card;  /* the device of which it is a share; NULL: a whole device */
	bool must;         /* the container must get it */
};

/* Append the IDs of at most @size of @candidates to @chosen, best first. Candidates are identified
 * by their index, so each ID should be there once. */
void preferred_choose(const struct preferred_candidate *candidates, size_t len, size_t size,
		      struct json_strs *chosen);
