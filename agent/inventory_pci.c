#include "agent/inventory_pci.h"

#include <string.h>

#include "agent/claimable.h"
#include "agent/facts.h"
#include "agent/id_names.h"
#include "api/description.h"
#include "api/names.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/resource_name.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"

struct map *inventory_pci_groups(const struct facts *facts)
{
	struct map *groups = map_new();

	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];
		struct json_strs *members;

		if (!pci->iommu_group)
			continue;
		members = map_get(groups, pci->iommu_group);
		if (!members) {
			members = xcalloc(1, sizeof(*members));
			map_set(groups, pci->iommu_group, members);
		}
		json_strs_add(members, pci->address);
	}
	return groups;
}

void inventory_pci_groups_free(struct map *groups)
{
	size_t cursor = 0;
	void *members;

	while (map_next(groups, &cursor, NULL, &members)) {
		json_strs_done(members);
		free(members);
	}
	map_free(groups);
}

static uint16_t id_of(const char *hex)
{
	uint64_t value = 0;

	str_to_hex(hex, &value);
	return (uint16_t)value;
}

static void set_names(struct pcidevice_status *status, const struct inventory_pci_source *source)
{
	const struct pci_facts *pci = source->pci;
	auto_free char *id = xasprintf("pci:%s:%s", pci->vendor, pci->device);
	auto_free char *class_id =
		xasprintf("pciclass:%s", status->class_id ? status->class_id : "");
	const struct id_name *name = id_names_get(source->names, id);
	const struct id_name *class_name = id_names_get(source->names, class_id);

	status->resource_name = resource_name_pci(name->first, name->second, id_of(pci->device));
	status->description = description_pci(&(struct description_pci){
		.vendor_id = id_of(pci->vendor),
		.device_id = id_of(pci->device),
		.class_id = id_of(status->class_id),
		.vendor = name->first,
		.device = name->second,
		.class_ = class_name->first,
		.subclass = class_name->second,
	});
}

static void copy_list(struct json_strs *to, const struct json_strs *from)
{
	for (size_t i = 0; from && i < from->len; i++)
		json_strs_add(to, from->items[i]);
}

static void set_group(struct pcidevice_status *status, const struct inventory_pci_source *source)
{
	const char *group = source->pci->iommu_group;

	if (!group)
		return;
	status->iommu_group = xstrdup(group);
	copy_list(&status->iommu_group_members, map_get(source->groups, group));
	json_strs_sort(&status->iommu_group_members);
}

static void set_status(struct pcidevice_status *status, const struct inventory_pci_source *source)
{
	const struct pci_facts *pci = source->pci;

	status->address = xstrdup(pci->address);
	status->vendor_id = xstrdup(pci->vendor);
	status->device_id = xstrdup(pci->device);
	status->class_id = pci->class_code ? xstrndup(pci->class_code, 4) : NULL;
	status->node_name = xstrdup(source->node_name);
	status->kernel_driver_in_use = xstrdup_or_null(pci->driver);
	status->numa_node = pci->numa_node;
	status->subsystem_vendor_id = xstrdup_or_null(pci->subsystem_vendor);
	status->subsystem_device_id = xstrdup_or_null(pci->subsystem_device);
	status->revision = xstrdup_or_null(pci->revision);
	status->role = xstrdup_or_null(pci->role);
	status->physical_function = xstrdup_or_null(pci->physical_function);
	status->total_vfs = pci->total_vfs;
	status->num_vfs = pci->num_vfs;
	status->serial_number = xstrdup_or_null(pci->serial);
	status->boot_vga = pci->boot_vga;
	copy_list(&status->reset_methods, &pci->reset_methods);
	set_group(status, source);
	set_names(status, source);
}

struct pcidevice *inventory_pci_object(const struct inventory_pci_source *source,
				       int64_t now_wall_ms)
{
	struct pcidevice *device = api_object_new(&pcidevice_kind);
	auto_free char *label = names_label_value(source->node_name);
	const char *driver = source->pci->driver;

	device->meta.name = names_pcidevice(source->node_name, source->pci->address);
	json_pairs_set(&device->meta.labels, NAMES_LABEL_NODE, label);
	/* What the device goes back to when a claim ends, so never a driver that lends it. */
	if (driver && strcmp(driver, "vfio-pci") != 0)
		json_pairs_set(&device->meta.annotations, NAMES_ANNOTATION_DRIVER, driver);

	set_status(&device->status, source);
	api_conditions_set(&device->status.conditions,
			   &(struct api_condition_value){
				   .type = "Claimable",
				   .status = source->verdict->claimable ? API_TRUE : API_FALSE,
				   .reason = source->verdict->reason,
				   .message = source->verdict->message,
			   },
			   now_wall_ms);
	return device;
}
