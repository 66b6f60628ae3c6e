#include "controller/kubevirt/permit_offered.h"

#include <stdlib.h>
#include <string.h>

#include "api/hostdeviceconfig.h"
#include "api/json_map.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/cache/view.h"
#include "kube/store.h"

/* --- claims and mediated devices ---------------------------------------------------------------- */

static void add_pci(const struct store *const *stores, struct permit_desired *desired)
{
	const struct entry *claim;
	size_t cursor = 0;

	while ((claim = store_next(stores[VIEW_PCICLAIM], &cursor))) {
		const struct view *device = store_object(stores[VIEW_PCIDEVICE], claim->name);
		auto_free char *resource =
			device ? view_resource(claim->name, device, claim->object) : NULL;

		if (resource && device->model)
			permit_desired_add(desired, PERMIT_PCI, device->model, resource);
	}
}

static json_t *usb_selector(const char *vendor, size_t vendor_len, const char *product)
{
	return json_pack("{s:s%, s:s}", "vendor", vendor, vendor_len, "product", product);
}

static void add_usb(const struct store *const *stores, struct permit_desired *desired)
{
	const struct entry *claim;
	size_t cursor = 0;

	while ((claim = store_next(stores[VIEW_USBCLAIM], &cursor))) {
		const struct view *device = store_object(stores[VIEW_USBDEVICE], claim->name);
		const char *colon = device && device->model ? strchr(device->model, ':') : NULL;

		if (colon && device->resource)
			permit_desired_add_usb(
				desired, device->resource,
				json_pack("[o]", usb_selector(device->model,
							      (size_t)(colon - device->model),
							      colon + 1)));
	}
}

static void add_mediated(const struct store *const *stores, struct permit_desired *desired)
{
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(stores[VIEW_MEDIATEDDEVICE], &cursor))) {
		const struct view *device = entry->object;

		if (device && device->resource && device->model)
			permit_desired_add(desired, PERMIT_MEDIATED, device->model,
					   device->resource);
	}
}

/* --- configuration; the plugin that serves a resource permits it -------------------------------- */

static void add_config_usb(const struct hostdeviceconfig_usb *usb, struct permit_desired *desired)
{
	json_t *selectors = json_array();

	for (size_t i = 0; i < usb->selectors.len; i++) {
		const struct hostdeviceconfig_usb_selector *selector = &usb->selectors.items[i];

		if (selector->vendor && selector->product)
			json_array_append_new(selectors, usb_selector(selector->vendor,
								      strlen(selector->vendor),
								      selector->product));
	}
	permit_desired_add_usb(desired, usb->resource_name, selectors);
}

static void add_config(const struct hostdeviceconfig_spec *spec, struct permit_desired *desired)
{
	for (size_t i = 0; i < spec->pci_host_devices.len; i++) {
		const struct hostdeviceconfig_pci *pci = &spec->pci_host_devices.items[i];

		if (!pci->external_resource_provider && pci->resource_name &&
		    pci->pci_vendor_selector)
			permit_desired_add(desired, PERMIT_PCI, pci->pci_vendor_selector,
					   pci->resource_name);
	}
	for (size_t i = 0; i < spec->mediated_devices.len; i++) {
		const struct hostdeviceconfig_mdev *mdev = &spec->mediated_devices.items[i];

		if (!mdev->external_resource_provider && mdev->resource_name &&
		    mdev->mdev_name_selector)
			permit_desired_add(desired, PERMIT_MEDIATED, mdev->mdev_name_selector,
					   mdev->resource_name);
	}
	for (size_t i = 0; i < spec->usb.len; i++) {
		const struct hostdeviceconfig_usb *usb = &spec->usb.items[i];

		if (!usb->external_resource_provider && usb->resource_name)
			add_config_usb(usb, desired);
	}
}

void permit_offered(const struct store *const *stores, const struct hostdeviceconfig *config,
		    struct permit_desired *desired)
{
	add_pci(stores, desired);
	add_usb(stores, desired);
	add_mediated(stores, desired);
	if (config)
		add_config(&config->spec, desired);
	permit_desired_sort(desired);
}

/* --- changes ------------------------------------------------------------------------------------ */

static bool is_same_offer(const struct view *a, const struct view *b)
{
	if (!a || !b)
		return a == b;
	return str_equal(a->resource, b->resource) && str_equal(a->model, b->model) &&
	       a->fixed == b->fixed && a->alone == b->alone;
}

static const void *object_of(const struct entry *entry)
{
	return entry ? entry->object : NULL;
}

/* Most devices are not offered and do not matter. */
static bool is_relevant(const struct store *const *stores, enum view_kind kind, const char *name)
{
	if (kind == VIEW_PCIDEVICE)
		return store_get(stores[VIEW_PCICLAIM], name) != NULL;
	if (kind == VIEW_USBDEVICE)
		return store_get(stores[VIEW_USBCLAIM], name) != NULL;
	return true;
}

bool permit_offered_changed(const struct store *const *stores, enum view_kind kind,
			    const char *name, const struct entry *before, const struct entry *after)
{
	return is_relevant(stores, kind, name) &&
	       (!before != !after || !is_same_offer(object_of(before), object_of(after)));
}
