#include "agent/claim/claim_pods.h"

#include <stddef.h>

#include "agent/claim/claim_ties.h"
#include "agent/claim/claims.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "api/json_values.h"
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

static void add_usb(const struct claims_deps *deps, const struct usb_facts *usb,
		    struct json_pairs *pods)
{
	auto_free char *holder = NULL;
	auto_free char *text = NULL;

	if (json_pairs_get(pods, usb->pci_address) ||
	    deps->is_usb_free(deps->arg, usb->port, &holder))
		return;
	text = holder ? xasprintf("%s has the device in port %s: delete the pod, or this claim",
				  holder, usb->port)
		      : xasprintf("it is not known yet whether a pod has the device in port %s",
				  usb->port);
	json_pairs_set(pods, usb->pci_address, text);
}

void claim_pods_usb(const struct claims_deps *deps, const struct inventory *inventory,
		    const char *address, struct json_pairs *ret_pods)
{
	const struct facts *facts = inventory->facts;
	struct json_strs members = { 0 };

	if (!address || !deps->is_usb_free)
		return;
	claim_ties_members(inventory, address, &members);
	for (size_t i = 0; i < facts->usb.len; i++) {
		const struct usb_facts *usb = &facts->usb.items[i];

		if (usb->port && !usb->hub && usb->pci_address &&
		    json_strs_has(&members, usb->pci_address))
			add_usb(deps, usb, ret_pods);
	}
	json_strs_done(&members);
}
