#include "agent/wiring.h"

#include <assert.h>
#include <string.h>

#include "agent/claim/claims.h"
#include "agent/gpu/gpus.h"
#include "agent/inventory/inventory.h"
#include "agent/mdev/mdevs.h"
#include "agent/monitor/monitor.h"
#include "agent/nvidia/nvidia.h"
#include "agent/publish/publish.h"
#include "agent/resource/offers.h"
#include "agent/sriov/sriov.h"
#include "agent/usb/usb.h"
#include "api/names.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"
#include "kube/store.h"

/* --- the reconcilers, each with the keys that it can be asked to enqueue ---------------------- */

/* Enqueue the key, the name of an object of @kind; or all keys of a reconciler. */
typedef void key_fn(const struct wiring *w, enum inventory_kind kind, const char *key);
typedef void all_fn(const struct wiring *w);

/* The published object itself changed. */
static void publish_own(const struct wiring *w, enum inventory_kind kind, const char *key)
{
	publish_changed(w->publish, kind, key);
}

static void publish_key(const struct wiring *w, enum inventory_kind kind, const char *key)
{
	publish_enqueue(w->publish, kind, key);
}

static void publish_all(const struct wiring *w)
{
	publish_enqueue_all(w->publish);
}

static void claims_key(const struct wiring *w, enum inventory_kind kind, const char *key)
{
	(void)kind;
	claims_enqueue(w->claims, key);
}

static void claims_all(const struct wiring *w)
{
	claims_enqueue_all(w->claims);
}

static void usb_key(const struct wiring *w, enum inventory_kind kind, const char *key)
{
	(void)kind;
	usb_enqueue(w->usb, key);
}

static void usb_all(const struct wiring *w)
{
	usb_enqueue_all(w->usb);
}

static void usb_names(const struct wiring *w)
{
	usb_rename(w->usb);
}

static void sriov_all(const struct wiring *w)
{
	sriov_enqueue_all(w->sriov);
}

static void gpus_key(const struct wiring *w, enum inventory_kind kind, const char *key)
{
	(void)kind;
	gpus_enqueue_device(w->gpus, key);
}

static void gpus_all(const struct wiring *w)
{
	gpus_enqueue_all(w->gpus);
}

/* The parents of mediated devices, if there are any: one of these may be free now. */
static void mdevs_all(const struct wiring *w)
{
	mdevs_enqueue_all(w->mdevs);
}

static void mdevs_now(const struct wiring *w)
{
	mdevs_plan(w->mdevs);
}

/* The GPUs for containers. */
static void nvidia_all(const struct wiring *w)
{
	nvidia_find_gpus(w->nvidia);
}

static void nvidia_pods(const struct wiring *w)
{
	nvidia_pods_changed(w->nvidia);
}

/* All resources that are offered to the kubelet. */
static void offers(const struct wiring *w)
{
	offers_update_soon(w->offers);
}

static void offers_now(const struct wiring *w)
{
	offers_update(w->offers);
}

static void scan(const struct wiring *w)
{
	monitor_scan_again(w->monitor);
}

/* --- what changed -> which keys --------------------------------------------------------------- */

enum { KEY_MAX = 4, ALL_MAX = 12 }; /* with room for a few more */

