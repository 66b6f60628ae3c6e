/*
 * sriov_card: which card an object is about, which object a card has, and what the node needs of
 * the card. A card is identified by its address: its interface may be renamed, and is gone while
 * the card is passed through.
 */
#pragma once

#include <stdbool.h>

struct inventory;
struct pci_facts;
struct sriovnetworkdevice;
struct store;
struct verdict;

/* The function at @address, NULL if there is none. */
const struct pci_facts *sriov_card_function(const struct inventory *inventory, const char *address);

/* Its verdict; NULL if it is not on the node. */
const struct verdict *sriov_card_verdict(const struct inventory *inventory, const char *address);

/* The card of the object @name: by @object's spec.address (@object NULL: there is none), else the
 * network card with the interface of that name. NULL: none. */
const struct pci_facts *sriov_card_find(const char *node_name, const struct inventory *inventory,
					const char *name, const struct sriovnetworkdevice *object);

/* Does it support virtual functions? */
bool sriov_card_is_physical(const struct pci_facts *pci);

/* Is it a network card that supports virtual functions and has an interface? Such a card gets an
 * object. */
bool sriov_card_is_nic(const struct pci_facts *pci);

/* Why the node needs the card: a reason of the condition Claimable; NULL: it does not. An interface
 * that is up and has an address, or virtual functions, are no such reason. */
const char *sriov_card_critical(const struct verdict *verdict);

/* Why it is unknown whether the node needs the card: what could not be read. NULL: it is known, or
 * no driver of the node has the card. */
const char *sriov_card_unread(const struct inventory *inventory, const struct pci_facts *pf);

/* Name of the oldest object (of those of one second the first by name) that is about the card at
 * @address, so that a second one does not take the card over. NULL: none. Valid until the store
 * changes. */
const char *sriov_card_object(const struct store *objects, const char *address);
