#include "controller/kubevirt/permit_desired.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/hostdeviceconfig.h"
#include "api/json_map.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/cache/view.h"
#include "kube/store.h"

static const struct {
	const char *name;
	const char *selector; /* NULL: identified by the resource alone */
} lists[PERMIT_LISTS] = {
	[PERMIT_PCI] = { "pciHostDevices", "pciVendorSelector" },
	[PERMIT_MEDIATED] = { "mediatedDevices", "mdevNameSelector" },
	[PERMIT_USB] = { "usb", NULL },
};

const char *permit_list_name(enum permit_list list)
{
	return lists[list].name;
}

char *permit_key(enum permit_list list, const json_t *entry)
{
	const char *resource = json_string_value(json_object_get(entry, "resourceName"));
	const char *selector = NULL;
	char *key;

	if (!resource)
		return NULL;
	if (!lists[list].selector)
		return xstrdup(resource);
	selector = json_string_value(json_object_get(entry, lists[list].selector));
	if (!selector)
		return NULL;
	key = xasprintf("%s=%s", selector, resource);
	for (char *c = key; list == PERMIT_PCI && *c && *c != '='; c++)
		*c = (char)tolower((unsigned char)*c);
	return key;
}

static void entry_add(struct permit_desired *desired, enum permit_list list, json_t *entry)
{
	struct permit_entry *added = array_add(&desired->lists[list]);

	added->json = entry;
	added->key = permit_key(list, entry);
}

void permit_desired_add(struct permit_desired *desired, enum permit_list list, const char *selector,
			const char *resource)
{
	entry_add(desired, list,
		  json_pack("{s:b, s:s, s:s}", "externalResourceProvider", true,
			    lists[list].selector, selector, "resourceName", resource));
}

void permit_desired_add_usb(struct permit_desired *desired, const char *resource, json_t *selectors)
{
	entry_add(desired, PERMIT_USB,
		  json_pack("{s:b, s:s, s:o}", "externalResourceProvider", true, "resourceName",
			    resource, "selectors", selectors));
}

/* A total order, so that the first of several entries with one key does not depend on their
 * input order. */
static int compare(const void *a, const void *b)
{
	const struct permit_entry *x = a;
	const struct permit_entry *y = b;
	int order = strcmp(x->key, y->key);
	auto_free char *x_text = NULL;
	auto_free char *y_text = NULL;

	if (order != 0)
		return order;
	x_text = json_map_text(x->json);
	y_text = json_map_text(y->json);
	return strcmp(x_text, y_text);
}

static void entry_done(struct permit_entry *entry)
{
	free(entry->key);
	json_decref(entry->json);
}

static void sort(struct permit_desired *desired, enum permit_list list)
{
	struct permit_entry *items = desired->lists[list].items;
	size_t len = desired->lists[list].len;
	size_t kept = 0;

	if (len == 0)
		return;
	qsort(items, len, sizeof(*items), compare);
	for (size_t i = 0; i < len; i++) {
		if (kept > 0 && strcmp(items[kept - 1].key, items[i].key) == 0)
			entry_done(&items[i]);
		else
			items[kept++] = items[i];
	}
	desired->lists[list].len = kept;
}

void permit_desired_sort(struct permit_desired *desired)
{
	for (int i = 0; i < PERMIT_LISTS; i++)
		sort(desired, (enum permit_list)i);
}

static int compare_key(const void *key, const void *entry)
{
	return strcmp(key, ((const struct permit_entry *)entry)->key);
}

const struct permit_entry *permit_desired_find(const struct permit_desired *desired,
					       enum permit_list list, const char *key)
{
	size_t len = desired->lists[list].len;

	if (len == 0)
		return NULL;
	return bsearch(key, desired->lists[list].items, len, sizeof(struct permit_entry),
		       compare_key);
}

void permit_desired_done(struct permit_desired *desired)
{
	for (int i = 0; i < PERMIT_LISTS; i++) {
		for (size_t j = 0; j < desired->lists[i].len; j++)
			entry_done(&desired->lists[i].items[j]);
		array_done(&desired->lists[i]);
	}
}

/* --- claims and mediated devices --- */

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

/* --- configuration; the plugin that serves a resource permits it --- */

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

void permit_desired_compute(const struct store *const *stores,
			    const struct hostdeviceconfig *config, struct permit_desired *desired)
{
	add_pci(stores, desired);
	add_usb(stores, desired);
	add_mediated(stores, desired);
	if (config)
		add_config(&config->spec, desired);
	permit_desired_sort(desired);
}

/* --- changes --- */

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

bool permit_desired_changed(const struct store *const *stores, enum view_kind kind,
			    const char *name, const struct entry *before, const struct entry *after)
{
	return is_relevant(stores, kind, name) &&
	       (!before != !after || !is_same_offer(object_of(before), object_of(after)));
}
