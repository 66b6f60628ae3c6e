#include "agent/inventory/inventory_pci.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/id_names.h"
#include "agent/inventory/limits.h"
#include "agent/inventory/native_driver.h"
#include "api/description.h"
#include "api/names.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/resource_name.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

enum {
	ADDRESS_MAX = 16,
	BRIDGES_MAX = 32,
	MEMBERS_MAX = 1024,
	RESETS_MAX = 16,
	RESET_LEN_MAX = 32,
	VFS_MAX = 65535,
};

static bool is_role(const char *text, size_t max)
{
	(void)max;
	return strcmp(text, PCIDEVICE_ROLE_FUNCTION) == 0 || strcmp(text, PCIDEVICE_ROLE_PF) == 0 ||
	       strcmp(text, PCIDEVICE_ROLE_VF) == 0;
}

/* What is not here is made by functions that keep to the schema themselves. */
#define S struct pcidevice_status
static const struct limit limits[] = {
	LIMIT(S, address, ADDRESS_MAX, limit_is_address),
	LIMIT(S, vendor_id, 4, limit_is_id),
	LIMIT(S, device_id, 4, limit_is_id),
	LIMIT(S, class_id, 4, limit_is_id),
	LIMIT(S, iommu_group, 10, limit_is_number),
	LIMIT(S, kernel_driver_in_use, 255, NULL),
	LIMIT(S, subsystem_vendor_id, 4, limit_is_id),
	LIMIT(S, subsystem_device_id, 4, limit_is_id),
	LIMIT(S, revision, 2, limit_is_id),
	LIMIT(S, role, 0, is_role),
	LIMIT(S, physical_function, ADDRESS_MAX, limit_is_address),
	LIMIT(S, serial_number, 64, NULL),
};
#undef S

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

static void set_names(struct pcidevice_status *status, const struct id_names *names)
{
	auto_free char *id = xasprintf("pci:%s:%s", str_or_empty(status->vendor_id),
				       str_or_empty(status->device_id));
	auto_free char *class_id = xasprintf("pciclass:%s", str_or_empty(status->class_id));
	const struct id_name *name = id_names_get(names, id);
	const struct id_name *class_name = id_names_get(names, class_id);
	uint16_t device = str_to_hex16(status->device_id);

	status->resource_name = resource_name_pci(name->first, name->second, device);
	status->description = description_pci(&(struct description_pci){
		.vendor_id = str_to_hex16(status->vendor_id),
		.device_id = device,
		.class_id = str_to_hex16(status->class_id),
		.vendor = name->first,
		.device = name->second,
		.class_ = class_name->first,
		.subclass = class_name->second,
	});
	status->short_description = description_short(status->description);
}

/* However large the group is, the function itself is listed. */
static void set_group(struct pcidevice_status *status, const struct inventory_pci_source *source)
{
	const char *group = source->pci->iommu_group;
	const char *self = source->pci->address;
	struct json_strs *list = &status->iommu_group_members;
	const struct json_strs *members;

	if (!group)
		return;
	status->iommu_group = xstrdup(group);
	members = map_get(source->groups, group);
	for (size_t i = 0; members && i < members->len && list->len < MEMBERS_MAX - 1; i++) {
		if (strcmp(members->items[i], self) != 0)
			json_strs_add(list, members->items[i]);
	}
	json_strs_add(list, self);
	json_strs_sort(list);
	limit_list(list, MEMBERS_MAX, ADDRESS_MAX, limit_is_address);
}

static void set_bridges(struct pcidevice_status *status, const struct pci_facts *pci)
{
	for (size_t i = 0; i < pci->parents.len; i++)
		json_strs_add(&status->bridges, pci->parents.items[i]);
	limit_list(&status->bridges, BRIDGES_MAX, ADDRESS_MAX, limit_is_address);
}

static void set_reset_methods(struct pcidevice_status *status, const struct pci_facts *pci)
{
	for (size_t i = 0; i < pci->reset_methods.len; i++)
		json_strs_add(&status->reset_methods, pci->reset_methods.items[i]);
	limit_list(&status->reset_methods, RESETS_MAX, RESET_LEN_MAX, limit_is_word);
}

static void set_status(struct pcidevice_status *status, const struct inventory_pci_source *source)
{
	const struct pci_facts *pci = source->pci;

	status->address = xstrdup(pci->address);
	status->vendor_id = xstrdup_or_null(pci->vendor);
	status->device_id = xstrdup_or_null(pci->device);
	status->class_id = pci->class_code ? xstrndup(pci->class_code, 4) : NULL;
	status->node_name = xstrdup(source->node_name);
	status->kernel_driver_in_use = xstrdup_or_null(pci->driver);
	status->numa_node = limit_number(pci->numa_node, INT_MAX, -1);
	status->subsystem_vendor_id = xstrdup_or_null(pci->subsystem_vendor);
	status->subsystem_device_id = xstrdup_or_null(pci->subsystem_device);
	status->revision = xstrdup_or_null(pci->revision);
	status->role = xstrdup_or_null(pci->role);
	status->physical_function = xstrdup_or_null(pci->physical_function);
	status->total_vfs = limit_number(pci->total_vfs, VFS_MAX, 0);
	status->num_vfs = limit_number(pci->num_vfs, VFS_MAX, 0);
	status->serial_number = xstrdup_or_null(pci->serial);
	status->boot_vga = pci->boot_vga;
	set_bridges(status, pci);
	set_reset_methods(status, pci);
	set_group(status, source);
	limits_apply(limits, ARRAY_LEN(limits), status);
	set_names(status, source->names);
}

/* Said only of those that need it: most devices have no equal. */
static void set_distinguishable(struct api_conditions *conditions,
				const struct inventory_pci_source *source, int64_t now_wall_ms)
{
	const char *pf = source->pci->physical_function;
	auto_free char *message = NULL;

	if (!source->lookalike)
		return;
	message = xasprintf(
		"only the address distinguishes %s%s from %s, which is of the same model: "
		"after a boot, a claim of it waits until you confirm its address",
		pf ? "its physical function " : "", pf ? pf : source->pci->address,
		source->lookalike->address);
	api_conditions_set(conditions,
			   &(struct api_condition_value){
				   .type = "Distinguishable",
				   .status = API_FALSE,
				   .reason = "IdentityByModelOnly",
				   .message = message,
			   },
			   now_wall_ms);
}

struct pcidevice *inventory_pci_object(const struct inventory_pci_source *source,
				       int64_t now_wall_ms)
{
	struct pcidevice *device = api_object_new(&pcidevice_kind);
	auto_free char *label = names_label_value(source->node_name);
	const char *driver;

	set_status(&device->status, source);
	device->meta.name = names_pcidevice(source->node_name, source->pci->address);
	json_pairs_set(&device->meta.labels, NAMES_LABEL_NODE, label);
	driver = device->status.kernel_driver_in_use;
	/* The driver that the device returns to when a claim ends, so never a passthrough
	 * driver. */
	if (native_driver_valid(driver))
		json_pairs_set(&device->meta.annotations, NAMES_ANNOTATION_DRIVER, driver);

	api_conditions_set(&device->status.conditions,
			   &(struct api_condition_value){
				   .type = "Claimable",
				   .status = source->verdict->claimable ? API_TRUE : API_FALSE,
				   .reason = source->verdict->reason,
				   .message = source->verdict->message,
			   },
			   now_wall_ms);
	set_distinguishable(&device->status.conditions, source, now_wall_ms);
	return device;
}
