/*
 * sriov_look: which card is meant by an object, and which object is a card's. A card is known by
 * its address: its interface may be renamed, or be gone while the card is lent.
 */
#pragma once

#include <stdbool.h>

struct inventory;
struct pci_facts;
struct sriovnetworkdevice;
struct store;
struct verdict;

/* The function at @address, NULL if there is none. */
const struct pci_facts *sriov_look_function(const struct inventory *inventory, const char *address);

/* Its verdict; NULL if it is not on the node. */
const struct verdict *sriov_look_verdict(const struct inventory *inventory, const char *address);

/* The card of the object @name: by @object's spec.address (@object NULL: there is none), else the
 * network card whose interface gives that name. NULL: none. */
const struct pci_facts *sriov_look_card(const char *node_name, const struct inventory *inventory,
					const char *name, const struct sriovnetworkdevice *object);

/* Can it make virtual functions? */
bool sriov_look_is_physical(const struct pci_facts *pci);

/* Is it a network card that can make virtual functions and has an interface: one that gets an
 * object? */
bool sriov_look_is_nic(const struct pci_facts *pci);

/* Why the node itself cannot spare the card: a reason of the condition Claimable; NULL: it can. A
 * card whose interface is up and has an address, or that has virtual functions, can be spared for
 * this. */
const char *sriov_look_critical(const struct verdict *verdict);

/* Why it cannot be seen whether the node itself needs the card: what would tell could not be read. NULL: it was,
 * or the card is on no driver of the node. That its interface is up is no reason: so it has to be for its virtual
 * functions. */
const char *sriov_look_unread(const struct inventory *inventory, const struct pci_facts *pf);

/* Name of the oldest object (of those of one second the first by name) that is about the card at @address: who
 * makes another takes no card over. NULL: none. Valid until the store changes. */
const char *sriov_look_object(const struct store *objects, const char *address);
