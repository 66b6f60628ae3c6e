#include "agent/helper/sys/mdev.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/sys/sysfs.h"
#include "agent/helper/sys/value.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

bool mdev_uuid_valid(const char *text, size_t len)
{
	return value_is_uuid(text, len);
}

bool mdev_name_valid(const char *text, size_t len)
{
	return value_is_entry(text, len) && len < MDEV_NAME_SIZE;
}

/* The part of a path before its last one: "/.../mtty/<uuid>" is below "mtty". */
static void take_parent(const char *path, char ret_parent[MDEV_NAME_SIZE])
{
	const char *part;
	const char *before = "";
	const char *last = "";
	size_t before_len = 0;
	size_t last_len = 0;
	size_t len;

	while (devpath_next(&path, &part, &len)) {
		before = last;
		before_len = last_len;
		last = part;
		last_len = len;
	}
	if (!mdev_name_valid(before, before_len))
		before_len = 0;
	memcpy(ret_parent, before, before_len);
	ret_parent[before_len] = '\0';
}

/* < 0: it cannot be read, with @err set. */
static int read_group(int sysfs_fd, const char *uuid, int *ret_group, struct err *err)
{
	auto_free char *path = xasprintf(MDEV_DEVICES "/%s/iommu_group", uuid);
	char target[SYSFS_LINK_MAX + 1];
	uint64_t group;
	int r = sysfs_link(sysfs_fd, path, target, err);

	if (r == 0 && str_to_u64(str_base_name(target), &group) && group <= INT_MAX)
		*ret_group = (int)group;
	return r;
}

/* The same. */
static int read_type(int sysfs_fd, const char *uuid, char ret_type[MDEV_NAME_SIZE], struct err *err)
{
	auto_free char *path = xasprintf(MDEV_DEVICES "/%s/mdev_type", uuid);
	char target[SYSFS_LINK_MAX + 1];
	const char *name;
	int r = sysfs_link(sysfs_fd, path, target, err);

	if (r != 0)
		return r;
	name = str_base_name(target);
	if (mdev_name_valid(name, strlen(name)))
		memcpy(ret_type, name, strlen(name) + 1);
	return 0;
}

int mdev_instance_read(int sysfs_fd, const char *uuid, struct mdev_instance *ret_seen,
		       struct err *err)
{
	auto_free char *path = xasprintf(MDEV_DEVICES "/%s", uuid);
	struct mdev_instance seen = { .group = -1 };
	char target[SYSFS_LINK_MAX + 1];
	struct devpath devpath;
	int r = sysfs_link(sysfs_fd, path, target, err);

	if (r < 0)
		return r;
	if (r == 0) {
		seen.present = true;
		take_parent(target, seen.parent);
		devpath_parse(target, &devpath);
		memcpy(seen.pci, devpath.pci, sizeof(seen.pci));
		if (read_type(sysfs_fd, uuid, seen.type, err) < 0 ||
		    read_group(sysfs_fd, uuid, &seen.group, err) < 0)
			return -EIO;
	}
	*ret_seen = seen;
	return 0;
}

int mdev_below(int sysfs_fd, const char *address, struct err *err)
{
	auto_names struct sysfs_names names = { 0 };
	int r = sysfs_list(sysfs_fd, MDEV_DEVICES, &names, err);

	for (size_t i = 0; i < names.len; i++) {
		auto_free char *link = xasprintf(MDEV_DEVICES "/%s", names.items[i]);
		char target[SYSFS_LINK_MAX + 1];
		struct devpath devpath;

		r = sysfs_link(sysfs_fd, link, target, err);
		if (r < 0)
			return r;
		if (r != 0)
			continue;
		devpath_parse(target, &devpath);
		if (strcmp(devpath.pci, address) == 0)
			return 1;
	}
	return r < 0 ? r : 0;
}
