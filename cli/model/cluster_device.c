#include "cli/model/cluster_device.h"

#include "api/mediateddevice.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"

static const char *text(const char *value)
{
	return value ? value : "";
}

static void take_pci(struct cluster_device *device, const struct pcidevice *pci)
{
	const struct pcidevice_status *s = &pci->status;

	*device = (struct cluster_device){
		.type = DEVICE_PCI,
		.is_there = true,
		.name = pci->meta.name,
		.node = text(s->node_name),
		.address = text(s->address),
		.group = text(s->iommu_group),
		.driver = text(s->kernel_driver_in_use),
		.description = text(s->description),
		.resource = text(s->resource_name),
		.class_id = text(s->class_id),
		.holder = "",
		.user = "",
		.numa_node = s->numa_node,
		.object = pci,
		.conditions = &s->conditions,
		.allocations = &s->allocations,
	};
}

/* A device's driver is that of its first interface that has one. */
static const char *usb_driver(const struct usbdevice_status *s)
{
	for (size_t i = 0; i < s->interfaces.len; i++) {
		if (s->interfaces.items[i].driver)
			return s->interfaces.items[i].driver;
	}
	return "";
}

static void take_usb(struct cluster_device *device, const struct usbdevice *usb)
{
	const struct usbdevice_status *s = &usb->status;

	*device = (struct cluster_device){
		.type = DEVICE_USB,
		.is_there = true,
		.name = usb->meta.name,
		.node = text(s->node_name),
		.address = text(s->port_path),
		.group = "",
		.driver = usb_driver(s),
		.description = text(s->description),
		.resource = text(s->resource_name),
		.class_id = "",
		.holder = text(s->holder),
		.user = "",
		.numa_node = -1,
		.object = usb,
		.conditions = &s->conditions,
		.allocations = &s->allocations,
	};
}

static void take_mdev(struct cluster_device *device, const struct mediateddevice *mdev)
{
	const struct mediateddevice_status *s = &mdev->status;

	*device = (struct cluster_device){
		.type = DEVICE_MDEV,
		.is_there = true,
		.name = mdev->meta.name,
		.node = text(s->node_name),
		.address = text(s->uuid),
		.group = text(s->iommu_group),
		.driver = text(s->device_api),
		.description = text(s->type_name),
		.resource = text(s->resource_name),
		.class_id = "",
		.holder = "",
		.user = "",
		.numa_node = s->numa_node,
		.object = mdev,
		.allocations = &s->allocations,
	};
}

static void take_claim_alone(struct cluster_device *device, enum device_type type, const char *name,
			     const char *node, const char *address)
{
	*device = (struct cluster_device){
		.type = type,
		.name = name,
		.node = text(node),
		.address = text(address),
		.group = "",
		.driver = "",
		.description = "",
		.resource = "",
		.class_id = "",
		.holder = "",
		.user = "",
		.numa_node = -1,
	};
}

static void add_pciclaim(struct cluster_device *device, const struct pcideviceclaim *claim)
{
	device->claim = &claim->meta;
	device->claim_object = claim;
	device->claim_conditions = &claim->status.conditions;
	device->user = text(claim->spec.user_name);
	device->holder = text(claim->status.holder);
}

static void add_usbclaim(struct cluster_device *device, const struct usbdeviceclaim *claim)
{
	device->claim = &claim->meta;
	device->claim_object = claim;
	device->claim_conditions = &claim->status.conditions;
	device->user = text(claim->spec.user_name);
	if (claim->status.holder)
		device->holder = claim->status.holder;
}

void cluster_device_take(struct cluster_device *device, enum cluster_kind kind, const void *object)
{
	if (kind == CLUSTER_PCIDEVICE)
		take_pci(device, object);
	else if (kind == CLUSTER_USBDEVICE)
		take_usb(device, object);
	else
		take_mdev(device, object);
}

void cluster_device_take_claim(struct cluster_device *device, enum cluster_kind kind,
			       const void *object)
{
	const struct pcideviceclaim *pci = object;
	const struct usbdeviceclaim *usb = object;

	if (kind == CLUSTER_PCICLAIM)
		take_claim_alone(device, DEVICE_PCI, pci->meta.name, pci->spec.node_name,
				 pci->spec.address);
	else
		take_claim_alone(device, DEVICE_USB, usb->meta.name, usb->status.node_name,
				 usb->status.port_path);
}

void cluster_device_add_claim(struct cluster_device *device, const struct cluster *cluster)
{
	const struct pcideviceclaim *pci = cluster_get(cluster, CLUSTER_PCICLAIM, device->name);
	const struct usbdeviceclaim *usb = cluster_get(cluster, CLUSTER_USBCLAIM, device->name);

	if (device->type == DEVICE_PCI && pci)
		add_pciclaim(device, pci);
	if (device->type == DEVICE_USB && usb)
		add_usbclaim(device, usb);
}
