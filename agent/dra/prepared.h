/*
 * prepared: the prepared ResourceClaims of this node, each with its devices and what its containers
 * get.
 *
 * Each claim has a checkpoint, <dir>/<UID>.json, which is written before anything else is done for
 * the claim. So the kubelet gets the same answer again, also from another agent and without the API
 * server. Checkpoints are not synced to disk: they are of no use after a power failure, because no
 * pod keeps its devices over a boot. A checkpoint that cannot be read stays until its claim is
 * prepared again or unprepared.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/json_values.h"

struct err;
struct prepared;

/* A device of a claim. */
struct prepared_device {
	char *request;     /* in the claim: "a", "a/b"  */
	char *pool;        /* in the allocation         */
	char *device;      /* its name in the slice     */
	char *id;          /* from struct dra_device    */
	char *resource;    /* likewise                  */
	char *iommu_group; /* likewise; NULL: none      */
	char *attributes;  /* likewise, as JSON text    */
	bool on_demand;    /* it is bound for the claim */
};

struct prepared_node {
	char *path; /* in the container */
	char *host_path;
	char *permissions; /* of "rwm" */
};

struct prepared_mount {
	char *path; /* in the container */
	char *host_path;
	bool read_only;
};

/* What a container that uses the request gets. */
struct prepared_request {
	char *name; /* without a sub-request */
	struct {
		struct prepared_node *items;
		size_t len, cap;
	} nodes;
	struct {
		struct prepared_mount *items;
		size_t len, cap;
	} mounts;
};

/* Owns its members. */
struct prepared_claim {
	int version;
	char *boot; /* the node's boot ID when it was prepared */
	char *uid;
	char *ns;
	char *name;
	char *pod_claim; /* its name in the pod if it was made from a template; else NULL */
	bool binding;    /* its devices are being bound: no container gets them yet */
	bool told;       /* its status may have said that it is not prepared (device_status.h) */
	struct {
		struct prepared_device *items;
		size_t len, cap;
	} devices;
	struct {
		struct prepared_request *items;
		size_t len, cap;
	} requests;             /* in the order of the devices, each once */
	struct json_pairs envs; /* for each container with a device of the claim */
};

/* Takes NULL, returns NULL. */
struct prepared_claim *prepared_claim_free(struct prepared_claim *claim);
/* A deep copy, for the caller to free. */
struct prepared_claim *prepared_claim_copy(const struct prepared_claim *claim);

/* Read the checkpoints of all boots in @dir, which need not exist. @boot is the ID of this boot.
 * Both are copied. Errors are logged. */
struct prepared *prepared_new(const char *dir, const char *boot);
/* Keeps the checkpoints. Takes NULL, returns NULL. */
struct prepared *prepared_free(struct prepared *prepared);

/* The claim with this UID; NULL: it is not prepared. Borrowed until it is removed. */
const struct prepared_claim *prepared_get(const struct prepared *prepared, const char *uid);
/* Was it prepared before this boot? Then no pod has its devices. */
bool prepared_is_stale(const struct prepared *prepared, const struct prepared_claim *claim);

size_t prepared_len(const struct prepared *prepared);
/* Iterate in any order, starting with *@cursor = 0; NULL at the end. The claim just returned may be
 * removed before the next call. */
const struct prepared_claim *prepared_next(const struct prepared *prepared, size_t *cursor);

/* The claim that has the device @id; NULL: none. */
const struct prepared_claim *prepared_holder(const struct prepared *prepared, const char *id);
/* The ID of the device that is @device in the slice and that the claim @ns/@name has; NULL: it has
 * none of that name. Borrowed until the claim is removed. */
const char *prepared_device_id(const struct prepared *prepared, const char *ns, const char *name,
			       const char *device);
/* A device of a claim, other than @id, in the IOMMU group @group, and its claim; NULL: none. */
const struct prepared_device *prepared_neighbour(const struct prepared *prepared, const char *group,
						 const char *id,
						 const struct prepared_claim **ret_claim);

/* Write the checkpoint of @claim, with the ID of this boot, and add the claim. Takes ownership of
 * @claim, also on error. A claim with this UID that exists is replaced; after an error it stays. */
int prepared_add(struct prepared *prepared, struct prepared_claim *claim, struct err *err);
/* Remove the checkpoint, if any, and the claim. On error the claim stays. */
int prepared_remove(struct prepared *prepared, const char *uid, struct err *err);
