#include "controller/admission/known.h"

#include <string.h>

#include "api/names.h"
#include "api/node.h"
#include "api/pcideviceclaim.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "api/virtualmachine.h"
#include "base/mem.h"
#include "controller/admission/device.h"
#include "kube/store.h"

const struct api_kind *const known_kinds[KNOWN_KINDS] = {
	[KNOWN_PCIDEVICE] = &device_pci_kind,
	[KNOWN_USBDEVICE] = &device_usb_kind,
	[KNOWN_PCICLAIM] = &pcideviceclaim_kind,
	[KNOWN_USBCLAIM] = &usbdeviceclaim_kind,
	[KNOWN_NODE] = &node_kind,
	[KNOWN_NIC] = &sriovnetworkdevice_kind,
	[KNOWN_GPU] = &sriovgpudevice_kind,
	[KNOWN_VGPU] = &vgpudevice_kind,
	[KNOWN_VM] = &virtualmachine_kind,
};

static const void *find(const struct known *known, enum known_kind kind, const char *name)
{
	return name ? store_object(known->stores[kind], name) : NULL;
}

const struct device *known_pcidevice(const struct known *known, const char *name)
{
	return find(known, KNOWN_PCIDEVICE, name);
}

const struct device *known_usbdevice(const struct known *known, const char *name)
{
	return find(known, KNOWN_USBDEVICE, name);
}

const struct pcideviceclaim *known_pciclaim(const struct known *known, const char *name)
{
	return find(known, KNOWN_PCICLAIM, name);
}

const struct usbdeviceclaim *known_usbclaim(const struct known *known, const char *name)
{
	return find(known, KNOWN_USBCLAIM, name);
}

const struct sriovgpudevice *known_gpu(const struct known *known, const char *name)
{
	return find(known, KNOWN_GPU, name);
}

const struct vgpudevice *known_vgpu(const struct known *known, const char *name)
{
	return find(known, KNOWN_VGPU, name);
}

const char *known_uid(const struct known *known, enum known_kind kind, const char *name)
{
	const struct entry *entry = store_get(known->stores[kind], name);

	return entry ? entry->uid : "";
}

bool known_node_gone(const struct known *known, const char *name)
{
	const struct entry *entry =
		known_empty(name) ? NULL : store_get(known->stores[KNOWN_NODE], name);
	const struct node *node = entry ? entry->object : NULL;

	return !entry || (node && node->meta.deletion_timestamp);
}

const void *known_next(const struct known *known, enum known_kind kind, size_t *cursor)
{
	const struct entry *entry;

	while ((entry = store_next(known->stores[kind], cursor))) {
		if (entry->object)
			return entry->object;
	}
	return NULL;
}

const struct device *known_pci_at(const struct known *known, const char *node, const char *address)
{
	auto_free char *name = NULL;

	if (known_empty(node) || known_empty(address))
		return NULL;
	name = names_pcidevice(node, address);
	return known_pcidevice(known, name);
}

const struct pcideviceclaim *known_pciclaim_at(const struct known *known, const char *node,
					       const char *address)
{
	auto_free char *name = NULL;

	if (known_empty(node) || known_empty(address))
		return NULL;
	name = names_pcidevice(node, address);
	return known_pciclaim(known, name);
}

bool known_same(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

bool known_empty(const char *text)
{
	return !text || !*text;
}
