/*
 * prepare: prepares and unprepares ResourceClaims on this node.
 *
 * To prepare a claim: read its allocation, check that each device can be used and is free, write a
 * checkpoint, then write the files for the container runtime. After a crash at any point the next
 * agent continues from the checkpoint. The device types say what a container gets, with the same
 * checks as for the kubelet's Allocate.
 *
 * A device that is offered on demand is bound during Prepare: a first checkpoint is written before,
 * and the final one after the bind. The devices of a first checkpoint are released
 * (on_demand_binder.h) after a crash, and after a call that ran out of time if the kubelet does not
 * ask again. Nothing else is bound or reset here, and nothing waits for a device to become free. A
 * claim that cannot be prepared now is refused with the reason, and the kubelet retries. The reason
 * is also written to the claim's status (device_status.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/dra/cdi_spec.h"

struct dra_claim;
struct dra_devices;
struct err;
struct json_strs;
struct kubelet_watch;
struct on_demand_binder;
struct prepare;
struct prepare_job;
struct prepared_claim;
struct this_node;

enum {
	PREPARE_UNKNOWN = 1,      /* result of prepare_again()                              */
	PREPARE_GET_MS = 5000,    /* timeout for reading the claim; the kubelet waits 45 s  */
	PREPARE_MS = 10000,       /* timeout for all of it; then the kubelet asks again     */
	PREPARE_AGAIN_MS = 60000, /* within which it does: it retries every 10 to 15 s      */
};

/* Borrowed. */
struct prepare_deps {
	const struct dra_devices *devices;
	struct kubelet_watch *watch;
	struct cdi_place place;
	const char *claims_dir; /* of the checkpoints */
	const char *boot;       /* the ID of this boot */
	/* The pod that has the device @id through its device plugin, for the caller to free; NULL:
	 * none. May be NULL. */
	char *(*holder)(void *arg, const char *id);
	const struct on_demand_binder *on_demand; /* NULL: there are no devices on demand */
	/* The device @id was prepared or unprepared. May run during any function except
	 * prepare_new(). */
	void (*changed)(void *arg, const char *id);
	void *arg;
};

/* Reads the checkpoints. Writes the files of claims that were prepared in this boot, and removes
 * the other claims, also those whose Prepare did not end. */
struct prepare *prepare_new(const struct this_node *node, const struct prepare_deps *deps);
/* End or cancel its jobs first. Keeps checkpoints and files. Takes NULL, returns NULL. */
struct prepare *prepare_free(struct prepare *prepare);

/* How many claims are prepared. */
size_t prepare_len(const struct prepare *prepare);
/* Is the claim with this UID prepared? */
bool prepare_is_known(const struct prepare *prepare, const char *uid);
/* If the claim with this UID is prepared, write those of its files that are missing and return 0
 * with the claim, which is borrowed until the next call; else return PREPARE_UNKNOWN. < 0: a file
 * cannot be written. */
int prepare_again(struct prepare *prepare, const char *uid, const struct prepared_claim **ret_claim,
		  struct err *err);
/* The claim that has the device @id: "ResourceClaim default/nic"; NULL: none. The caller frees. */
char *prepare_holder(const struct prepare *prepare, const char *id);
/* The same, if the device is bound for that claim, or is about to be. */
char *prepare_bound_for(const struct prepare *prepare, const char *id);
/* As prepared_device_id(). */
const char *prepare_device_id(const struct prepare *prepare, const char *ns, const char *name,
			      const char *device);
/* Add the IDs of all prepared devices. */
void prepare_ids(const struct prepare *prepare, struct json_strs *ids);

/* @claim is prepared; if it could not be prepared, @claim is NULL and @err says why. Both are
 * borrowed. */
typedef void prepare_done_fn(void *arg, const struct prepared_claim *claim, const struct err *err);

/* Prepare @claim (copied), which must not be prepared yet. @done is called once, after this has
 * returned, unless the job is cancelled; the job is freed after that. */
struct prepare_job *prepare_begin(struct prepare *prepare, const struct dra_claim *claim,
				  prepare_done_fn *done, void *arg);
/* End a job before its @done, which is not called. Nothing more is done for its claim. */
void prepare_cancel(struct prepare_job *job);

/* Unprepare the claim with this UID; jobs that prepare it will fail. 0 also if the claim is not
 * known. */
int prepare_undo(struct prepare *prepare, const char *uid, struct err *err);
