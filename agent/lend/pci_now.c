#include "agent/lend/pci_now.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/lend/pci_selected.h"
#include "agent/lend/pci_type.h"
#include "agent/node/this_node.h"
#include "api/pcidevice.h"
#include "base/dir.h"
#include "base/mem.h"

static const char *or_none(const char *driver)
{
	return driver ? driver : "no driver";
}

/* The last name in what the link leads to. -1 with errno set. */
static int link_name(const char *folder, const char *name, char **ret_name)
{
	auto_free char *path = xasprintf("%s/%s", folder, name);
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	const char *slash;

	if (n < 0)
		return -1;
	target[n] = '\0';
	slash = strrchr(target, '/');
	*ret_name = xstrdup(slash ? slash + 1 : target);
	return 0;
}

/* What has no driver has no link. -1 with errno set: it could not be read. */
static int driver_of(const char *folder, char **ret_driver)
{
	char *driver = NULL;

	if (link_name(folder, "driver", &driver) < 0 && errno != ENOENT)
		return -1;
	*ret_driver = driver;
	return 0;
}

static char *own_trouble(const char *folder, const struct pcidevice *device)
{
	const char *wanted = device->status.kernel_driver_in_use;
	auto_free char *driver = NULL;
	auto_free char *group = NULL;

	if (access(folder, F_OK) < 0)
		return errno == ENOENT
			       ? xstrdup("it is gone from the node")
			       : xasprintf("'%s' cannot be looked at: %s", folder, strerror(errno));
	if (driver_of(folder, &driver) < 0)
		return xasprintf("its driver cannot be read: %s", strerror(errno));
	if (strcmp(or_none(driver), or_none(wanted)) != 0)
		return xasprintf("it is on %s now, not on %s", or_none(driver), or_none(wanted));
	if (link_name(folder, "iommu_group", &group) < 0)
		return xasprintf("its IOMMU group cannot be read: %s", strerror(errno));
	if (!device->status.iommu_group || strcmp(group, device->status.iommu_group) != 0)
		return xasprintf("it is in the IOMMU group %s now", group);
	return NULL;
}

static char *other_trouble(const struct pci_view *view, const char *folder, const char *address)
{
	auto_free char *other = xasprintf("%s/%s", folder, address);
	auto_free char *driver = NULL;

	if (driver_of(other, &driver) < 0)
		return xasprintf("the driver of %s of its IOMMU group cannot be read: %s", address,
				 strerror(errno));
	if (!pci_selected_hinders(view, address, driver))
		return NULL;
	return xasprintf("%s of its IOMMU group is bound to %s now", address, driver);
}

char *pci_now_trouble(const struct pci_view *view, const struct pcidevice *device)
{
	auto_free char *folder =
		xasprintf("%s/bus/pci/devices/%s",
			  view->node->helper.sysfs_root ? view->node->helper.sysfs_root : "/sys",
			  device->status.address);
	auto_free char *members = xasprintf("%s/iommu_group/devices", folder);
	char *trouble = own_trouble(folder, device);
	const char *name;
	struct dir dir;

	if (trouble)
		return trouble;
	if (dir_open(&dir, AT_FDCWD, members) < 0)
		return xasprintf("its IOMMU group cannot be read: %s", strerror(errno));
	while (!trouble && (name = dir_next(&dir))) {
		if (strcmp(name, device->status.address) != 0)
			trouble = other_trouble(view, members, name);
	}
	if (!trouble && dir.code < 0)
		trouble = xasprintf("its IOMMU group cannot be read: %s", strerror(-dir.code));
	dir_done(&dir);
	return trouble;
}
