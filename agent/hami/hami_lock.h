/*
 * hami_lock: the lock of a node, its annotation hami.io/mutex.lock: "TIME,NAMESPACE,POD". HAMi's
 * scheduler takes it before it binds a pod, and the node releases it once the pod has its GPUs; until
 * then the scheduler binds no other pod here. Pure.
 */
#pragma once

struct err;

#define HAMI_LOCK "hami.io/mutex.lock"

enum { HAMI_LOCK_MAX = 600 }; /* bytes */

/* Owns its texts. */
struct hami_lock {
	char *text; /* all of it: no two locks have the same */
	char *namespace;
	char *pod;
};

/* Read @text. 0, or ERR_INVALID with nothing to release: also of a lock that names no pod, as HAMi's
 * first releases wrote it. */
int hami_lock_parse(const char *text, struct hami_lock *ret_lock, struct err *err);
/* Release; it is none. */
void hami_lock_done(struct hami_lock *lock);
