/*
 * hami_refusals: tells HAMi's scheduler of pods that did not get their GPUs: sets their bind-phase to
 * failed, and then has the node's lock end, so that the next pod can be bound. While the API server
 * is away, it tries again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hami_lock;
struct hami_node;
struct hami_refusals;
struct this_node;

enum {
	HAMI_DOUBT_MS = 2000,           /* between looks at a pod that may not have failed */
	HAMI_DOUBTS_MS = 5 * 60 * 1000, /* as long as such a lock lasts                      */
};

/* Both outlive it. */
struct hami_refusals *hami_refusals_new(const struct this_node *node,
					struct hami_node *annotations);
/* Takes NULL, returns NULL. */
struct hami_refusals *hami_refusals_free(struct hami_refusals *refusals);

/*
 * The pod of @lock, with @uid (NULL: the pod was never read), was refused. @doubt: the kubelet may
 * have asked for another pod; then it is told once the kubelet has failed the pod. A pod of that name
 * with another UID, and one whose bind-phase is not allocating, is left alone.
 */
void hami_refusals_add(struct hami_refusals *refusals, const struct hami_lock *lock,
		       const char *uid, bool doubt);
