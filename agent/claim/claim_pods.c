#include "agent/claim/claim_pods.h"

#include <stddef.h>

#include "agent/claim/claim_ties.h"
#include "agent/claim/claims.h"
#include "base/mem.h"

char *claim_pods_find(const struct claims_deps *deps, const struct inventory *inventory,
		      const char *address, char **ret_holder)
{
	struct json_strs members = { 0 };
	char *found = NULL;

	if (!address || !deps->is_free)
		return NULL;
	claim_ties_members(inventory, address, &members);
	for (size_t i = 0; i < members.len && !found; i++) {
		if (!deps->is_free(deps->arg, members.items[i], ret_holder))
			found = xstrdup(members.items[i]);
	}
	json_strs_done(&members);
	return found;
}
