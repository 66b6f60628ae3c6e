#include "cli/model/narrow.h"

#include <string.h>

#include "api/json_values.h"
#include "api/meta.h"
#include "api/pcidevice.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/model/cluster.h"
#include "cli/model/dra.h"

bool narrow_has_pod(const struct cluster_device *device, const char *ns)
{
	size_t len = device->allocations ? device->allocations->len : 0;

	for (size_t i = 0; i < len; i++) {
		const char *of = device->allocations->items[i].namespace;

		if (!ns || (of && strcmp(of, ns) == 0))
			return true;
	}
	return device->resource_claim &&
	       (!ns || str_match(device->resource_claim->meta.namespace_, ns));
}

/* Names are copied, because the objects that they are borrowed from are removed. */
static void remove_all(struct cluster *cluster, enum cluster_kind kind,
		       const struct json_strs *names)
{
	for (size_t i = 0; i < names->len; i++)
		cluster_remove(cluster, kind, names->items[i]);
}

static void drop_of_type(struct cluster *cluster, enum device_type type, const char *ns)
{
	const struct cluster_view *view = cluster_view(cluster);
	struct json_strs names = { 0 };

	for (size_t i = 0; i < view->len; i++) {
		const struct cluster_device *device = &view->devices[i];

		if (device->type == type && !narrow_has_pod(device, ns))
			json_strs_add(&names, device->name);
	}
	switch (type) {
	case DEVICE_PCI:
		remove_all(cluster, CLUSTER_PCIDEVICE, &names);
		remove_all(cluster, CLUSTER_PCICLAIM, &names);
		break;
	case DEVICE_USB:
		remove_all(cluster, CLUSTER_USBDEVICE, &names);
		remove_all(cluster, CLUSTER_USBCLAIM, &names);
		break;
	case DEVICE_MDEV:
		remove_all(cluster, CLUSTER_MDEV, &names);
		break;
	}
	json_strs_done(&names);
}

void narrow_to_namespace(struct cluster *cluster, const char *ns)
{
	drop_of_type(cluster, DEVICE_PCI, ns);
	drop_of_type(cluster, DEVICE_USB, ns);
	drop_of_type(cluster, DEVICE_MDEV, ns);
}

static void drop_lone(struct cluster *cluster, enum cluster_kind claims, enum cluster_kind devices)
{
	struct json_strs names = { 0 };
	size_t len;
	auto_free const void **list = cluster_objects(cluster, claims, &len);

	for (size_t i = 0; i < len; i++) {
		const struct api_meta *meta = list[i];

		if (!cluster_get(cluster, devices, meta->name))
			json_strs_add(&names, meta->name);
	}
	remove_all(cluster, claims, &names);
	json_strs_done(&names);
}

void narrow_to_listed(struct cluster *cluster)
{
	drop_lone(cluster, CLUSTER_PCICLAIM, CLUSTER_PCIDEVICE);
	drop_lone(cluster, CLUSTER_USBCLAIM, CLUSTER_USBDEVICE);
}
