#include "agent/device_count.h"

#include "agent/inventory/inventory.h"
#include "agent/inventory/native_driver.h"
#include "api/kind.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "base/mem.h"
#include "kube/metrics.h"

enum device_state {
	STATE_CLAIMABLE,
	STATE_UNCLAIMABLE,
	STATE_PASSTHROUGH,
	STATE_PRESENT,
	STATES,
};

static const char *const state_texts[STATES] = {
	[STATE_CLAIMABLE] = "claimable",     /* the node can spare it                   */
	[STATE_UNCLAIMABLE] = "unclaimable", /* it cannot                               */
	[STATE_PASSTHROUGH] = "passthrough", /* on vfio-pci or the like                 */
	[STATE_PRESENT] = "present",         /* of a kind without claims for one device */
};

static const struct metric_desc devices_desc = {
	.name = "hostdev_devices",
	.help = "Devices of this node by kind and whether they can be claimed.",
	.type = METRIC_GAUGE,
	.labels = { "kind", "state" },
};

static enum device_state claimable(const struct api_conditions *conditions)
{
	return api_conditions_status(conditions, "Claimable") == API_TRUE ? STATE_CLAIMABLE
									  : STATE_UNCLAIMABLE;
}

static enum device_state state_of(enum inventory_kind kind, const void *object)
{
	const struct pcidevice *pci = object;
	const struct usbdevice *usb = object;

	switch (kind) {
	case INVENTORY_PCI:
		return native_driver_is_passthrough(pci->status.kernel_driver_in_use)
			       ? STATE_PASSTHROUGH
			       : claimable(&pci->status.conditions);
	case INVENTORY_USB:
		return claimable(&usb->status.conditions);
	case INVENTORY_MDEV:
	case INVENTORY_MDEV_PARENT:
	case INVENTORY_KINDS:
		return STATE_PRESENT;
	}
	return STATE_PRESENT;
}

static bool can_be(enum inventory_kind kind, enum device_state state)
{
	switch (kind) {
	case INVENTORY_PCI:
		return state != STATE_PRESENT;
	case INVENTORY_USB:
		return state == STATE_CLAIMABLE || state == STATE_UNCLAIMABLE;
	case INVENTORY_MDEV:
	case INVENTORY_MDEV_PARENT:
	case INVENTORY_KINDS:
		return state == STATE_PRESENT;
	}
	return false;
}

static void set(struct metric *devices, enum inventory_kind kind, const int64_t n[STATES])
{
	for (enum device_state state = 0; state < STATES; state++) {
		if (can_be(kind, state))
			metric_set(devices, n[state],
				   (const char *const[]){ inventory_kinds[kind]->kind,
							  state_texts[state] });
	}
}

struct metric *device_count_new(struct metrics *metrics)
{
	struct metric *devices = metrics_family(metrics, &devices_desc);

	for (enum inventory_kind kind = 0; kind < INVENTORY_KINDS; kind++)
		set(devices, kind, (const int64_t[STATES]){ 0 });
	return devices;
}

void device_count_set(struct metric *devices, const struct inventory *inventory)
{
	for (enum inventory_kind kind = 0; kind < INVENTORY_KINDS; kind++) {
		const struct inventory_set *all = &inventory->sets[kind];
		int64_t n[STATES] = { 0 };

		for (size_t i = 0; i < all->len; i++)
			n[state_of(kind, all->objects[i])]++;
		set(devices, kind, n);
	}
}
