/*
 * preferred: which of the available devices a container had better get. Pure; never fails.
 *
 * First the ones that it must have. Then those of the NUMA nodes that these are on, then those of
 * the node that has enough for the rest and fewest beyond that, so that larger holes stay; within a
 * node the same by PCIe root, and within a root by group; then the order of the candidates.
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
	const char *card;  /* of which it is a share; NULL: a whole one */
	bool must;         /* the container has to get it */
};

/* Append the IDs of at most @size of @candidates to @chosen, best first. Candidates are identified
 * by their index, so each ID should be there once. */
void preferred_choose(const struct preferred_candidate *candidates, size_t len, size_t size,
		      struct json_strs *chosen);
