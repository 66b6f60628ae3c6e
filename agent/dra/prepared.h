/*
 * prepared: the ResourceClaims that are prepared on this node, each with its devices and with what
 * its containers get.
 *
 * Each has a checkpoint, <dir>/<UID>.json, written before anything is done for the claim, so that a
 * kubelet gets the same answer again, whichever agent gives it and whether or not the API server
 * can be reached. Nothing is synced: a power failure ends the boot, and with it what was prepared.
 * A checkpoint that cannot be read stays where it is until its claim is prepared again or
 * unprepared.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/json_values.h"

struct err;
struct prepared;

/* A device of a claim. */
struct prepared_device {
	char *request;     /* as the claim has it: "a", "a/b" */
	char *pool;        /* that of the allocation          */
	char *device;      /* its name in the slice           */
	char *id;          /* as struct dra_device has it     */
	char *resource;    /* likewise                        */
	char *iommu_group; /* NULL: none                      */
	char *attributes;  /* likewise, as JSON text          */
	bool on_demand;    /* it is bound for the claim       */
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

/* What a container gets that names the request. */
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

/* Owns all of it. */
struct prepared_claim {
	int version;
	char *boot; /* the boot ID of the node then */
	char *uid;
	char *ns;
	char *name;
	char *pod_claim; /* its name in the pod, if it was made from a template; NULL: not known */
	bool binding; /* its devices are being bound: it has them, and no container gets them yet */
	struct {
		struct prepared_device *items;
		size_t len, cap;
	} devices;
	struct {
		struct prepared_request *items;
		size_t len, cap;
	} requests;             /* in the order of the devices, each once */
	struct json_pairs envs; /* of every container with a device of the claim */
};

/* Takes NULL, returns NULL. */
struct prepared_claim *prepared_claim_free(struct prepared_claim *claim);
/* A deep copy, for the caller to free. */
struct prepared_claim *prepared_claim_copy(const struct prepared_claim *claim);

/* Read the checkpoints in @dir, of all boots; @dir need not exist. @boot is the ID of this one.
 * Both are copied. What cannot be read is logged. */
struct prepared *prepared_new(const char *dir, const char *boot);
/* Takes NULL, returns NULL; the checkpoints stay. */
struct prepared *prepared_free(struct prepared *prepared);

/* The claim with this UID; NULL: it is not prepared. Borrowed until it is removed. */
const struct prepared_claim *prepared_get(const struct prepared *prepared, const char *uid);
/* Was it prepared before the node's last boot? No pod has its devices then. */
bool prepared_is_stale(const struct prepared *prepared, const struct prepared_claim *claim);

size_t prepared_len(const struct prepared *prepared);
/* Iterate, starting with *@cursor = 0; NULL at the end. In any order. The claim just returned may
 * be removed meanwhile. */
const struct prepared_claim *prepared_next(const struct prepared *prepared, size_t *cursor);

/* The claim that has the device @id; NULL: none has. */
const struct prepared_claim *prepared_holder(const struct prepared *prepared, const char *id);
/* A device other than @id in the IOMMU group @group that a claim has, and that claim; NULL: there is
 * none. */
const struct prepared_device *prepared_neighbour(const struct prepared *prepared, const char *group,
						 const char *id,
						 const struct prepared_claim **ret_claim);

/* Write the checkpoint of @claim, with this boot, and add it; it is taken, also after an error. One
 * with this UID that is there is replaced, or stays after an error. */
int prepared_add(struct prepared *prepared, struct prepared_claim *claim, struct err *err);
/* Remove the checkpoint, if there is one, and the claim. After an error the claim is still
 * there. */
int prepared_remove(struct prepared *prepared, const char *uid, struct err *err);
