/*
 * hami_node: keeps the annotations that HAMi's scheduler reads on this node's Node: the list of
 * GPUs, the handshake, and the node's lock, which it removes. Runs on lib/kube/reconcile.h.
 *
 * Each annotation is compared with the Node's. One that somebody removes is written again; an
 * unchanged one is not. Only the lock that hami_node_release() names is removed, because the next
 * pod's lock may be there already.
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

/* HAMi's scheduler up to 2.7 drops a node whose handshake has been "Requesting_..." for a minute.
 * It asks again 15 s after each answer. */
enum { HAMI_ANSWER_MS = 20000 };

/* --- the plan --------------------------------------------------------------------------------- */

/* All that a decision depends on. Borrowed. */
struct hami_node_case {
	const struct node *node;
	const struct hami_gpu *gpus; /* NULL: not known, or offered by another plugin */
	size_t ngpus;
	enum hami_form form;
	const char *done;   /* the lock to remove; NULL: none    */
	uint64_t waited_ms; /* since the handshake last changed  */
	int64_t now_wall_ms;
};

/* The next single step. Pure. */
void hami_node_plan(const struct hami_node_case *c, struct decision *ret_decision);

/* --- the reconciler --------------------------------------------------------------------------- */

/* @node is borrowed and has an informer of the Node. @form: the form of the list of GPUs;
 * HAMI_FORM_AUTO keeps the one that the Node has. */
struct hami_node *hami_node_new(const struct this_node *node, enum hami_form form);
/* Takes NULL, returns NULL. */
struct hami_node *hami_node_free(struct hami_node *hami);

/* Set the node's GPUs, which are copied. NULL: leave the annotations of GPUs alone. */
void hami_node_set(struct hami_node *hami, const struct hami_gpu *gpus, size_t len);

/* Remove the lock with exactly this text, once. A lock with the same text after that is another
 * pod's: its time has a resolution of one second. */
void hami_node_release(struct hami_node *hami, const char *lock);

/* Call it when the Node changes in the cache, and when the cache is first complete. */
void hami_node_changed(struct hami_node *hami);

/* The lock of the Node in the cache; NULL: there is none, or it is being removed. */
const char *hami_node_lock(const struct hami_node *hami);
