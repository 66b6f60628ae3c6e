#include "agent/inventory/inventory_mdev.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/limits.h"
#include "agent/inventory/mdev_names.h"
#include "api/mediateddevice.h"
#include "api/mediateddeviceparent.h"
#include "api/names.h"
#include "api/object.h"
#include "base/mem.h"

enum { TYPES_MAX = 256 };

#define S struct mediateddevice_status
static const struct limit limits[] = {
	LIMIT(S, type, 255, limit_is_word),          LIMIT(S, type_name, 255, NULL),
	LIMIT(S, device_api, 63, limit_is_word),     LIMIT(S, parent, 255, limit_is_word),
	LIMIT(S, pci_address, 16, limit_is_address), LIMIT(S, iommu_group, 10, limit_is_number),
};
#undef S

#define S struct mediateddeviceparent_status
static const struct limit parent_limits[] = {
	LIMIT(S, parent, 255, limit_is_word),
	LIMIT(S, pci_address, 16, limit_is_address),
};
#undef S

#define T struct mediateddeviceparent_type
static const struct limit type_limits[] = {
	LIMIT(T, id, 255, limit_is_word),
	LIMIT(T, name, 255, NULL),
	LIMIT(T, description, 1024, NULL),
	LIMIT(T, device_api, 63, limit_is_word),
};
#undef T

struct mediateddevice *inventory_mdev_object(const char *node_name, const struct facts *facts,
					     const struct mdev_facts *mdev)
{
	struct mediateddevice *device = api_object_new(&mediateddevice_kind);
	struct mediateddevice_status *status = &device->status;
	auto_free char *label = names_label_value(node_name);

	device->meta.name = names_mediateddevice(node_name, mdev->uuid);
	json_pairs_set(&device->meta.labels, NAMES_LABEL_NODE, label);
	status->node_name = xstrdup(node_name);
	status->uuid = xstrdup(mdev->uuid);
	status->type = xstrdup_or_null(mdev->type);
	if (mdev->type)
		status->type_name = mdev_type_name(mdev->type, mdev->type_name);
	status->device_api = xstrdup_or_null(mdev->device_api);
	status->parent = xstrdup(mdev->parent);
	status->pci_address = xstrdup_or_null(mdev->pci_address);
	status->iommu_group = xstrdup_or_null(mdev->iommu_group);
	status->numa_node = limit_number(mdev->numa_node, INT_MAX, -1);
	status->created_by_hostdev = mdev_owner(facts, mdev) != NULL;
	limits_apply(limits, ARRAY_LEN(limits), status);
	return device;
}

/* How many instances of @type (NULL: of any) there are on @parent. */
static int count(const struct facts *facts, const char *parent, const char *type)
{
	int n = 0;

	for (size_t i = 0; i < facts->mdevs.len; i++) {
		const struct mdev_facts *mdev = &facts->mdevs.items[i];

		n += strcmp(mdev->parent, parent) == 0 &&
		     (!type || (mdev->type && strcmp(mdev->type, type) == 0));
	}
	return n;
}

static bool has_type(const struct mediateddeviceparent_status *status, const char *id)
{
	for (size_t i = 0; i < status->types.len; i++) {
		if (strcmp(status->types.items[i].id, id) == 0)
			return true;
	}
	return false;
}

static void add_type(struct mediateddeviceparent_status *status, const struct facts *facts,
		     const char *parent, const struct mdev_type_facts *from)
{
	struct mediateddeviceparent_type *to = array_add(&status->types);

	to->id = xstrdup(from->id);
	to->name = mdev_type_name(from->id, from->name);
	to->description = xstrdup_or_null(from->description);
	to->device_api = xstrdup_or_null(from->device_api);
	to->available_instances = limit_number(from->available, INT_MAX, -1);
	to->instances = count(facts, parent, from->id);
	limits_apply(type_limits, ARRAY_LEN(type_limits), to);
}

struct mediateddeviceparent *inventory_mdev_parent_object(const char *node_name,
							  const struct facts *facts,
							  const struct mdev_parent_facts *parent)
{
	struct mediateddeviceparent *object = api_object_new(&mediateddeviceparent_kind);
	struct mediateddeviceparent_status *status = &object->status;
	auto_free char *label = names_label_value(node_name);

	object->meta.name = names_mediateddeviceparent(node_name, parent->name);
	json_pairs_set(&object->meta.labels, NAMES_LABEL_NODE, label);
	status->node_name = xstrdup(node_name);
	status->parent = xstrdup(parent->name);
	status->pci_address = xstrdup_or_null(parent->pci_address);
	status->numa_node = limit_number(parent->numa_node, INT_MAX, -1);
	status->instances = count(facts, parent->name, NULL);
	for (size_t i = 0; i < parent->types.len && i < TYPES_MAX; i++) {
		const struct mdev_type_facts *type = &parent->types.items[i];

		if (limit_is_word(type->id, 255) && !has_type(status, type->id))
			add_type(status, facts, parent->name, type);
	}
	limits_apply(parent_limits, ARRAY_LEN(parent_limits), status);
	return object;
}
