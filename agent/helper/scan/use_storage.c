#include <stdlib.h>
#include <string.h>

#include "agent/helper/scan/block.h"
#include "agent/helper/scan/block_remote.h"
#include "agent/helper/scan/use_scan.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "base/array.h"
#include "base/mem.h"

/* clang-format off */
/* What the node cannot do without: whatever holds these folders, and with @below also what is
 * mounted inside them. Below the kubelet's folder that would be the pods' own volumes. */
static const struct {
	const char *path;
	bool below;
} host_folders[] = {
	{ "/",                   false },
	{ "/boot",               true  },
	{ "/efi",                true  },
	{ "/usr",                false },
	{ "/etc",                false },
	{ "/var",                false },
	{ "/var/lib/kubelet",    false },
	{ "/var/lib/etcd",       true  },
	{ "/var/lib/containerd", true  },
	{ "/var/lib/containers", true  },
	{ "/var/lib/crio",       true  },
	{ "/var/lib/docker",     true  },
	{ "/var/lib/rancher",    true  },
	{ "/var/lib/k0s",        true  },
	{ "/run/containerd",     true  },
	{ "/run/k3s",            true  },
};

/* Filesystems that live in memory or are the kernel's own: nothing stands behind them. */
static const char *const no_storage[] = { "tmpfs", "ramfs", "devtmpfs", "rootfs", "proc", "sysfs" };
/* clang-format on */

/* Where filesystems list the disks that they are mounted from. */
static const char *const mount_folders[] = { "fs/ext4", "fs/xfs", "fs/f2fs", "fs/erofs" };

/* What a loop device is built on, as the kernel names it; false for other devices. */
static bool loop_backing(const struct use_look *look, size_t block, struct sysfs_attr *ret_file)
{
	const char *name = blocks_name(look->blocks, block);
	auto_free char *path = xasprintf("class/block/%s/loop/backing_file", name);

	return strncmp(name, "loop", 4) == 0 &&
	       sysfs_read(look->sysfs_fd, path, ret_file, NULL) == 0;
}

/* A loop device is built on a file, which is on a filesystem, which is on a disk; or on a disk. */
static void add_loop_files(struct use_look *look, struct block_set *set)
{
	for (size_t i = 0; i < set->len; i++) {
		const struct mount *mount;
		struct sysfs_attr file;
		long disk;

		if (!loop_backing(look, set->items[i], &file))
			continue;
		disk = blocks_by_path(look->blocks, file.text);
		mount = mounts_backing(&look->mounts, file.text);
		if (disk != BLOCK_NONE)
			block_set_add(set, (size_t)disk);
		else if (mount)
			(void)blocks_of_mount(look->blocks, mount, set);
	}
}

/* Does a loop device hold a disk open? One on a file holds a filesystem, which is mounted. */
static bool is_loop_on_disk(const struct use_look *look, size_t block)
{
	struct sysfs_attr file;

	return loop_backing(look, block, &file) &&
	       blocks_by_path(look->blocks, file.text) != BLOCK_NONE;
}

static void expand(struct use_look *look, struct block_set *set)
{
	size_t before;

	do {
		before = set->len;
		blocks_expand(look->blocks, set);
		add_loop_files(look, set);
	} while (set->len > before);
}

static void add_servers(struct use_look *look, size_t block, const char *top,
			const struct use_cause *cause)
{
	auto_names struct sysfs_names addresses = { 0 };
	auto_free char *what = xasprintf("%s %s", top, cause->why);

	block_remote_addresses(look->sysfs_fd, blocks_path(look->blocks, block), &addresses);
	for (size_t i = 0; i < addresses.len; i++)
		use_network_add_server(look, addresses.items[i], cause->reason, what);
}

static void add_block(struct use_look *look, size_t block, const char *top,
		      const struct use_cause *cause)
{
	const char *name = blocks_name(look->blocks, block);
	struct devpaths devices = { 0 };

	blocks_devices(look->blocks, block, &devices);
	for (size_t i = 0; i < devices.len; i++)
		uses_add(&look->uses, &devices.items[i], cause->reason, top,
			 strcmp(name, top) == 0 ? xasprintf("%s %s", name, cause->why)
						: xasprintf("%s on %s %s", top, name, cause->why));
	if (devices.len == 0)
		add_servers(look, block, top, cause);
	array_done(&devices);
}

/* Note @cause for every device that the disk @top stands on. One mount per disk is enough. */
static void add_disk(struct use_look *look, size_t top, const struct use_cause *cause)
{
	bool mount = cause->reason == USE_HOST_FILESYSTEM || cause->reason == USE_MOUNTED;
	auto_block_set struct block_set set = { 0 };

	if (mount && block_set_has(&look->mounted, top))
		return;
	if (mount)
		block_set_add(&look->mounted, top);
	block_set_add(&set, top);
	expand(look, &set);
	for (size_t i = 0; i < set.len; i++) {
		block_set_add(&look->used, set.items[i]);
		add_block(look, set.items[i], blocks_name(look->blocks, top), cause);
	}
}

static bool has_no_storage(const struct mount *mount)
{
	for (size_t i = 0; i < ARRAY_LEN(no_storage); i++) {
		if (strcmp(mount->fstype, no_storage[i]) == 0)
			return true;
	}
	return false;
}

