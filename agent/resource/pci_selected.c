#include "agent/resource/pci_selected.h"

#include <stdbool.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/vendor_vfio.h"
#include "agent/node/this_node.h"
#include "agent/plugin/plugins.h"
#include "agent/resource/pci_type.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "base/mem.h"
#include "base/num.h"
#include "kube/store.h"

/* The kernel allows these drivers in a group that is in use (vfio_dev_driver_allowed() of
 * drivers/vfio/group.c, driver_managed_dma of the drivers). */
static const char *const harmless[] = { "pci-stub", "pcieport", "shpchp" };

static bool is_vfio(const struct pci_view *view, const char *driver)
{
	return driver && (strcmp(driver, "vfio-pci") == 0 ||
			  json_strs_has(&view->node->vfio_drivers, driver));
}

/* A vGPU of the vendor's own driver is as good (KubeVirt's rule). */
static bool is_passthrough(const struct pci_view *view, const struct pcidevice *device)
{
	return is_vfio(view, device->status.kernel_driver_in_use) ||
	       vendor_vfio_serves_at(view->node->inventory->facts, device->status.address);
}

static bool matches(const struct config_pci *entry, const struct pcidevice *device)
{
	uint64_t vendor = 0;
	uint64_t id = 0;

	return !entry->external && str_to_hex(device->status.vendor_id, &vendor) &&
	       str_to_hex(device->status.device_id, &id) && vendor == entry->vendor &&
	       id == entry->device;
}

/* Two entries never select the same devices. */
static const struct config_pci *entry_for(const struct pci_view *view,
					  const struct pcidevice *device)
{
	const struct config *config = view->config;

	for (size_t i = 0; config && i < config->pci.len; i++) {
		if (matches(&config->pci.items[i], device))
			return &config->pci.items[i];
	}
	return NULL;
}

/* We have bound it, or are about to. */
static bool is_recorded(const struct pci_view *view, const char *address)
{
	const struct facts *facts = view->node->inventory->facts;

	for (size_t i = 0; i < facts->records.len; i++) {
		if (strcmp(facts->records.items[i].address, address) == 0)
			return true;
	}
	return false;
}

/* While it is being given back, a scan may find the driver that we have bound and no record any
 * more. */
static bool is_ours(const struct pci_view *view, const char *address)
{
	return is_recorded(view, address) || (view->moving && view->moving(view->arg, address));
}

static bool is_bound_on_demand(const struct pci_view *view, const struct pcidevice *device)
{
	auto_free char *bound_for =
		view->bound_for ? view->bound_for(view->arg, device->status.address) : NULL;

	return bound_for;
}

/* Bound for a ResourceClaim, or about to be given back after one. */
static bool is_or_was_bound(const struct pci_view *view, const struct pcidevice *device)
{
	return is_bound_on_demand(view, device) || is_ours(view, device->status.address);
}

const char *pci_selected_resource(const struct pci_view *view, const struct pcidevice *device)
{
	const struct config_pci *entry = entry_for(view, device);

	if (!entry || entry->dra != CONFIG_DRA_OFF || !is_passthrough(view, device) ||
	    store_get(view->claims, device->meta.name) || is_or_was_bound(view, device))
		return NULL;
	return entry->resource;
}

bool pci_selected_for_dra(const struct pci_view *view, const struct pcidevice *device)
{
	const struct config_pci *entry = entry_for(view, device);

	return entry && entry->dra != CONFIG_DRA_OFF;
}

const char *pci_selected_on_demand(const struct pci_view *view, const struct pcidevice *device)
{
	const struct config_pci *entry = entry_for(view, device);

	if (entry && is_bound_on_demand(view, device))
		return entry->resource;
	if (!entry || entry->dra != CONFIG_DRA_ON_DEMAND ||
	    store_get(view->claims, device->meta.name) ||
	    (is_passthrough(view, device) && !is_ours(view, device->status.address)))
		return NULL;
	return entry->resource;
}

bool pci_selected_hinders(const struct pci_view *view, const char *address, const char *driver)
{
	bool is_harmless = !driver || is_vfio(view, driver) ||
			   vendor_vfio_serves_at(view->node->inventory->facts, address);

	for (size_t i = 0; !is_harmless && i < ARRAY_LEN(harmless); i++)
		is_harmless = strcmp(driver, harmless[i]) == 0;
	return !is_harmless;
}

char *pci_selected_trouble(const struct pci_view *view, const struct pcidevice *device)
{
	const struct json_strs *members = &device->status.iommu_group_members;

	for (size_t i = 0; i < members->len; i++) {
		auto_free char *name = names_pcidevice(view->node->name, members->items[i]);
		const struct pcidevice *other =
			inventory_find(view->node->inventory, INVENTORY_PCI, name);

		if (other && pci_selected_hinders(view, other->status.address,
						  other->status.kernel_driver_in_use))
			return xasprintf("%s of its IOMMU group is bound to %s", members->items[i],
					 other->status.kernel_driver_in_use);
	}
	return NULL;
}

static void add_name_taken(const struct plugins *plugins, const char *type,
			   const struct config_trouble_value *entry,
			   struct config_troubles *troubles)
{
	const char *owner = plugins_owner(plugins, entry->resource);
	struct config_trouble_value trouble = *entry;
	auto_free char *text = NULL;

	if (!owner || strcmp(owner, type) == 0)
		return;
	text = xasprintf(
		"devices of another type (%s) already have this resource name on this node: give "
		"the entry another name",
		owner);
	trouble.reason = CONFIG_NAME_TAKEN;
	trouble.message = text;
	config_troubles_add(troubles, &trouble);
}

void pci_selected_collisions(const struct config *config, const struct plugins *plugins,
			     struct config_troubles *troubles)
{
	struct config_trouble_value entry = { .list = CONFIG_LIST_PCI };

	for (size_t i = 0; i < config->pci.len; i++) {
		entry.index = (int64_t)config->pci.items[i].index;
		entry.resource = config->pci.items[i].resource;
		if (!config->pci.items[i].external && config->pci.items[i].dra == CONFIG_DRA_OFF)
			add_name_taken(plugins, pci_device_type.name, &entry, troubles);
	}
	entry.list = CONFIG_LIST_USB;
	for (size_t i = 0; i < config->usb.len; i++) {
		entry.index = (int64_t)config->usb.items[i].index;
		entry.resource = config->usb.items[i].resource;
		if (!config->usb.items[i].external && config->usb.items[i].dra == CONFIG_DRA_OFF)
			add_name_taken(plugins, "usb", &entry, troubles);
	}
	entry.list = CONFIG_LIST_MDEV;
	for (size_t i = 0; i < config->mdevs.len; i++) {
		entry.index = (int64_t)config->mdevs.items[i].index;
		entry.resource = config->mdevs.items[i].resource;
		if (!config->mdevs.items[i].external &&
		    config->mdevs.items[i].dra == CONFIG_DRA_OFF)
			add_name_taken(plugins, "mdev", &entry, troubles);
	}
}
