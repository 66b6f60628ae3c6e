#include "controller/pools/pool_share.h"

#include <stddef.h>

bool pool_share_counts(enum view_kind kind)
{
	return kind == VIEW_PCIDEVICE || kind == VIEW_USBDEVICE || kind == VIEW_MEDIATEDDEVICE;
}

enum view_kind pool_share_claim_kind(enum view_kind kind)
{
	if (kind == VIEW_PCIDEVICE)
		return VIEW_PCICLAIM;
	return kind == VIEW_USBDEVICE ? VIEW_USBCLAIM : VIEW_KINDS;
}

/* A PCI device may be lent by a HostDeviceConfig, unless it is claimed. A mediated device has a resource while it is lent. A USB device has one of its own, which is nobody's
 * business before it is claimed. */
struct pool_share pool_share_of(enum view_kind kind, const char *name, const struct view *device,
				const struct view *claim, char **ret_text)
{
	bool mediated = kind == VIEW_MEDIATEDDEVICE;
	struct pool_share share = { 0 };

	*ret_text = NULL;
	if (!device || (kind == VIEW_USBDEVICE && !claim))
		return share;
	*ret_text = view_lent(name, device, kind == VIEW_PCIDEVICE ? claim : NULL);
	share.resource = *ret_text;
	share.node = device->node;
	share.claimed = mediated || claim || device->lent;
	share.ready = mediated ||
		      (claim ? claim->ready && !claim->deleting : device->lent && device->ready);
	share.allocated = device->allocated;
	return share;
}
