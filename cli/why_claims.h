/* why_claims: what is allocated to the ResourceClaims of a pod, or what they wait for, as far as
 * objects of the API server say: which device a CEL expression accepts, only the scheduler
 * knows. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct cluster;
struct cluster_device;
struct err;
struct lists_missing;
struct out;
struct session;
struct why_claim;

/* One for each of the pod's spec.resourceClaims. */
struct why_claims {
	struct why_claim *items;
	size_t len, cap;
};

/* Read the ResourceClaims of @pod and what they refer to, and put them into @cluster, which has the
 * devices, the ResourceSlices and, unless @missing says otherwise, all ResourceClaims.
 * why_claims_done() releases. What cannot be read is said, and is no error but for one of the
 * connection. */
int why_claims_read(struct session *session, const json_t *pod, struct cluster *cluster,
		    const struct lists_missing *missing, struct why_claims *ret_claims,
		    struct err *err);
void why_claims_done(struct why_claims *claims);

/* Append them, each with the devices that it might get or has. */
void why_claims_print(const struct why_claims *claims, struct cluster *cluster, struct out *out);
/* The same for programs: an array. */
json_t *why_claims_json(const struct why_claims *claims, struct cluster *cluster);
