/*
 * hami_refusals: tells HAMi's scheduler that a pod did not get its GPUs. It sets the pod's
 * bind-phase to failed, then releases the node's lock so that the next pod can be bound. It retries
 * until the API server answers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hami_lock;
struct hami_node;
struct hami_refusals;
struct this_node;

enum {
	HAMI_DOUBT_MS = 2000,           /* between checks of a pod that may not have failed */
	HAMI_DOUBTS_MS = 5 * 60 * 1000, /* after that its lock is released all the same     */
};

/* Both are borrowed. */
struct hami_refusals *hami_refusals_new(const struct this_node *node,
					struct hami_node *annotations);
/* Takes NULL, returns NULL. */
struct hami_refusals *hami_refusals_free(struct hami_refusals *refusals);

/*
 * The pod of @lock, with @uid (NULL: the pod was never read), was refused. @doubt: the refused call
 * may have been for another pod; then wait until the kubelet has failed this one. A pod with this
 * name but another UID, or whose bind-phase is not allocating, is left alone.
 */
void hami_refusals_add(struct hami_refusals *refusals, const struct hami_lock *lock,
		       const char *uid, bool doubt);
