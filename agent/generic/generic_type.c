#include "agent/generic/generic_type.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/config/config.h"
#include "agent/generic/pre_open.h"
#include "agent/generic/shared.h"
#include "agent/plugin/device_type.h"
#include "base/err.h"
#include "base/mem.h"

struct generic_type {
	const char *dev_root;
	const char *sysfs_root;
	struct pre_open *opens;
	struct shared shared;
};

static char *host_path(const struct generic_type *type, const struct config_generic *entry)
{
	static const char dev[] = "/dev";

	return xasprintf("%s%s", type->dev_root ? type->dev_root : dev, entry->path + strlen(dev));
}

/* Where sysfs has the character device @number: 0, or < 0 with an empty path. Many have no link
 * there, such as those of NVIDIA's driver: -ENOENT. */
static int sysfs_place(const struct generic_type *type, dev_t number, char ret_path[PATH_MAX])
{
	auto_free char *link =
		xasprintf("%s/dev/char/%u:%u", type->sysfs_root ? type->sysfs_root : "/sys",
			  major(number), minor(number));
	ssize_t n = readlink(link, ret_path, PATH_MAX - 1);

	ret_path[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : 0;
}

/* A group, the container that groups go into, or a device's own node: of drivers/vfio/group.c,
 * container.c and vfio_main.c. By its number as well, because a node may have any name. */
static bool is_vfio(const struct generic_type *type, const char *path, const struct stat *st)
{
	static const char *const parts[] = { "/virtual/vfio/", "/misc/vfio", "/vfio-dev/" };
	static const char folder[] = "/dev/vfio/";
	char place[PATH_MAX];

	if (strncmp(path, folder, sizeof(folder) - 1) == 0)
		return true;
	if (!st || !S_ISCHR(st->st_mode))
		return false;
	(void)sysfs_place(type, st->st_rdev, place);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (strstr(place, parts[i]))
			return true;
	}
	return false;
}

/*
 * What a character device is a way to: a disk, beside its block device (/dev/nvme0, /dev/ng0n1,
 * /dev/sg0; with multipath, which is NVMe's default, ng0n1 belongs to the subsystem,
 * drivers/nvme/host/multipath.c), or what commands the machine. NULL: to neither.
 */
static const char *controlled(const struct generic_type *type, dev_t number)
{
	static const struct {
		const char *part;
		const char *what;
	} rows[] = {
		{ "/nvme/", "a control node of a disk" },
		{ "/nvme-subsystem/", "a control node of a disk" },
		{ "/scsi_generic/", "a control node of a disk" },
		{ "/bsg/", "a control node of a disk" },
		{ "/ipmi/", "the way to the machine's management controller (IPMI)" },
		{ "/mei/", "the way to the machine's management engine" },
		{ "/mtd/", "flash memory of the machine" },
	};
	char target[PATH_MAX];
	int r = sysfs_place(type, number, target);

	if (r < 0 && r != -ENOENT)
		return "a device of which nothing can be read below /sys";
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strstr(target, rows[i].part))
			return rows[i].what;
	}
	return NULL;
}

/* What it is if it is something through which the node can be taken over; NULL: it is not. */
static const char *critical_node(const struct generic_type *type, const struct stat *st)
{
	/* Documentation/admin-guide/devices.txt of the kernel: mem, kmem and port. */
	bool memory =
		S_ISCHR(st->st_mode) && major(st->st_rdev) == 1 &&
		(minor(st->st_rdev) == 1 || minor(st->st_rdev) == 2 || minor(st->st_rdev) == 4);

	if (S_ISBLK(st->st_mode))
		return "a disk";
	if (memory)
		return "the memory of the machine";
	return S_ISCHR(st->st_mode) ? controlled(type, st->st_rdev) : NULL;
}

/* NULL: it may be offered. The caller frees. */
static char *critical_trouble(const struct generic_type *type, const struct config_generic *entry)
{
	auto_free char *path = host_path(type, entry);
	const char *what;
	struct stat st;

	if (entry->allow_critical || stat(path, &st) < 0)
		return NULL;
	what = critical_node(type, &st);
	return what ? xasprintf("%s is %s: set allowHostCritical to offer it all the same",
				entry->path, what)
		    : NULL;
}

/* One pod has an IOMMU group at a time; agent/resource ensures that. NULL: not a VFIO device node.
 * The caller frees. */
static char *claimed_trouble(const struct generic_type *type, const struct config_generic *entry)
{
	auto_free char *path = host_path(type, entry);
	struct stat st;

	if (!is_vfio(type, entry->path, stat(path, &st) == 0 ? &st : NULL))
		return NULL;
	return xasprintf(
		"%s is a VFIO device node, and pods get those with claims only: remove the "
		"entry, and claim the device or add it to pciHostDevices",
		entry->path);
}

