#include "agent/claim/claim_usb.h"

#include <stdbool.h>
#include <string.h>

#include "agent/claim/claim_plan.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"
#include "kube/store.h"

/* One that has no device yet looks at the controller's claim itself. */
static bool is_on(const struct claim_case *c, const struct usbdeviceclaim *claim,
		  const char *address)
{
	const struct usbdeviceclaim_status *status = &claim->status;

	return status->port_path && !usbdeviceclaim_waits(claim) && status->node_name &&
	       status->pci_address && strcmp(status->node_name, c->node_name) == 0 &&
	       strcmp(status->pci_address, address) == 0;
}

char *claim_usb_claims(const struct claim_case *c, const char *address)
{
	const struct entry *entry;
	const char *first = NULL;
	size_t cursor = 0;
	size_t len = 0;

	while (c->usb_claims && (entry = store_next(c->usb_claims, &cursor))) {
		if (!entry->object || !is_on(c, entry->object, address))
			continue;
		if (!first || strcmp(entry->name, first) < 0)
			first = entry->name;
		len++;
	}
	if (len == 0)
		return NULL;
	return len == 1 ? xasprintf("USBDeviceClaim '%s'", first)
			: xasprintf("USBDeviceClaim '%s' and %zu more", first, len - 1);
}
