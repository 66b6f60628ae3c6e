/*
 * hami_lock: the lock of a node, "TIME,NAMESPACE,POD" in its annotation hami.io/mutex.lock. HAMi's
 * scheduler takes the lock before it binds a pod, and the node releases it once the pod has its
 * GPUs. Until then the scheduler binds no other pod to the node. Pure.
 */
#pragma once

struct err;

#define HAMI_LOCK "hami.io/mutex.lock"

enum { HAMI_LOCK_MAX = 600 }; /* bytes */

/* Owns its strings. */
struct hami_lock {
	char *text; /* the whole annotation, which is different for each lock */
	char *namespace;
	char *pod;
};

/* Parse @text. 0, or ERR_INVALID with nothing to release. A lock that names no pod is invalid;
 * HAMi's first releases wrote such locks. */
int hami_lock_parse(const char *text, struct hami_lock *ret_lock, struct err *err);
/* Release it and set all members to NULL. */
void hami_lock_done(struct hami_lock *lock);