/* The value of "addr=" among a network filesystem's options. */
static char *server_address(const struct mount *mount)
{
	static const char key[] = "addr=";
	const char *at = mount->options;

	while (at && strncmp(at, key, sizeof(key) - 1) != 0) {
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return at ? xstrndup(at + sizeof(key) - 1, strcspn(at + sizeof(key) - 1, ",")) : NULL;
}

/* A filesystem that is on no block device: served by a hypervisor or over the network. */
static bool add_foreign(struct use_look *look, const struct mount *mount,
			const struct use_cause *cause)
{
	auto_free char *address = server_address(mount);
	auto_free char *what = xasprintf("%s '%s' %s", mount->fstype, mount->source, cause->why);

	if (use_served_add(look, mount, cause))
		return true;
	if (!address)
		return false;
	use_network_add_server(look, address, cause->reason, what);
	return true;
}

/* Note @cause for every device under @mount; false if nothing is known to be there. */
static bool add_mount(struct use_look *look, const struct mount *mount,
		      const struct use_cause *cause)
{
	auto_block_set struct block_set set = { 0 };

	if (!blocks_of_mount(look->blocks, mount, &set))
		return add_foreign(look, mount, cause);
	for (size_t i = 0; i < set.len; i++)
		add_disk(look, set.items[i], cause);
	return true;
}

static void add_host_mount(struct use_look *look, const struct mount *mount, bool must_be_known)
{
	auto_free char *why = xasprintf("is mounted at %s", mount->point);
	const struct use_cause cause = { USE_HOST_FILESYSTEM, why };

	if (has_no_storage(mount) || add_mount(look, mount, &cause) || !must_be_known ||
	    use_served_add_hidden(look, mount))
		return;
	report_problem(
		look->report, "", "mountinfo",
		"no device is known to hold '%s' (%s '%s'): claims cannot be checked against it",
		mount->point, mount->fstype, mount->source);
}

/* Has a folder before @row been found on the same mount? */
static bool is_repeated(const struct use_look *look, const struct mount *mount, size_t row)
{
	for (size_t i = 0; i < row; i++) {
		if (mounts_backing(&look->mounts, host_folders[i].path) == mount)
			return true;
	}
	return false;
}

static void add_host_folder(struct use_look *look, size_t row)
{
	const char *folder = host_folders[row].path;
	const struct mount *backing = mounts_backing(&look->mounts, folder);

	if (backing && !is_repeated(look, backing, row))
		add_host_mount(look, backing, true);
	for (size_t i = 0; host_folders[row].below && i < look->mounts.len; i++) {
		const struct mount *mount = &look->mounts.items[i];

		if (mount != backing && mounts_path_below(mount->point, folder))
			add_host_mount(look, mount, false);
	}
}

static int by_point(const void *a, const void *b)
{
	const struct mount *left = *(const struct mount *const *)a;
	const struct mount *right = *(const struct mount *const *)b;

	return strcmp(left->point, right->point);
}

/* All other mounts, by mount point, so that of several on one disk always the same is named. */
static void add_other_mounts(struct use_look *look)
{
	auto_free const struct mount **sorted = NULL;

	if (look->mounts.len == 0)
		return;
	sorted = xcalloc(look->mounts.len, sizeof(const struct mount *));
	for (size_t i = 0; i < look->mounts.len; i++)
		sorted[i] = &look->mounts.items[i];
	qsort(sorted, look->mounts.len, sizeof(const struct mount *), by_point);
	for (size_t i = 0; i < look->mounts.len; i++) {
		auto_free char *why = xasprintf("is mounted at %s", sorted[i]->point);
		const struct use_cause cause = { USE_MOUNTED, why };
		auto_block_set struct block_set set = { 0 };

		if (!blocks_of_mount(look->blocks, sorted[i], &set))
			(void)use_served_add(look, sorted[i], &cause);
		for (size_t k = 0; k < set.len; k++)
			add_disk(look, set.items[k], &cause);
	}
}

static void add_swaps(struct use_look *look)
{
	static const struct use_cause cause = { USE_HOST_SWAP, "holds swap" };

	for (size_t i = 0; i < look->swaps.len; i++) {
		const char *path = look->swaps.items[i];
		long block = blocks_by_path(look->blocks, path);
		const struct mount *mount = mounts_backing(&look->mounts, path);

		if (block != BLOCK_NONE)
			add_disk(look, (size_t)block, &cause);
		else if (mount)
			(void)add_mount(look, mount, &cause);
	}
}

/* Filesystems of this type have a folder named after their disk as long as they are mounted, be it
 * in another mount namespace: a container's, or what was there before the root was switched. */
static void add_hidden_mounts(struct use_look *look, const char *folder)
{
	static const struct use_cause cause = { USE_MOUNTED, "is mounted out of sight" };
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list(look->sysfs_fd, folder, &names, NULL) != 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *path = xasprintf("/dev/%s", names.items[i]);
		long block = blocks_by_path(look->blocks, path);

		if (block != BLOCK_NONE)
			add_disk(look, (size_t)block, &cause);
	}
}

/* Disks of arrays, volumes and loops that nobody has mounted: they may be open all the same. */
static void add_holders(struct use_look *look)
{
	static const struct use_cause cause = { USE_BLOCK_HOLDER, "is set up" };

	for (size_t i = 0; i < blocks_len(look->blocks); i++) {
		if (block_set_has(&look->used, i))
			continue;
		if (blocks_is_built(look->blocks, i) || is_loop_on_disk(look, i))
			add_disk(look, i, &cause);
	}
}

void use_storage_collect(struct use_look *look)
{
	for (size_t i = 0; i < ARRAY_LEN(host_folders); i++)
		add_host_folder(look, i);
	add_swaps(look);
	add_other_mounts(look);
	for (size_t i = 0; i < ARRAY_LEN(mount_folders); i++)
		add_hidden_mounts(look, mount_folders[i]);
	add_holders(look);
}
