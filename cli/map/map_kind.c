#include "cli/map/map_kind.h"

#include <stddef.h>

#include "api/event.h"
#include "api/kind.h"
#include "api/mediateddevice.h"
#include "api/migconfiguration.h"
#include "api/node.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "cli/map/map_card_parts.h"

const struct map_kind_row map_kinds[MAP_KINDS] = {
	[MAP_PCI] = { &pcidevice_kind, "pci", NULL },
	[MAP_PCI_CLAIM] = { &pcideviceclaim_kind, "pci", NULL },
	[MAP_USB] = { &usbdevice_kind, "usb", NULL },
	[MAP_USB_CLAIM] = { &usbdeviceclaim_kind, "usb", NULL },
	[MAP_MDEV] = { &mediateddevice_kind, "mdev", NULL },
	[MAP_VGPU] = { &vgpudevice_kind, "vgpu", NULL },
	[MAP_MIG] = { &migconfiguration_kind, "mig", NULL },
	[MAP_NODE] = { &node_kind, "node", NULL },
	/* Of all the events of a cluster only those about devices. */
	[MAP_EVENT_DEVICE] = { &event_kind, "event",
			       "involvedObject.apiVersion=devices.harvesterhci.io/v1beta1" },
	[MAP_EVENT_OWN] = { &event_kind, "event", "involvedObject.apiVersion=hostdev.io/v1alpha1" },
};

/* What the object says itself; may be NULL. */
static const char *said_node_of(enum map_kind what, const void *object)
{
	switch (what) {
	case MAP_PCI:
		return ((const struct pcidevice *)object)->status.node_name;
	case MAP_PCI_CLAIM:
		return ((const struct pcideviceclaim *)object)->spec.node_name;
	case MAP_USB:
		return ((const struct usbdevice *)object)->status.node_name;
	case MAP_USB_CLAIM:
		return ((const struct usbdeviceclaim *)object)->status.node_name;
	case MAP_MDEV:
		return ((const struct mediateddevice *)object)->status.node_name;
	case MAP_VGPU:
		return ((const struct vgpudevice *)object)->spec.node_name;
	case MAP_MIG:
		return ((const struct migconfiguration *)object)->spec.node_name;
	case MAP_NODE:
		return ((const struct node *)object)->meta.name;
	case MAP_EVENT_DEVICE:
	case MAP_EVENT_OWN:
	case MAP_KINDS:
		break;
	}
	return NULL;
}

const char *map_kind_node(enum map_kind what, const void *object)
{
	const char *node = map_card_node_name(said_node_of(what, object), object);

	return node ? node : "";
}
