/*
 * claim_draft: checks whether the devices that are allocated to a ResourceClaim may be prepared for
 * it, and says what its containers get.
 *
 * Neither writes nor remembers anything. A draft is a struct prepared_claim without a checkpoint.
 */
#pragma once

#include <stdbool.h>

struct dra_claim;
struct dra_devices;
struct err;
struct prepared;
struct prepared_claim;
struct resourceclaim;

enum { CLAIM_DRAFT_DEVICES_MAX = 256 }; /* of one claim; the API server allows fewer */

/* What a claim is checked against. Borrowed. */
struct claim_draft_world {
	const struct dra_devices *devices;
	const struct prepared *prepared; /* the other claims, and what the claim has already */
	bool informed;                   /* the devices of the node have been read */
	bool on_demand;                  /* devices can be bound on demand */
	char *(*holder)(void *arg, const char *id); /* as struct prepare_deps has it */
	void *arg;
};

/* Check @object, which the kubelet named @asked, its allocation, devices and configuration, and
 * draft the claim to prepare, without what its containers get. The caller frees. */
int claim_draft_new(const struct claim_draft_world *world, const struct dra_claim *asked,
		    const struct resourceclaim *object, struct prepared_claim **ret_claim,
		    struct err *err);

/* Add to @claim what its containers get. Devices of one request and resource are allocated
 * together, as for one container in Allocate. They must be bound, if they are on demand, and be
 * offered still. After an error @claim may have a part of it. */
int claim_draft_allocate(const struct dra_devices *devices, struct prepared_claim *claim,
			 struct err *err);
