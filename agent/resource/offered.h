/*
 * offered: does the node's kubelet offer the PCI functions that this agent offers it? One that DRA
 * offers has no kubelet to wait for: it is offered as long as it is healthy. The answer
 * follows the Node's status.allocatable, which the scheduler uses, and the kubelet's list from the
 * device plugin.
 *
 * The kubelet writes allocatable every 10 s: a function is on its list for some seconds before it
 * counts there, and a function that was there before still counts for some seconds after it went.
 * Owns a copy of what the Node lists, and remembers what it answered.
 */
#pragma once

#include <stdbool.h>

struct json_pairs;
struct offered;
struct pci_type;

enum offered_state {
	OFFERED_BY_NOBODY, /* the node has no kubelet, or none that takes devices */
	OFFERED_NOT_YET,
	OFFERED,
	OFFERED_NODE_GONE,       /* the cluster has no such Node                       */
	OFFERED_NODE_UNREADABLE, /* the agent may not read the Node                    */
};

/* Texts are borrowed: valid until what is offered changes, or the Node. */
struct offered_answer {
	enum offered_state state;
	const char *resource; /* under which it is offered; NULL: it is not          */
	const char *trouble;  /* why it is listed as unhealthy; NULL: it is healthy            */
	bool group_taken;     /* the trouble: a pod has another function of its IOMMU group   */
	bool held;            /* a pod has it                                                 */
	bool dra;             /* DRA offers it, not the kubelet                               */
	const char *owner;    /* the type of devices that has that resource instead; NULL: none */
	const char *denied;   /* NODE_UNREADABLE: what the API server answers                 */
};

struct offered_ops {
	/* Has the kubelet the function @address on its list of @resource, as healthy? */
	bool (*lists)(void *arg, const char *resource, const char *address);
	/* The type of devices that has @resource, if it is not that of PCI functions; NULL. */
	const char *(*owner)(void *arg, const char *resource);
	/* Has a pod the function? */
	bool (*held)(void *arg, const char *address);
	/* The answer for @address differs from an earlier one. Call offered_ask() later, not from
	 * the callback. An OFFERED device that is not listed for a while, for example because the
	 * kubelet restarts, is no such change. */
	void (*changed)(void *arg, const char *address);
};

/* @ops is borrowed. */
struct offered *offered_new(const struct pci_type *pci, const struct offered_ops *ops, void *arg);
/* Takes NULL, returns NULL. */
struct offered *offered_free(struct offered *offered);

/* The Node's allocatable (copied); NULL: no kubelet has ever written it. Before the first call
 * nothing is offered yet. `changed` runs inside. Returns whether that is new. */
bool offered_set(struct offered *offered, const struct json_pairs *allocatable);

/* There is no such Node; or the agent may not read it, and @denied (copied) is what the API server
 * answers. `changed` runs inside. Returns whether that is new. */
bool offered_set_no_node(struct offered *offered, const char *denied);

/* The offers, or the kubelet's list of them, may have changed: `changed` runs inside. */
void offered_check_answers(struct offered *offered);

/* Return whether a pod would get a device of @resource: the kubelet has it on its list (@listed),
 * and the Node counts one. The Node counts a removed device for up to 10 s, and could count it in
 * place of a new one. Also true if no kubelet has written the Node, or if the Node cannot be
 * read. */
bool offered_counts(const struct offered *offered, const char *resource, bool listed);

/* The answer for @address. `changed` is called when the caller should ask again. */
struct offered_answer offered_ask(struct offered *offered, const char *address);
