/*
 * claim_group: the functions that a claim has to do with: its own, the others of its IOMMU group,
 * and those elsewhere whose records name the claim.
 *
 * Facts only: what there is, what has been recorded, which claim is whose, and what the last
 * transition read back where that is newer than the scan. Judges nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/device_identity.h"

struct claim_function;
struct claim_case;
struct inventory;
struct json_strs;
struct pci_facts;
struct pcideviceclaim;
struct record_facts;
struct verdict;

/* All but @name is borrowed from the case. */
struct claim_function {
	char *name;          /* of its PCIDevice and of a claim of it             */
	const char *address; /* "" only for a claim whose name is that of no function */
	const char *group;   /* NULL: none                                        */

	const struct pci_facts *pci;        /* NULL: it is not on the node                */
	const struct verdict *verdict;      /* likewise                                   */
	const struct pcideviceclaim *claim; /* of its name; NULL: none, or not this node's */
	const struct record_facts *record;  /* NULL: none, or written after the scan       */
	const char *driver;                 /* now; NULL: none                             */

	bool recorded;  /* there is a record, seen or not                                  */
	bool rewritten; /* the record has the values of the last bind, not those of @record */
	bool released;  /* the last transition gave it back after the scan                     */
	bool told;      /* @driver was read back by a transition after the scan            */
	bool different; /* another device than the recorded one is at the address          */
	bool vendor;    /* its claim keeps the vendor's driver, which passes it through itself */

	/* The live claim that has it bound: its own, or one that includes the group; NULL: none.
	 * Filled by claim_cover_group(). */
	const struct pcideviceclaim *cover;
};

struct claim_group {
	char *address; /* of the claim's own function */
	struct claim_function *items;
	size_t len;
	size_t cap;
};

/* At least the claim's own function, which is the first. */
void claim_group_look(const struct claim_case *c, struct claim_group *ret_group);
void claim_group_done(struct claim_group *group);

/* The address of the claim @name, from its name or else from a record; NULL: the claim is not of
 * this node. The caller frees. */
char *claim_group_address(const char *node_name, const struct inventory *inventory,
			  const char *name);

/* Append the functions of the group of @address, itself included, that @ret_members lacks. */
void claim_group_add_members(const struct inventory *inventory, const char *address,
			     struct json_strs *ret_members);

/* Append the claims that @address may concern: the one of its name, the one of its record. */
void claim_group_add_claims(const char *node_name, const struct inventory *inventory,
			    const char *address, struct json_strs *ret_names);

/* Has a record been written for the claim @name? */
bool claim_group_is_recorded(const struct inventory *inventory, const char *name);

/* The claim's own function. */
const struct claim_function *claim_group_self(const struct claim_group *group);

/* Is it in the group of the claim's own function? */
bool claim_group_member(const struct claim_group *group, const struct claim_function *f);

/* A PCIe port: it keeps its driver and does not prevent a claim of the group. */
bool claim_function_is_port(const struct claim_function *f);

/* The driver that @claim asks for. */
const char *claim_driver(const struct pcideviceclaim *claim);

/* Is the device that is meant on the driver that @claim asks for? */
bool claim_function_on_driver(const struct claim_function *f, const struct pcideviceclaim *claim);

/* Does the record name this claim, this very one? */
bool claim_function_recorded_for(const struct claim_function *f,
				 const struct pcideviceclaim *claim);

/* Recorded for its own claim, and on its driver. */
bool claim_function_is_bound(const struct claim_function *f);

/* A function of the same model that the record of @f may as well be about, where that is a reason
 * not to bind @f again: the node has booted since it was bound, and its claim does not say that the
 * address is enough. NULL: there is none. */
const struct pci_facts *claim_twin_hinders(const struct claim_case *c,
					   const struct claim_function *f);
