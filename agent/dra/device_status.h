/*
 * device_status: tells in status.devices of a ResourceClaim why its devices are not prepared
 * (KEP-4817): the condition Ready is False, with the message that the kubelet got.
 *
 * Only a failure is told, so a claim that is prepared at the first attempt costs no write. An entry
 * is removed when a later attempt succeeds, or when the claim is unprepared: an entry with Ready=True
 * would need the same write, and would be left to be kept up to date while pods have the device. What
 * an earlier agent has written is known from the claim as the API server has it, which is read for
 * each attempt. The API server itself removes the entries of a claim that is deallocated.
 *
 * Writes are sent from a queue and retried there, so nothing waits for them. If the API server does
 * not have the feature, or forbids the write, that is logged once, and what is to be written is kept;
 * one write is tried again after each DEVICE_STATUS_AGAIN_MS, until the API server takes it.
 */
#pragma once

#include <stdbool.h>

struct device_status;
struct resourceclaim;
struct this_node;

enum {
	DEVICE_STATUS_CLAIMS_MAX = 256,   /* with an entry; failures of further ones are not told */
	DEVICE_STATUS_MESSAGE_MAX = 1024, /* bytes; longer ones are cut */
	DEVICE_STATUS_AGAIN_MS = 600000,  /* after a write that the API server does not take */
};

/* @node is borrowed. */
struct device_status *device_status_new(const struct this_node *node);
/* Cancels a write under way; what has not been written is dropped. Takes NULL, returns NULL. */
struct device_status *device_status_free(struct device_status *status);

/* The claim @ns/@claim, as it was read for this attempt, could not be prepared. @message says why.
 * Everything is copied. */
void device_status_failed(struct device_status *status, const char *ns,
			  const struct resourceclaim *claim, const char *message);

/* The claim @ns/@claim, as it was read for this attempt, is prepared. */
void device_status_prepared(struct device_status *status, const char *ns,
			    const struct resourceclaim *claim);

/* May @claim, as it was read for this attempt, have an entry that must be removed once it is
 * prepared? */
bool device_status_is_told(const struct device_status *status, const struct resourceclaim *claim);

/* The claim @ns/@name is prepared, and an earlier agent may have ended before it removed the entry:
 * read the claim, and remove the entry if it is there. Copied. */
void device_status_check(struct device_status *status, const char *uid, const char *ns,
			 const char *name);

/* The claim with this UID was unprepared. */
void device_status_unprepared(struct device_status *status, const char *uid);
