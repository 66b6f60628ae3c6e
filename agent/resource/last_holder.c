#include "agent/resource/last_holder.h"

#include <string.h>

#include "api/mediateddevice.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/mem.h"
#include "kube/store.h"

bool last_holder_is_pod(const char *holder)
{
	return holder && (strncmp(holder, "pod ", strlen("pod ")) == 0 ||
			  strncmp(holder, "a pod ", strlen("a pod ")) == 0);
}

char *last_holder_first_pod(const struct pcidevice_allocations *list)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct pcidevice_allocation *item = &list->items[i];

		if (!item->resource_claim)
			return xasprintf("pod %s/%s", item->namespace, item->pod);
	}
	return NULL;
}

/* The PCIDevice of @address as it was written last; NULL: there is none. */
static const struct pcidevice *device_at(const struct last_holder *last, const char *address)
{
	auto_free char *name = names_pcidevice(last->node_name, address);
	const struct pcidevice *device = store_object(last->devices, name);

	return device && device->status.address && strcmp(device->status.address, address) == 0
		       ? device
		       : NULL;
}

char *last_holder_pod(const struct last_holder *last, const char *id)
{
	auto_free char *name = names_pcidevice(last->node_name, id);
	auto_free char *mdev_name = names_mediateddevice(last->node_name, id);
	const struct pcidevice *device = device_at(last, id);
	const struct pcideviceclaim *claim = store_object(last->claims, name);
	const struct mediateddevice *mdev =
		last->mdevs ? store_object(last->mdevs, mdev_name) : NULL;
	char *pod = NULL;

	if (device)
		pod = last_holder_first_pod(&device->status.allocations);
	else if (mdev && mdev->status.uuid && strcmp(mdev->status.uuid, id) == 0)
		pod = last_holder_first_pod(&mdev->status.allocations);
	if (!pod && claim && strchr(id, ':') && last_holder_is_pod(claim->status.holder))
		pod = xstrdup(claim->status.holder);
	return pod;
}

const struct pcidevice_allocations *last_holder_allocations(const struct last_holder *last,
							    const char *address)
{
	const struct pcidevice *device = device_at(last, address);

	return device ? &device->status.allocations : NULL;
}
