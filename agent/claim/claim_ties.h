/* claim_ties: which functions and claims an inventory ties together: by IOMMU group and by record. */
#pragma once

#include <stdbool.h>

struct inventory;
struct json_strs;

/* The address of the claim @name, from its name or else from a record; NULL: the claim is not of
 * this node. The caller frees. */
char *claim_ties_address(const char *node_name, const struct inventory *inventory,
			 const char *name);

/* Append the functions of the group of @address, itself included, that @ret_members lacks. */
void claim_ties_members(const struct inventory *inventory, const char *address,
			struct json_strs *ret_members);

/* Append the claims that @address may concern: the one of its name, the one of its record. */
void claim_ties_claims(const char *node_name, const struct inventory *inventory,
		       const char *address, struct json_strs *ret_names);

/* Has a record been written for the claim @name? */
bool claim_ties_has_record(const struct inventory *inventory, const char *name);
