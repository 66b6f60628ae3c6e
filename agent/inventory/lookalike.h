/*
 * lookalike: functions of one model, whose addresses a boot may swap.
 *
 * Pure. A serial number, or another fact that is known of both, distinguishes two of them
 * (base/device_identity.h).
 */
#pragma once

#include <stdbool.h>

#include "base/device_identity.h"

struct facts;
struct pci_facts;

/* Are they of one model, and could each have the other's address after a boot? */
bool lookalike_may_swap(const struct pci_facts *a, const struct pci_facts *b);

/* By serial number, else by what else is known of both. Any may be NULL. */
enum device_identity_match lookalike_compare(const char *serial, const char *identity,
					     const char *other_serial, const char *other_identity);

/* The function that only the address distinguishes from another one. */
struct lookalike {
	const struct pci_facts *pci; /* NULL: there is none */
};

/* One for each facts->pci; for a virtual function, the lookalike of its physical function. The
 * caller frees the array. */
struct lookalike *lookalikes_find(const struct facts *facts);
