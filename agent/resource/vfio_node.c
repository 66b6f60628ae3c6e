#include "agent/resource/vfio_node.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "api/json_values.h"
#include "base/mem.h"

static const char dev[] = "/dev";

char *vfio_group_node(const char *group)
{
	if (!group || !*group || strspn(group, "0123456789") != strlen(group))
		return NULL;
	return xasprintf("/dev/vfio/%s", group);
}

void vfio_nodes_add(struct json_strs *nodes, const char *group)
{
	auto_free char *node = vfio_group_node(group);

	if (node)
		json_strs_add_new(nodes, node);
	json_strs_add_new(nodes, VFIO_CONTAINER_NODE);
}

char *vfio_node_path(const char *dev_root, const char *node)
{
	return xasprintf("%s%s", dev_root ? dev_root : dev, node + strlen(dev));
}

bool vfio_node_exists(const char *dev_root, const char *node)
{
	auto_free char *path = vfio_node_path(dev_root, node);

	return access(path, F_OK) == 0;
}

/* "vfio0"; a folder's names are read without asking a driver. */
static char *own_name(const char *folder)
{
	char *name = NULL;
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	if (!dir)
		return NULL;
	while (!name && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "vfio", 4) == 0)
			name = xstrdup(entry->d_name);
	}
	(void)closedir(dir);
	return name;
}

/* Of one device of the bus @bus. */
static char *node_of(const char *sysfs_root, const char *dev_root, const char *bus,
		     const char *name_on_bus)
{
	auto_free char *folder = xasprintf("%s/bus/%s/devices/%s/vfio-dev",
					   sysfs_root ? sysfs_root : "/sys", bus, name_on_bus);
	auto_free char *name = own_name(folder);
	auto_free char *node = name ? xasprintf("/dev/vfio/devices/%s", name) : NULL;

	return node && vfio_node_exists(dev_root, node) ? take_ptr(node) : NULL;
}

char *vfio_own_node(const char *sysfs_root, const char *dev_root, const char *address)
{
	return node_of(sysfs_root, dev_root, "pci", address);
}

char *vfio_mdev_node(const char *sysfs_root, const char *dev_root, const char *uuid)
{
	return node_of(sysfs_root, dev_root, "mdev", uuid);
}
