/*
 * stub_kernel: hostdev-helper's kernel for a synthetic tree: what a write would do is done to the
 * tree, at once. Linked in place of agent/helper/sys/kernel.c, it leaves the cost of everything but
 * the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/helper/sys/kernel.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

enum { TEXT_MAX = 4096 };

static int put(int sysfs_fd, const char *path, const char *text)
{
	auto_close int fd = openat(sysfs_fd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static void get(int sysfs_fd, const char *path, char text[TEXT_MAX + 1])
{
	auto_close int fd = openat(sysfs_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, TEXT_MAX);

	text[n < 0 ? 0 : n] = '\0';
}

/* Give the function @address the driver @driver; NULL takes it away. */
static int set_driver(int sysfs_fd, const char *address, const char *driver)
{
	auto_free char *link = xasprintf("bus/pci/devices/%s/driver", address);
	auto_free char *uevent = xasprintf("bus/pci/devices/%s/uevent", address);
	auto_free char *target = NULL;
	auto_free char *told = NULL;
	char text[TEXT_MAX + 1];
	const char *rest = text;

	get(sysfs_fd, uevent, text);
	if (strncmp(text, "DRIVER=", strlen("DRIVER=")) == 0)
		rest = strchr(text, '\n') + 1;
	(void)unlinkat(sysfs_fd, link, 0);
	if (!driver)
		return put(sysfs_fd, uevent, rest);
	target = xasprintf("../../../../bus/pci/drivers/%s", driver);
	told = xasprintf("DRIVER=%s\n%s", driver, rest);
	if (symlinkat(target, sysfs_fd, link) < 0)
		return -errno;
	return put(sysfs_fd, uevent, told);
}

static int probe(int sysfs_fd, const char *address)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s/driver_override", address);
	char driver[TEXT_MAX + 1];

	get(sysfs_fd, path, driver);
	driver[strcspn(driver, "\n")] = '\0';
	return driver[0] == '(' ? 0 : set_driver(sysfs_fd, address, driver);
}

/* --- mediated devices ------------------------------------------------------------------------- */

#define MDEV_PARENTS "class/mdev_bus/"
static const char mdev_devices[] = "bus/mdev/devices";

/* One more or one less of what the type at @type can make. */
static int count_available(int sysfs_fd, const char *type, int step)
{
	auto_free char *path = xasprintf("%s/available_instances", type);
	auto_free char *number = NULL;
	char text[TEXT_MAX + 1];
	uint64_t available;

	get(sysfs_fd, path, text);
	text[strcspn(text, "\n")] = '\0';
	if (!str_to_u64(text, &available) || (available == 0 && step < 0))
		return -ENOSPC;
	number = xasprintf("%" PRIu64 "\n", step < 0 ? available - 1 : available + 1);
	return put(sysfs_fd, path, number);
}

/* @path: "class/mdev_bus/PARENT/mdev_supported_types/TYPE/create" */
static int create_mdev(int sysfs_fd, const char *path, const char *uuid)
{
	static unsigned groups = 10000;
	auto_free char *type = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	auto_free char *parent = xstrndup(path, strcspn(path + sizeof(MDEV_PARENTS) - 1, "/") +
							sizeof(MDEV_PARENTS) - 1);
	auto_free char *folder = xasprintf("%s/%s", parent, uuid);
	auto_free char *kind_link = xasprintf("%s/mdev_type", folder);
	auto_free char *group_link = xasprintf("%s/iommu_group", folder);
	auto_free char *place_link = xasprintf("%s/%s", mdev_devices, uuid);
	auto_free char *group = xasprintf("../../../../../kernel/iommu_groups/%u", groups++);
	auto_free char *kind = xasprintf("../mdev_supported_types/%s", strrchr(type, '/') + 1);
	auto_free char *place = NULL;
	char target[TEXT_MAX + 1];
	ssize_t n = readlinkat(sysfs_fd, parent, target, TEXT_MAX);
	int r = n < 0 ? -errno : count_available(sysfs_fd, type, -1);

	if (r < 0)
		return r;
	target[n] = '\0';
	place = xasprintf("../%s/%s", target, uuid);
	if (mkdirat(sysfs_fd, folder, 0700) < 0 || symlinkat(kind, sysfs_fd, kind_link) < 0 ||
	    symlinkat(group, sysfs_fd, group_link) < 0 ||
	    symlinkat(place, sysfs_fd, place_link) < 0)
		return -errno;
	return 0;
}

/* @path: "bus/mdev/devices/UUID/remove" */
static int remove_mdev(int sysfs_fd, const char *path)
{
	auto_free char *link = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	auto_free char *type = xasprintf("%s/mdev_type", link);
	auto_free char *group = xasprintf("%s/iommu_group", link);
	auto_free char *folder = NULL;
	char target[TEXT_MAX + 1];
	ssize_t n = readlinkat(sysfs_fd, link, target, TEXT_MAX);
	int r = n < 0 ? -errno : count_available(sysfs_fd, type, 1);

	if (r < 0)
		return r;
	target[n] = '\0';
	folder = xasprintf("%s/%s", mdev_devices, target);
	if (unlinkat(sysfs_fd, type, 0) < 0 || unlinkat(sysfs_fd, group, 0) < 0 ||
	    unlinkat(sysfs_fd, link, 0) < 0 || unlinkat(sysfs_fd, folder, AT_REMOVEDIR) < 0)
		return -errno;
	return 0;
}

static int stub_write(void *arg, int sysfs_fd, const char *path, const char *text)
{
	static const char drivers[] = "bus/pci/drivers/";
	const char *attribute = strrchr(path, '/') + 1;
	auto_free char *driver = NULL;

	(void)arg;
	if (strcmp(attribute, "create") == 0)
		return create_mdev(sysfs_fd, path, text);
	if (strcmp(attribute, "remove") == 0)
		return remove_mdev(sysfs_fd, path);
	if (strcmp(attribute, "driver_override") == 0)
		return put(sysfs_fd, path, *text && *text != '\n' ? text : "(null)\n");
	if (strcmp(attribute, "drivers_probe") == 0)
		return probe(sysfs_fd, text);
	if (strcmp(attribute, "unbind") == 0)
		return set_driver(sysfs_fd, text, NULL);
	driver = xstrndup(path + strlen(drivers), (size_t)(attribute - path) - strlen(drivers) - 1);
	return set_driver(sysfs_fd, text, driver);
}

static int stub_load(void *arg, const char *module, struct err *err)
{
	(void)arg;
	return err_set(err, ERR_RETRY, -ENOENT, "no modules here: '%s'", module);
}

static int stub_open_disk(void *arg, int dev_fd, const char *name, dev_t *ret_number)
{
	(void)arg;
	(void)dev_fd;
	(void)name;
	*ret_number = 0;
	return -ENOENT;
}

struct kernel kernel_running(void)
{
	return (struct kernel){ .write = stub_write,
				.load = stub_load,
				.open_disk = stub_open_disk };
}
