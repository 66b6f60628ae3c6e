/*
 * prepare: prepares ResourceClaims on this node, and undoes that.
 *
 * To prepare a claim is to look at what is allocated to it, to check that each device can be used
 * and is nobody else's, to note that in a checkpoint, and to write the files for the container
 * runtime, in this order: after a crash at any point the next agent goes on from the checkpoint.
 * A device type says what a container gets, with the checks that it makes for the kubelet's
 * Allocate.
 *
 * A device that is offered on demand is bound in between: a first checkpoint says so before, and
 * the final one follows the bind. What a first checkpoint is left of after a crash is given back
 * (lender.h). Nothing else is bound or reset here, and nothing waits for a device to become free: a
 * claim that cannot be prepared now is refused with the reason, and the kubelet asks again.
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
struct lender;
struct prepare;
struct prepare_job;
struct prepared_claim;
struct this_node;

enum {
	PREPARE_UNKNOWN = 1,       /* of prepare_again()                                    */
	PREPARE_GET_MS = 5000,     /* for the claim's object; the kubelet waits for 45 s    */
	PREPARE_MS = 10000,        /* for all of it; then the kubelet has to ask again */
	PREPARE_DEVICES_MAX = 256, /* of one claim; the API server allows fewer        */
};

/* Borrowed. */
struct prepare_deps {
	const struct dra_devices *devices;
	struct kubelet_watch *watch;
	struct cdi_place place;
	const char *claims_dir; /* of the checkpoints */
	const char *boot;       /* the ID of this boot */
	/* Which pod has the device @id by its device plugin, as a text for the caller to free;
	 * NULL: none has. May be NULL. */
	char *(*holder)(void *arg, const char *id);
	const struct lender *lender; /* NULL: there are no devices on demand */
	/* The device @id is prepared, or is not any more. May run inside of each function but
	 * prepare_new(). */
	void (*changed)(void *arg, const char *id);
	void *arg;
};

/* Read the checkpoints, write the files of this boot's claims again and forget the others, and those
 * that were not prepared to the end. */
struct prepare *prepare_new(const struct this_node *node, const struct prepare_deps *deps);
/* Its jobs have ended or are cancelled. Takes NULL, returns NULL; checkpoints and files stay. */
struct prepare *prepare_free(struct prepare *prepare);

/* How many claims are prepared. */
size_t prepare_len(const struct prepare *prepare);
/* Is the claim with this UID prepared? */
bool prepare_is_known(const struct prepare *prepare, const char *uid);
/* If the claim with this UID is prepared, see to it that its files are there, and return 0 with the
 * claim, which is borrowed until the next call; else PREPARE_UNKNOWN. < 0: a file cannot be
 * written. */
int prepare_again(struct prepare *prepare, const char *uid, const struct prepared_claim **ret_claim,
		  struct err *err);
/* The claim that has the device @id: "ResourceClaim default/nic"; NULL: none. The caller frees. */
char *prepare_holder(const struct prepare *prepare, const char *id);
/* The same, if the device is bound for that claim, or is about to be. */
char *prepare_borrower(const struct prepare *prepare, const char *id);
/* Add the IDs of all prepared devices. */
void prepare_ids(const struct prepare *prepare, struct json_strs *ids);

/* The claim is prepared, or @claim is NULL and @err says why it is not; both borrowed. */
typedef void prepare_done_fn(void *arg, const struct prepared_claim *claim, const struct err *err);

/* Prepare @claim (copied), which is not prepared yet. @done is called once, not before this has
 * returned, unless the job is cancelled; the job is gone then. */
struct prepare_job *prepare_begin(struct prepare *prepare, const struct dra_claim *claim,
				  prepare_done_fn *done, void *arg);
/* Nothing more is done for its claim; @done is not called. */
void prepare_cancel(struct prepare_job *job);

/* Remove what was prepared for the claim with this UID; a job that prepares it will fail. It is no
 * error if that is not known. */
int prepare_undo(struct prepare *prepare, const char *uid, struct err *err);
