/*
 * wiring: what changed -> which keys of which reconciler are enqueued: one table.
 *
 * The caller names the change, and does not know which reconcilers it concerns. What they decide on
 * (a cache, the inventory, the kubelet's allocations) has changed before the call. Their keys are
 * enqueued now and reconciled when the loop continues. So neither the order of changes nor the
 * order of the entries in a row changes the result; what a kubelet waits for is enqueued first. A
 * new inventory plans mediated devices and offers resources at once, in either order: a plan that
 * runs last offers again.
 */
#pragma once

struct claims;
struct config_watch;
struct drm;
struct entry;
struct generics;
struct gpus;
struct hami;
struct offers;
struct monitor;
struct mdevs;
struct nvidia;
struct publish;
struct sriov;
struct usb;

/* The parts of the agent of one node. Borrowed; all of them are there before the first change. */
struct wiring {
	const char *node_name;
	struct publish *publish;
	struct claims *claims;
	struct usb *usb;
	struct sriov *sriov;
	struct gpus *gpus;
	struct mdevs *mdevs;
	struct nvidia *nvidia;
	struct hami *hami;
	struct drm *drm;
	struct generics *generics;
	struct offers *offers;
	struct monitor *monitor;
	struct config_watch *config;
};

/* What can change, and what its key is. */
enum change {
	/* An object in the cache; its name. wiring_object() is for these. */
	CHANGE_PCIDEVICE,
	CHANGE_USBDEVICE,
	CHANGE_MEDIATEDDEVICE,
	CHANGE_MEDIATEDDEVICEPARENT,
	CHANGE_PCIDEVICECLAIM,
	CHANGE_USBDEVICECLAIM,
	/* What follows from such a change: a PCIDeviceClaim was created or deleted (no key); the
	 * USBDeviceClaims on a USB controller changed (the name of its PCIDevice). */
	CHANGE_PCIDEVICECLAIM_EXISTS,
	CHANGE_USB_CONTROLLER,

	/* The first list is there: of the devices of these kinds, or of their claims. No key. */
	CHANGE_PCI_LIST,
	CHANGE_USB_LIST,
	CHANGE_MDEV_LIST, /* also of the parents of mediated devices */

	/* The node. No key, but for CHANGE_ALLOCATION and CHANGE_OFFERED: the name of a
	 * PCIDevice. */
	CHANGE_INVENTORY,   /* all parts have it                                               */
	CHANGE_CONFIG,      /* the HostDeviceConfig; all parts have it                         */
	CHANGE_UEVENT,      /* of a device                                                     */
	CHANGE_TASK,        /* a task that changes devices has ended                           */
	CHANGE_ALLOCATABLE, /* of the Node                                                     */
	CHANGE_ALLOCATION, /* which pod has the device, or what the HostDeviceConfig offers of it */
	CHANGE_ALLOCATIONS, /* likewise, of any device                                         */
	CHANGE_OFFERED,     /* whether the kubelet offers the device                           */

	/* What the parts have found out. No key, but for CHANGE_PARENT_NIC: the name of a
	 * PCIDevice. */
	CHANGE_USB_NAMES,       /* of the inventory's USBDevices                               */
	CHANGE_USB_SELECTED,    /* what the HostDeviceConfig offers of USB devices             */
	CHANGE_MDEV_STATUS,     /* conditions of parents, or resources of mediated devices     */
	CHANGE_VGPU_RESOURCES,  /* resources of mediated devices that are vGPUs                */
	CHANGE_GENERIC_DEVICES, /* device nodes, sockets, and /dev/iommu                       */
	CHANGE_CONTAINER_GPUS,  /* GPUs for containers, or their health                        */
	CHANGE_NIC_FUNCTIONS,   /* a network card may have its settings now: see sriov_holds() */
	CHANGE_PARENT_NIC,      /* sriov_parent() of the device                                */

	CHANGES
};

/* @key: NULL if @change has none. */
void wiring_changed(const struct wiring *wiring, enum change change, const char *key);

/* An object changed in the cache, as struct informer_handlers has it. */
void wiring_object(const struct wiring *wiring, enum change change, const char *name,
		   const struct entry *before, const struct entry *after);