static const struct {
	enum inventory_kind kind; /* of the object whose name is the key */
	key_fn *key[KEY_MAX + 1]; /* who gets the key; NULL ends         */
	all_fn *all[ALL_MAX + 1]; /* of whom all is enqueued; NULL ends  */
} rows[CHANGES] = {
	/* clang-format off */
	[CHANGE_PCIDEVICE] = { INVENTORY_PCI,
		.key = { publish_own, claims_key, gpus_key }, .all = { sriov_all, offers } },
	[CHANGE_USBDEVICE] = { INVENTORY_USB, .key = { publish_own, usb_key } },
	[CHANGE_MEDIATEDDEVICE] = { INVENTORY_MDEV, .key = { publish_own } },
	[CHANGE_MEDIATEDDEVICEPARENT] = { INVENTORY_MDEV_PARENT, .key = { publish_own } },

	[CHANGE_PCIDEVICECLAIM] = { INVENTORY_PCI,
		.key = { publish_key, claims_key, gpus_key },
		.all = { sriov_all, nvidia_all, offers } },
	[CHANGE_PCIDEVICECLAIM_EXISTS] = { .all = { usb_all } },
	[CHANGE_USBDEVICECLAIM] = { INVENTORY_USB, .key = { publish_key, usb_key } },
	[CHANGE_USB_CONTROLLER] = { INVENTORY_PCI, .key = { claims_key } },

	[CHANGE_PCI_LIST] = {
		.all = { offers, publish_all, claims_all, usb_all, sriov_all, gpus_all,
			 nvidia_all } },
	[CHANGE_USB_LIST] = { .all = { publish_all, claims_all, usb_all, usb_names, offers } },
	[CHANGE_MDEV_LIST] = { .all = { publish_all, usb_all, offers } },

	[CHANGE_INVENTORY] = {
		.all = { publish_all, claims_all, usb_all, sriov_all, gpus_all, nvidia_all,
			 mdevs_now, offers_now } },
	[CHANGE_CONFIG] = { .all = { publish_all, offers } },
	/* The device node of what is unplugged is gone before a scan can say so. */
	[CHANGE_UEVENT] = { .all = { offers } },
	[CHANGE_TASK] = { .all = { scan } },
	[CHANGE_ALLOCATABLE] = { .all = { usb_all } },
	[CHANGE_ALLOCATION] = { INVENTORY_PCI,
		.key = { publish_key, claims_key },
		.all = { usb_all, sriov_all, gpus_all, mdevs_all, offers } },
	[CHANGE_ALLOCATIONS] = {
		.all = { publish_all, claims_all, usb_all, sriov_all, gpus_all, nvidia_pods,
			 mdevs_all, offers } },
	[CHANGE_OFFERED] = { INVENTORY_PCI, .key = { claims_key } },

	[CHANGE_USB_NAMES] = { .all = { publish_all } },
	[CHANGE_USB_SELECTED] = { .all = { publish_all } },
	[CHANGE_MDEV_STATUS] = { .all = { publish_all } },
	[CHANGE_VGPU_RESOURCES] = { .all = { publish_all, offers } },
	[CHANGE_GENERIC_DEVICES] = { .all = { offers } },
	[CHANGE_CONTAINER_GPUS] = { .all = { offers, publish_all, claims_all } },
	[CHANGE_NIC_FUNCTIONS] = { .all = { claims_all } },
	[CHANGE_PARENT_NIC] = { INVENTORY_PCI, .key = { publish_key } },
	/* clang-format on */
};

void wiring_changed(const struct wiring *wiring, enum change change, const char *key)
{
	key_fn *const *one = rows[change].key;
	all_fn *const *all = rows[change].all;

	assert(!*one == !key);
	assert(*one || *all);
	while (*one)
		(*one++)(wiring, rows[change].kind, key);
	while (*all)
		(*all++)(wiring);
}

/* Claims of devices on a controller that is claimed as a whole concern the controller's claim. */
static void change_controller(const struct wiring *wiring, const struct entry *entry)
{
	const struct usbdeviceclaim *claim = entry ? entry->object : NULL;
	auto_free char *name = NULL;

	if (!claim || !claim->status.pci_address || !claim->status.node_name ||
	    strcmp(claim->status.node_name, wiring->node_name) != 0)
		return;
	name = names_pcidevice(wiring->node_name, claim->status.pci_address);
	wiring_changed(wiring, CHANGE_USB_CONTROLLER, name);
}

void wiring_object(const struct wiring *wiring, enum change change, const char *name,
		   const struct entry *before, const struct entry *after)
{
	wiring_changed(wiring, change, name);
	if (change == CHANGE_PCIDEVICECLAIM && (!before || !after))
		wiring_changed(wiring, CHANGE_PCIDEVICECLAIM_EXISTS, NULL);
	if (change == CHANGE_USBDEVICECLAIM) {
		change_controller(wiring, before);
		change_controller(wiring, after);
	}
}
