#include "agent/sriov/sriov_use.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/sriov/sriov.h"
#include "agent/sriov/sriov_look.h"
#include "api/names.h"
#include "base/mem.h"
#include "kube/informer.h"
#include "kube/store.h"

void sriov_use_done(struct sriov_use *use)
{
	free(use->text);
	*use = (struct sriov_use){ 0 };
}

/* A record outlives its claim until the device was given back. */
char *sriov_use_claim(const struct sriov_deps *deps, const struct inventory *inventory,
		      const char *address)
{
	auto_free char *name = names_pcidevice(deps->node_name, address);
	const struct facts *facts = inventory->facts;

	if (store_get(informer_store(deps->claims), name))
		return take_ptr(name);
	for (size_t i = 0; i < facts->records.len; i++) {
		const struct record_facts *record = &facts->records.items[i];

		if (strcmp(record->address, address) == 0)
			return xstrdup(record->claim ? record->claim : name);
	}
	return NULL;
}

/* What the node does with it by itself. */
static char *used_by_host(const struct inventory *inventory, const char *address)
{
	const struct verdict *verdict = sriov_look_verdict(inventory, address);

	if (verdict && strcmp(verdict->reason, "UseUnknown") == 0)
		return xasprintf("%s may be in use by the node: %s", address, verdict->message);
	if (!verdict || (strcmp(verdict->reason, "InUse") != 0 && !sriov_look_critical(verdict)))
		return NULL;
	return xasprintf("%s is in use by the node: %s", address, verdict->message);
}

static void look_at(const struct sriov_deps *deps, const struct inventory *inventory,
		    const char *address, struct sriov_use *use)
{
	auto_free char *claim = sriov_use_claim(deps, inventory, address);
	auto_free char *holder = NULL;
	bool free_ = true;

	if (claim) {
		use->text = xasprintf("%s is claimed by %s", address, claim);
		return;
	}
	if (deps->is_free)
		free_ = deps->is_free(deps->arg, address, &holder);
	if (!free_ && !holder)
		use->unknown = true;
	else if (!free_)
		use->text = xasprintf("%s was given to %s", address, holder);
	else
		use->text = used_by_host(inventory, address);
}

void sriov_use_find(const struct sriov_deps *deps, const struct inventory *inventory,
		    const struct pci_facts *pf, struct sriov_use *ret_use)
{
	struct sriov_use use = { 0 };

	for (size_t i = 0; i < pf->virtual_functions.len && !use.text; i++)
		look_at(deps, inventory, pf->virtual_functions.items[i], &use);
	*ret_use = use;
}
