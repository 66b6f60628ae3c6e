/*
 * offered: does the node's kubelet offer the PCI functions that this agent lends? By the Node's status.allocatable, which
 * the scheduler goes by, too.
 *
 * The kubelet writes that list every 10 s, so that a function is registered with it for some seconds before the list
 * counts it. Owns a copy of the list, and remembers who is waited for.
 */
#pragma once

struct json_pairs;
struct offered;
struct pci_type;

enum offered_state {
	OFFERED_BY_NOBODY, /* the node has no kubelet, or none that takes devices */
	OFFERED_NOT_YET,
	OFFERED,
};

/* Texts are borrowed from the pci_type: valid until what is offered changes. */
struct offered_answer {
	enum offered_state state;
	const char *resource; /* as which it is lent; NULL: it is not                */
	const char *trouble;  /* why the kubelet is told that it is not healthy; NULL: it is  */
	const char *
		owner; /* the type of devices that has that resource instead; NULL: none. Of lend_offered() */
};

/* @changed: the answer about @address is another than it was when somebody waited for it. It asks
 * later, not from inside. */
struct offered *offered_new(const struct pci_type *pci,
			    void (*changed)(void *arg, const char *address), void *arg);
/* Takes NULL, returns NULL. */
struct offered *offered_free(struct offered *offered);

/* The Node's allocatable (copied); NULL: there is no Node, or no kubelet has ever written it. Before the first call
 * nothing is offered yet. `changed` runs inside. */
void offered_set(struct offered *offered, const struct json_pairs *allocatable);

/* What is lent may not be what it was: `changed` runs inside. */
void offered_look_again(struct offered *offered);

/* An answer OFFERED_NOT_YET makes somebody wait. */
struct offered_answer offered_ask(struct offered *offered, const char *address);
