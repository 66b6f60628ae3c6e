/*
 * hami_node: the annotations of this node's Node that HAMi's scheduler reads, as a kind on
 * lib/kube/reconcile.h: the list of GPUs, the handshake, and the end of the node's lock.
 *
 * They are compared with what the Node has, so that one that somebody removes comes back, and an
 * unchanged one is not written. Only the lock that hami_node_release() names is removed: the next
 * pod's has another time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/hami/hami_register.h"

struct decision;
struct hami_node;
struct node;
struct this_node;

#define HAMI_HANDSHAKE "hami.io/node-handshake"

/* HAMi's scheduler up to 2.7 gives up a node whose handshake has been "Requesting_..." for a minute,
 * and asks again 15 s after each answer. */
enum { HAMI_ANSWER_MS = 20000 };

/* --- the plan --------------------------------------------------------------------------------- */

/* All that a decision depends on. Borrowed. */
struct hami_node_case {
	const struct node *node;
	const struct hami_gpu *gpus; /* NULL: not known, or another plugin's */
	size_t ngpus;
	enum hami_form form;
	const char *done;   /* the lock that is to end; NULL: none */
	uint64_t waited_ms; /* since the handshake has become what it is */
	int64_t now_wall_ms;
};

/* The next single step. Pure. */
void hami_node_plan(const struct hami_node_case *c, struct decision *ret_decision);

/* --- the reconciler --------------------------------------------------------------------------- */

/* @node outlives it, and has a Node's informer. @form: HAMI_FORM_AUTO, or what is always written. */
struct hami_node *hami_node_new(const struct this_node *node, enum hami_form form);
/* Takes NULL, returns NULL. */
struct hami_node *hami_node_free(struct hami_node *hami);

/* These are the node's GPUs; copied. NULL: nothing is written about GPUs. */
void hami_node_set(struct hami_node *hami, const struct hami_gpu *gpus, size_t len);

/* The lock with exactly this text is to end. Once it has, one that reads the same is another pod's:
 * it has the time in seconds. */
void hami_node_release(struct hami_node *hami, const char *lock);

/* The Node changed in the cache, or its list is there. */
void hami_node_changed(struct hami_node *hami);

/* The lock of the Node in the cache; NULL: it has none, or one that is to end. */
const char *hami_node_lock(const struct hami_node *hami);