/* NULL: it can be offered. The caller frees. */
static char *trouble_of(const struct generic_type *type, const struct config_generic *entry)
{
	auto_free char *path = host_path(type, entry);
	auto_free char *claimed = claimed_trouble(type, entry);
	char *critical;
	struct stat st;

	if (claimed)
		return take_ptr(claimed);
	if (stat(path, &st) < 0)
		return xasprintf("%s is not there", entry->path);
	if (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode))
		return xasprintf("%s is no device node", entry->path);
	critical = critical_trouble(type, entry);
	if (critical)
		return critical;
	return entry->pre_open ? xstrdup_or_null(pre_open_trouble(type->opens, entry->path)) : NULL;
}

static int allocate(void *arg, const char *resource, const struct json_strs *ids,
		    struct allocation *allocation, struct err *err)
{
	const struct generic_type *type = arg;
	const struct config_generic *entry = shared_entry(&type->shared, resource);
	auto_free char *trouble = entry ? trouble_of(type, entry) : NULL;

	(void)ids;
	if (!entry)
		return err_set(err, ERR_INVALID, -ENODEV, "the resource is not configured");
	if (trouble)
		return err_set(err, ERR_INVALID, -EHOSTDOWN, "%s", trouble);
	allocation_add_device_as(allocation, entry->container_path, entry->path,
				 entry->permissions);
	return 0;
}

const struct device_type generic_device_type = { .name = "generic", .allocate = allocate };

/* Why nothing can be had of the entry on this node; NULL: it can, or that is not known yet. */
static char *report_of(const struct generic_type *type, const struct config_generic *entry,
		       const char *trouble, const char **ret_reason)
{
	auto_free char *path = host_path(type, entry);
	auto_free char *critical = critical_trouble(type, entry);
	auto_free char *claimed = claimed_trouble(type, entry);

	if (!trouble)
		return NULL;
	*ret_reason = CONFIG_NODE_UNUSABLE;
	if (claimed)
		return take_ptr(claimed);
	*ret_reason = CONFIG_NODE_CRITICAL;
	if (critical)
		return xstrdup(critical);
	*ret_reason = CONFIG_NODE_MISSING;
	if (access(path, F_OK) < 0)
		return xasprintf("%s: load the driver that makes it, or keep the entry to nodes "
				 "that have it by a nodeSelector",
				 trouble);
	*ret_reason = CONFIG_NODE_UNUSABLE;
	if (entry->pre_open && pre_open_untried(type->opens, entry->path))
		return NULL;
	return xstrdup(trouble);
}

static void look(struct generic_type *type, struct shared_item *item)
{
	const char *reason = NULL;
	char *trouble = trouble_of(type, item->entry);
	char *report = report_of(type, item->entry, trouble, &reason);

	shared_report(item, reason, report);
	shared_set(&type->shared, item, trouble);
}

void generic_type_offer(struct generic_type *type, struct plugins *plugins,
			struct config_troubles *troubles)
{
	for (size_t i = 0; i < type->shared.len; i++)
		look(type, &type->shared.items[i]);
	shared_offer(&type->shared, plugins, &generic_device_type, type, troubles);
}

void generic_type_paths(const struct generic_type *type, struct json_strs *paths)
{
	for (size_t i = 0; i < type->shared.len; i++) {
		auto_free char *path = host_path(type, type->shared.items[i].entry);

		(void)json_strs_add_new(paths, path);
	}
}

void generic_type_set(struct generic_type *type, const struct config *config,
		      const struct json_pairs *labels)
{
	shared_clear(&type->shared);
	for (size_t i = 0; i < config->generics.len; i++) {
		const struct config_generic *entry = &config->generics.items[i];
		const struct shared_item item = { .list = CONFIG_LIST_GENERIC,
						  .index = (int64_t)entry->index,
						  .resource = entry->resource,
						  .entry = entry };

		if (config_selects(&entry->selector, labels))
			(void)shared_add(&type->shared, &item, entry->count);
	}
}

struct generic_type *generic_type_new(const char *dev_root, const char *sysfs_root,
				      struct pre_open *opens)
{
	struct generic_type *type = xcalloc(1, sizeof(*type));

	type->dev_root = dev_root;
	type->sysfs_root = sysfs_root;
	type->opens = opens;
	return type;
}

struct generic_type *generic_type_free(struct generic_type *type)
{
	if (!type)
		return NULL;
	shared_done(&type->shared);
	free(type);
	return NULL;
}
