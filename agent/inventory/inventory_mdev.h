/* inventory_mdev: one MediatedDevice, or one MediatedDeviceParent, from what the scan found of
 * it. */
#pragma once

struct facts;
struct mdev_facts;
struct mdev_parent_facts;
struct mediateddevice;
struct mediateddeviceparent;

/* The caller frees with api_object_free. The inventory does not set the resource and the
 * allocations. */
struct mediateddevice *inventory_mdev_object(const char *node_name, const struct facts *facts,
					     const struct mdev_facts *mdev);

/* The same; how the type manager fares with it is not the inventory's. */
struct mediateddeviceparent *inventory_mdev_parent_object(const char *node_name,
							  const struct facts *facts,
							  const struct mdev_parent_facts *parent);
