/*
 * claim_twin: is the function at an address the one that its record is about? Addresses change when a
 * card is added or taken out, so of two equal devices the claim of one may find the other.
 */
#pragma once

#include "base/device_identity.h"

struct claim_case;
struct claim_function;
struct pci_facts;
struct record_facts;

/* By serial number, else by what else is known of both. */
enum device_identity_match claim_twin_compare(const struct pci_facts *pci,
					      const struct record_facts *record);

/* A function of the same model that the record of @f may as well be about, as far as can be told; NULL:
 * there is none, or @f is known. */
const struct pci_facts *claim_twin_find(const struct claim_case *c, const struct claim_function *f);

/* The same, where that is a reason not to bind @f again: the node has booted since it was bound, and
 * its claim does not say that the address is enough. */
const struct pci_facts *claim_twin_hinders(const struct claim_case *c,
					   const struct claim_function *f);
