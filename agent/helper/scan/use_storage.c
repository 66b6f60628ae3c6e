#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/scan/block.h"
#include "agent/helper/scan/host_mounts.h"
#include "agent/helper/scan/use_scan.h"
#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/sysfs.h"
#include "base/array.h"
#include "base/dir.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

enum { SECTOR = 512 }; /* bytes: the unit of a block device's size in /sys */

/* Append the text of attribute @path, from @prefix (if it has one) up to the next comma. */
static void add_address(int sysfs_fd, const char *path, const char *prefix,
			struct sysfs_names *addresses)
{
	struct sysfs_attr attr;
	const char *text;

	if (sysfs_read(sysfs_fd, path, &attr, NULL) != 0)
		return;
	text = strstr(attr.text, prefix);
	if (!text)
		return;
	text += strlen(prefix);
	*array_add(addresses) = xstrndup(text, strcspn(text, ",\n"));
}

/* "192.168.1.5" of iSCSI's first connection */
static void add_session(int sysfs_fd, const char *number, struct sysfs_names *addresses)
{
	auto_free char *path = xasprintf("class/iscsi_connection/connection%s:0/address", number);

	add_address(sysfs_fd, path, "", addresses);
}

/* "traddr=192.168.1.5,trsvcid=4420" of an NVMe controller; a local one has no such line */
static void add_controller(int sysfs_fd, const char *name, struct sysfs_names *addresses)
{
	auto_free char *path = xasprintf("class/nvme/%s/address", name);

	add_address(sysfs_fd, path, "traddr=", addresses);
}

static void add_subsystem(int sysfs_fd, const char *name, struct sysfs_names *addresses)
{
	auto_free char *path = xasprintf("devices/virtual/nvme-subsystem/%s", name);
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list(sysfs_fd, path, &names, NULL) != 0)
		return;
	for (size_t i = 0; i < names.len; i++)
		add_controller(sysfs_fd, names.items[i], addresses);
}

/* Append to @addresses the addresses behind the disk at @path (of the device tree), below
 * @sysfs_fd. Appends none for local disks. */
static void block_remote_addresses(int sysfs_fd, const char *path, struct sysfs_names *addresses)
{
	static const char session[] = "session";
	const char *part;
	size_t len;

	while (devpath_next(&path, &part, &len)) {
		auto_free char *name = xstrndup(part, len);

		if (strncmp(name, session, sizeof(session) - 1) == 0)
			add_session(sysfs_fd, name + sizeof(session) - 1, addresses);
		else if (strncmp(name, "nvme-subsys", 11) == 0 && name[11] != 't')
			add_subsystem(sysfs_fd, name, addresses);
		else if (strncmp(name, "nvme", 4) == 0 && strspn(name + 4, "0123456789") == len - 4)
			add_controller(sysfs_fd, name, addresses);
	}
}

/* clang-format off */
/* Modules of filesystems on a disk that list their disks nowhere; the type, if it has another
 * name. */
static const struct {
	const char *module;
	const char *fstype;
} disk_modules[] = {
	{ "adfs", "adfs" }, { "affs", "affs" }, { "bcachefs", "bcachefs" }, { "befs", "befs" },
	{ "bfs", "bfs" }, { "cramfs", "cramfs" }, { "efs", "efs" }, { "exfat", "exfat" },
	{ "ext2", "ext2" }, { "gfs2", "gfs2" }, { "hfs", "hfs" }, { "hfsplus", "hfsplus" },
	{ "hpfs", "hpfs" }, { "isofs", "iso9660" }, { "jfs", "jfs" }, { "minix", "minix" },
	{ "msdos", "msdos" }, { "nilfs2", "nilfs2" }, { "ntfs", "ntfs" }, { "ntfs3", "ntfs3" },
	{ "ocfs2", "ocfs2" }, { "omfs", "omfs" }, { "qnx4", "qnx4" }, { "qnx6", "qnx6" },
	{ "reiserfs", "reiserfs" }, { "freevxfs", "vxfs" }, { "romfs", "romfs" },
	{ "squashfs", "squashfs" }, { "sysv", "sysv" }, { "udf", "udf" }, { "ufs", "ufs" },
	{ "vfat", "vfat" }, { "zonefs", "zonefs" },
};
/* clang-format on */

/* Where filesystems list the disks that they are mounted from. */
static const struct {
	const char *path;
	bool may_have_more; /* a filesystem has one disk there, and may be on others besides */
} mount_folders[] = {
	{ "fs/ext4", false }, /* add_journals() finds the others */
	{ "fs/xfs", true },
	{ "fs/f2fs", true },
	{ "fs/erofs", true },
};

/* What a loop device is built on, as the kernel names it; false for other devices. */
static bool loop_backing(const struct use_scanner *scanner, size_t block,
			 struct sysfs_attr *ret_file)
{
	const char *name = blocks_name(scanner->blocks, block);
	auto_free char *path = xasprintf("class/block/%s/loop/backing_file", name);

	return strncmp(name, "loop", 4) == 0 &&
	       sysfs_read(scanner->sysfs_fd, path, ret_file, NULL) == 0;
}

/*
 * The disk whose node in /dev is mounted on a file, with devtmpfs' root as its name. The kubelet
 * passes raw volumes to pods this way (mapBindMountDevice() of its
 * pkg/volume/util/volumepathhandler). The pod then has the disk open, and not even O_EXCL shows it.
 * A container has nodes with the same names in its own tmpfs, and so has a CSI driver.
 */
static long disk_of_mount(const struct use_scanner *scanner, const struct mount *mount)
{
	static const char deleted[] = "//deleted"; /* the node, but not the disk */
	auto_free char *path = xasprintf("/dev%s", mount->root);
	char *end = strstr(path, deleted);

	if (strcmp(mount->fstype, "devtmpfs") != 0 && strcmp(mount->fstype, "tmpfs") != 0)
		return BLOCK_NONE;
	if (end)
		*end = '\0';
	return blocks_by_path(scanner->blocks, path);
}

/* The disk whose node is at @path, in /dev or mounted elsewhere. */
static long disk_at(const struct use_scanner *scanner, const char *path)
{
	long disk = blocks_by_path(scanner->blocks, path);
	const struct mount *mount = mounts_backing(&scanner->mounts, path);

	if (disk != BLOCK_NONE || !mount || strcmp(mount->point, path) != 0)
		return disk;
	return disk_of_mount(scanner, mount);
}

/* A loop device is built on a file, which is on a filesystem, which is on a disk; or on a disk. */
static void add_loop_files(struct use_scanner *scanner, struct block_set *set)
{
	for (size_t i = 0; i < set->len; i++) {
		const struct mount *mount;
		struct sysfs_attr file;
		long disk;

		if (!loop_backing(scanner, set->items[i], &file))
			continue;
		disk = disk_at(scanner, file.text);
		mount = mounts_backing(&scanner->mounts, file.text);
		if (disk != BLOCK_NONE)
			block_set_add(set, (size_t)disk);
		else if (mount)
			(void)blocks_of_mount(scanner->blocks, mount, set);
	}
}

/* Does a loop device hold a disk open? One on a file holds a filesystem, which is mounted. */
static bool is_loop_on_disk(const struct use_scanner *scanner, size_t block)
{
	struct sysfs_attr file;

	return loop_backing(scanner, block, &file) && disk_at(scanner, file.text) != BLOCK_NONE;
}

static void expand(struct use_scanner *scanner, struct block_set *set)
{
	size_t before;

	do {
		before = set->len;
		blocks_expand(scanner->blocks, set);
		add_loop_files(scanner, set);
	} while (set->len > before);
}

/* Returns how many there are. */
static size_t add_servers(struct use_scanner *scanner, size_t block, const char *top,
			  const struct use_cause *cause)
{
	auto_names struct sysfs_names addresses = { 0 };
	auto_free char *what = xasprintf("%s %s", top, cause->why);

	block_remote_addresses(scanner->sysfs_fd, blocks_path(scanner->blocks, block), &addresses);
	for (size_t i = 0; i < addresses.len; i++)
		use_network_add_server(scanner, addresses.items[i], cause->reason, what);
	return addresses.len;
}

/* Returns how many devices and servers @block itself is on. */
static size_t add_block(struct use_scanner *scanner, size_t block, const char *top,
			const struct use_cause *cause)
{
	const char *name = blocks_name(scanner->blocks, block);
	struct devpaths devices = { 0 };
	size_t found;

	blocks_devices(scanner->blocks, block, &devices);
	found = devices.len;
	for (size_t i = 0; i < devices.len; i++)
		uses_add(&scanner->uses, &devices.items[i], cause->reason, top,
			 strcmp(name, top) == 0 ? xasprintf("%s %s", name, cause->why)
						: xasprintf("%s on %s %s", top, name, cause->why));
	if (devices.len == 0)
		found = add_servers(scanner, block, top, cause);
	array_done(&devices);
	return found;
}

/* A filesystem that is on no block device: served by a hypervisor or over the network. */
static bool add_foreign(struct use_scanner *scanner, const struct mount *mount,
			const struct use_cause *cause)
{
	auto_free char *address = mount_option(mount, "addr=");
	auto_free char *what = xasprintf("%s '%s' %s", mount->fstype, mount->source, cause->why);

	if (use_served_add(scanner, mount, cause))
		return true;
	if (!address)
		return false;
	use_network_add_server(scanner, address, cause->reason, what);
	return true;
}

static bool read_number(const struct use_scanner *scanner, size_t block, const char *attribute,
			uint64_t *ret_number)
{
	auto_free char *path =
		xasprintf("class/block/%s/%s", blocks_name(scanner->blocks, block), attribute);
	struct sysfs_attr attr;

	return sysfs_read(scanner->sysfs_fd, path, &attr, NULL) == 0 &&
	       str_to_u64(attr.text, ret_number);
}

/* Has @block the size that @loop would have on it (get_size() of the kernel's
 * drivers/block/loop.c)? */
static bool fits_loop(const struct use_scanner *scanner, size_t block, size_t loop)
{
	uint64_t disk;
	uint64_t size;
	uint64_t offset = 0;
	uint64_t limit = 0;

	if (!read_number(scanner, block, "size", &disk) ||
	    !read_number(scanner, loop, "size", &size) || disk == 0 || size == 0)
		return false;
	(void)read_number(scanner, loop, "loop/offset", &offset);
	(void)read_number(scanner, loop, "loop/sizelimit", &limit);
	offset = offset / SECTOR + (offset % SECTOR > 0);
	if (offset >= disk)
		return false;
	return limit > 0 ? disk - offset >= size : disk - offset == size;
}

static void add_opaque(struct use_scanner *scanner, size_t block)
{
	uses_add_unknown(&scanner->uses, USE_ASK_MEMBERS,
			 xasprintf("nothing in /sys says which disks %s is on",
				   blocks_name(scanner->blocks, block)));
}

/* A loop device on no disk: its file is in memory, served to this machine, or named by a path of
 * another mount namespace, which leads nowhere or to itself. */
static void add_lost_loop(struct use_scanner *scanner, size_t block, const struct use_cause *cause)
{
	const struct mount *mount;
	struct sysfs_attr file;

	if (!loop_backing(scanner, block, &file))
		return;
	mount = mounts_backing(&scanner->mounts, file.text);
	if (mount && (mount_has_no_storage(mount) || add_foreign(scanner, mount, cause)))
		return;
	uses_add_unknown(&scanner->uses, USE_ASK_MEMBERS,
			 xasprintf("%s %s, and its file '%.64s' is on no disk that can be seen",
				   blocks_name(scanner->blocks, block), cause->why, file.text));
}

/* Note @cause for every device below the disk @top. One mount per disk is enough. */
static void add_disk(struct use_scanner *scanner, size_t top, const struct use_cause *cause)
{
	bool mount = cause->reason == USE_HOST_FILESYSTEM || cause->reason == USE_MOUNTED;
	const char *name = blocks_name(scanner->blocks, top);
	auto_block_set struct block_set set = { 0 };
	size_t found = 0;

	if (mount && block_set_has(&scanner->mounted, top))
		return;
	if (mount)
		block_set_add(&scanner->mounted, top);
	block_set_add(&set, top);
	expand(scanner, &set);
	for (size_t i = 0; i < set.len; i++) {
		block_set_add(&scanner->used, set.items[i]);
		found += add_block(scanner, set.items[i], name, cause);
		if (blocks_is_opaque(scanner->blocks, set.items[i]))
			add_opaque(scanner, set.items[i]);
	}
	if (found == 0)
		add_lost_loop(scanner, top, cause);
}

/* XFS may have its log, or the data of files, on other disks than the mounted one, ReiserFS its
 * journal; EROFS names further disks. F2FS and JFS may have some, but do not name them. The kernel
 * repeats the name that mount(8) got. Even for mounts of process 1 it may name another disk, in a
 * container that shares its mounts with the host. */
static void add_further_disks(struct use_scanner *scanner, const struct mount *mount,
			      bool elsewhere, const struct use_cause *cause)
{
	static const char *const keys[] = { "logdev=", "rtdev=", "device=", "jdev=" };

	if (strcmp(mount->fstype, "f2fs") == 0 || strcmp(mount->fstype, "jfs") == 0)
		uses_add_unknown(&scanner->uses, USE_ASK_MEMBERS,
				 xasprintf("which further disks the %s at %s is on cannot be seen",
					   strcmp(mount->fstype, "f2fs") == 0 ? "F2FS" : "JFS",
					   mount->point));

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		auto_free char *path = mount_option(mount, keys[i]);
		long disk = path && !elsewhere ? blocks_by_path(scanner->blocks, path) : BLOCK_NONE;

		if (!path)
			continue;
		if (disk != BLOCK_NONE)
			add_disk(scanner, (size_t)disk, cause);
		uses_add_unknown(&scanner->uses, USE_ASK_MEMBERS,
				 xasprintf("which disk %s%.64s of %s is cannot be seen", keys[i],
					   path, mount->point));
	}
}

/* The disks of a file system that is mounted in sight. */
static void add_disks(struct use_scanner *scanner, const struct block_set *set,
		      const struct use_cause *cause)
{
	for (size_t i = 0; i < set->len; i++) {
		block_set_add(&scanner->in_sight, set->items[i]);
		add_disk(scanner, set->items[i], cause);
	}
}

/* Note @cause for every device under @mount; false if nothing is known to be there. */
static bool add_mount(struct use_scanner *scanner, const struct mount *mount,
		      const struct use_cause *cause)
{
	auto_block_set struct block_set set = { 0 };

	if (!blocks_of_mount(scanner->blocks, mount, &set))
		return add_foreign(scanner, mount, cause);
	add_disks(scanner, &set, cause);
	add_further_disks(scanner, mount, false, cause);
	return true;
}

/* ZFS takes its disks without a trace in /sys; the pool is the source up to its first slash. */
static void add_zfs_pool(struct use_scanner *scanner, const char *source)
{
	uses_add_unknown(&scanner->uses, USE_ASK_MEMBERS,
			 xasprintf("which disks the ZFS pool '%.*s' is on cannot be seen",
				   (int)strcspn(source, "/"), source));
}

static void add_host_mount(struct use_scanner *scanner, const struct mount *mount,
			   bool must_be_known)
{
	auto_free char *why = xasprintf("is mounted at %s", mount->point);
	const struct use_cause cause = { USE_HOST_FILESYSTEM, why };

	if (mount_has_no_storage(mount) || add_mount(scanner, mount, &cause) || !must_be_known ||
	    use_served_add_hidden(scanner, mount))
		return;
	if (strcmp(mount->fstype, "zfs") == 0)
		add_zfs_pool(scanner, mount->source);
	else
		uses_add_unknown(&scanner->uses, USE_ASK_HOST_FOLDER,
				 xasprintf("no device is known to hold '%s' (%s '%s')",
					   mount->point, mount->fstype, mount->source));
}

/* Has a folder before @row been found on the same mount? */
static bool is_repeated(const struct use_scanner *scanner, const struct mount *mount, size_t row)
{
	for (size_t i = 0; i < row; i++) {
		if (mounts_backing(&scanner->mounts, host_folders[i].path) == mount)
			return true;
	}
	return false;
}

static void add_host_folder(struct use_scanner *scanner, size_t row)
{
	const char *folder = host_folders[row].path;
	const struct mount *backing = mounts_backing(&scanner->mounts, folder);

	if (backing && !is_repeated(scanner, backing, row))
		add_host_mount(scanner, backing, true);
	for (size_t i = 0; host_folders[row].below && i < scanner->mounts.len; i++) {
		const struct mount *mount = &scanner->mounts.items[i];

		if (mount != backing && mounts_path_below(mount->point, folder))
			add_host_mount(scanner, mount, false);
	}
}

static int by_point(const void *a, const void *b)
{
	const struct mount *left = *(const struct mount *const *)a;
	const struct mount *right = *(const struct mount *const *)b;

	return strcmp(left->point, right->point);
}

/* Is the disk known only by a path? In another mount namespace the path may lead to another disk.
 * Those of btrfs are in /sys. */
static bool is_named_only(const struct use_scanner *scanner, const struct mount *mount)
{
	return blocks_by_number(scanner->blocks, mount->major, mount->minor) == BLOCK_NONE &&
	       strcmp(mount->fstype, "btrfs") != 0;
}

/* A mount whose disk is not found may be on any disk. Folders of the node are handled before.
 * @where follows the mount point in messages. */
static void add_other_mount(struct use_scanner *scanner, const struct mount *mount,
			    const char *where)
{
	bool elsewhere = *where != '\0';
	auto_free char *why = xasprintf("is mounted at %s%s", mount->point, where);
	const struct use_cause cause = { USE_MOUNTED, why };
	long node = disk_of_mount(scanner, mount);
	auto_block_set struct block_set set = { 0 };

	if (strcmp(mount->fstype, "zfs") == 0)
		add_zfs_pool(scanner, mount->source);
	else if (((elsewhere && is_named_only(scanner, mount)) ||
		  !blocks_of_mount(scanner->blocks, mount, &set)) &&
		 !use_served_add(scanner, mount, &cause) && !mount_has_no_disk(mount) &&
		 !is_repeated(scanner, mount, HOST_FOLDERS))
		uses_add_unknown(
			&scanner->uses, USE_ASK_MEMBERS,
			xasprintf("no disk is known to hold '%s'%s (%s '%s'): unmount it if it "
				  "is not needed",
				  mount->point, where, mount->fstype, mount->source));
	if (node != BLOCK_NONE)
		add_disk(scanner, (size_t)node, &cause);
	add_disks(scanner, &set, &cause);
	if (set.len > 0)
		add_further_disks(scanner, mount, elsewhere, &cause);
}

/* All other mounts, by mount point, so that of several on one disk always the same is named. */
static void add_other_mounts(struct use_scanner *scanner)
{
	auto_free const struct mount **sorted = NULL;

	if (scanner->mounts.len == 0)
		return;
	sorted = xcalloc(scanner->mounts.len, sizeof(const struct mount *));
	for (size_t i = 0; i < scanner->mounts.len; i++)
		sorted[i] = &scanner->mounts.items[i];
	qsort(sorted, scanner->mounts.len, sizeof(const struct mount *), by_point);
	for (size_t i = 0; i < scanner->mounts.len; i++)
		add_other_mount(scanner, sorted[i], "");
}

/* A node of a disk that is mounted on a file, as hostPath volumes are: the pod may have it open. */
static bool may_be_on_disk(const struct use_scanner *scanner, const struct mount *mount)
{
	return !mount_has_no_disk(mount) || disk_of_mount(scanner, mount) != BLOCK_NONE;
}

/* Mounts of containers and of services that have a mount namespace of their own. */
static void add_mounts_of_others(struct use_scanner *scanner)
{
	use_namespaces_read(scanner, may_be_on_disk);
	for (size_t i = 0; i < scanner->others.len; i++)
		add_other_mount(scanner, &scanner->others.items[i], " in another mount namespace");
}

/* Has one of the first @len of @mounts the same filesystem? */
static bool has_device(const struct mounts *mounts, size_t len, const struct mount *mount)
{
	for (size_t i = 0; i < len; i++) {
		if (mounts->items[i].major == mount->major &&
		    mounts->items[i].minor == mount->minor)
			return true;
	}
	return false;
}

/* How many filesystems of @fstype are in @mounts and not in @before? */
static size_t count_devices(const struct mounts *mounts, const struct mounts *before,
			    const char *fstype)
{
	size_t count = 0;

	for (size_t i = 0; i < mounts->len; i++) {
		const struct mount *mount = &mounts->items[i];

		if (strcmp(mount->fstype, fstype) == 0 && !has_device(mounts, i, mount) &&
		    !has_device(before, before->len, mount))
			count++;
	}
	return count;
}

/*
 * Every filesystem that is mounted holds the module of its type (get_filesystem() of the kernel's
 * fs/filesystems.c), also after `umount -l` and in a mount namespace without a process. If there
 * are more than can be seen, one is out of sight. Types that list their disks are not asked
 * (mount_folders), nor can those be that the kernel has built in.
 */
static void add_unseen(struct use_scanner *scanner, const char *module, const char *fstype)
{
	static const struct mounts none = { 0 };
	auto_free char *count_path = xasprintf("module/%s/refcnt", module);
	auto_free char *users_path = xasprintf("module/%s/holders", module);
	auto_names struct sysfs_names users = { 0 };
	struct sysfs_attr attr;
	uint64_t count;
	size_t seen;

	if (sysfs_read(scanner->sysfs_fd, count_path, &attr, NULL) != 0 ||
	    !str_to_u64(attr.text, &count) || count == 0)
		return;
	(void)sysfs_list(scanner->sysfs_fd, users_path, &users, NULL);
	seen = count_devices(&scanner->mounts, &none, fstype) +
	       count_devices(&scanner->others, &scanner->mounts, fstype);
	if (count > seen + users.len)
		uses_add_unknown(&scanner->uses, USE_ASK_MEMBERS,
				 xasprintf("a file system of type %s is mounted where it cannot be "
					   "seen, and so on an unknown disk",
					   fstype));
}

static void add_unseen_mounts(struct use_scanner *scanner)
{
	for (size_t i = 0; i < ARRAY_LEN(disk_modules); i++)
		add_unseen(scanner, disk_modules[i].module, disk_modules[i].fstype);
}

/* A container's /dev may have another disk by that name. */
static bool has_room(const struct use_scanner *scanner, size_t block, uint64_t kib)
{
	uint64_t sectors;

	return !read_number(scanner, block, "size", &sectors) || kib <= sectors / (1024 / SECTOR);
}

/* The kernel appends " (deleted)" to the name of a removed file or node, and goes on swapping. The
 * node of a device does not show on which disk the node is. */
static void add_swap(struct use_scanner *scanner, const struct swap *swap)
{
	static const struct use_cause cause = { USE_HOST_SWAP, "holds swap" };
	static const char deleted[] = " (deleted)";
	const char *path = swap->path;
	size_t len = strlen(path);
	size_t tail = sizeof(deleted) - 1;
	bool gone = len > tail && strcmp(path + len - tail, deleted) == 0;
	auto_free char *name = xstrndup(path, gone ? len - tail : len);
	long block = swap->is_device ? disk_at(scanner, name) : BLOCK_NONE;
	const struct mount *mount = swap->is_device ? NULL : mounts_backing(&scanner->mounts, name);

	if (block != BLOCK_NONE)
		add_disk(scanner, (size_t)block, &cause);
	if (block == BLOCK_NONE ? !mount || !add_mount(scanner, mount, &cause)
				: !has_room(scanner, (size_t)block, swap->kib))
		uses_add_unknown(
			&scanner->uses, USE_ASK_MEMBERS,
			xasprintf("which disk the swap area '%s' is on cannot be seen", path));
}

static void add_swaps(struct use_scanner *scanner)
{
	for (size_t i = 0; i < scanner->swaps.len; i++)
		add_swap(scanner, &scanner->swaps.items[i]);
}

/* Filesystems of some types have a folder in /sys as long as they are mounted, also in another
 * mount namespace: a container's, or what was there before the root was switched. It has the name
 * of the disk, or with btrfs lists the disks. */
static int list_disks(const struct use_scanner *scanner, int dir_fd, const char *folder,
		      struct block_set *ret_set)
{
	auto_names struct sysfs_names names = { 0 };
	int r = sysfs_list(dir_fd, folder, &names, NULL);

	for (size_t i = 0; i < names.len; i++) {
		auto_free char *path = xasprintf("/dev/%s", names.items[i]);
		long block = blocks_by_path(scanner->blocks, path);

		if (block != BLOCK_NONE)
			block_set_add(ret_set, (size_t)block);
	}
	return r;
}

static void add_hidden_disks(struct use_scanner *scanner, const char *folder, bool may_have_more)
{
	static const struct use_cause cause = { USE_MOUNTED, "is mounted out of sight" };
	auto_block_set struct block_set set = { 0 };

	(void)list_disks(scanner, scanner->sysfs_fd, folder, &set);
	for (size_t i = 0; i < set.len; i++) {
		if (may_have_more && !block_set_has(&scanner->in_sight, set.items[i]))
			uses_add_unknown(
				&scanner->uses, USE_ASK_MEMBERS,
				xasprintf("%s is mounted out of sight, and which further disks its "
					  "file system is on cannot be seen",
					  blocks_name(scanner->blocks, set.items[i])));
		add_disk(scanner, set.items[i], &cause);
	}
}

/* An ext4 journal on a disk of its own has that disk's name there; others add a dash and their
 * inode's number (journal_init_common() of the kernel's fs/jbd2/journal.c). */
static void add_journals(struct use_scanner *scanner)
{
	static const struct use_cause cause = { USE_MOUNTED, "holds the journal of a file system" };
	auto_block_set struct block_set set = { 0 };

	if (scanner->proc_fd < 0)
		return;
	if (list_disks(scanner, scanner->proc_fd, "fs/jbd2", &set) == SYSFS_ABSENT)
		use_check_proc(scanner, USE_ASK_DISKS);
	for (size_t i = 0; i < set.len; i++)
		add_disk(scanner, set.items[i], &cause);
}

static void add_hidden_mounts(struct use_scanner *scanner)
{
	auto_names struct sysfs_names systems = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(mount_folders); i++)
		add_hidden_disks(scanner, mount_folders[i].path, mount_folders[i].may_have_more);
	if (sysfs_list(scanner->sysfs_fd, "fs/btrfs", &systems, NULL) != 0)
		return;
	for (size_t i = 0; i < systems.len; i++) {
		auto_free char *folder = xasprintf("fs/btrfs/%s/devices", systems.items[i]);

		add_hidden_disks(scanner, folder, false);
	}
}

/* Disks of arrays, volumes and loop devices that are not mounted: they may still be open. */
static void add_holders(struct use_scanner *scanner)
{
	static const struct use_cause cause = { USE_BLOCK_HOLDER, "is set up" };

	for (size_t i = 0; i < blocks_len(scanner->blocks); i++) {
		if (block_set_has(&scanner->used, i))
			continue;
		if (blocks_is_built(scanner->blocks, i) || is_loop_on_disk(scanner, i))
			add_disk(scanner, i, &cause);
	}
}

/*
 * A loop device whose file is a disk's node, but not the one in /dev: created by mknod(1), or a
 * container's, whose /dev may have another disk by the same name. The kernel shows only the path.
 * The loop device has the size of that disk, which an image rarely has.
 */
static void add_possible_disks(struct use_scanner *scanner, size_t loop)
{
	const char *name = blocks_name(scanner->blocks, loop);
	const struct mount *mount;
	struct sysfs_attr file;

	if (!loop_backing(scanner, loop, &file))
		return;
	mount = mounts_backing(&scanner->mounts, file.text);
	if (blocks_by_path(scanner->blocks, file.text) == BLOCK_NONE &&
	    disk_at(scanner, file.text) != BLOCK_NONE && strcmp(mount->fstype, "devtmpfs") == 0)
		return; /* a mounted node of the host's /dev: any disk may have that name */
	for (size_t i = 0; i < blocks_len(scanner->blocks); i++) {
		auto_free char *why =
			xasprintf("has the size of %s, whose file '%.64s' may be a node of it",
				  name, file.text);
		const struct use_cause cause = { USE_UNKNOWN, why };

		if (strncmp(blocks_name(scanner->blocks, i), "loop", 4) != 0 &&
		    !block_set_has(&scanner->used, i) && fits_loop(scanner, i, loop))
			add_disk(scanner, i, &cause);
	}
}

static void add_loops(struct use_scanner *scanner)
{
	for (size_t i = 0; i < blocks_len(scanner->blocks); i++)
		add_possible_disks(scanner, i);
}

/* Of what a program has open only locks are shown to everybody. Ceph, QEMU and others lock the
 * disks that they use. */
static void add_locked(struct use_scanner *scanner)
{
	static const struct use_cause cause = { USE_BLOCK_HOLDER, "is locked by a process" };
	auto_block_set struct block_set set = { 0 };

	use_locks_disks(scanner, &set);
	for (size_t i = 0; i < set.len; i++) {
		if (!block_set_has(&scanner->used, set.items[i]))
			add_disk(scanner, set.items[i], &cause);
	}
}

/* Flash memory that is really a disk, held by the driver block2mtd. It has a name that its user
 * chose. */
static void add_flash(struct use_scanner *scanner)
{
	auto_names struct sysfs_names names = { 0 };

	if (faccessat(scanner->sysfs_fd, "module/block2mtd", F_OK, 0) == 0 &&
	    sysfs_list(scanner->sysfs_fd, "class/mtd", &names, NULL) == 0 && names.len > 0)
		uses_add_unknown(
			&scanner->uses, USE_ASK_MEMBERS,
			xstrdup("which disks the module block2mtd holds is not looked up"));
}

/* "cache0" links the folder "bcache" below the disk. */
static void add_bcache(struct use_scanner *scanner, const char *set, const char *name,
		       const struct use_cause *cause)
{
	auto_free char *link = xasprintf("%s/%s", set, name);
	char target[SYSFS_LINK_MAX + 1];
	auto_free char *path = NULL;
	char *slash;
	long block;

	if (sysfs_link(scanner->sysfs_fd, link, target, NULL) != 0)
		return;
	slash = strrchr(target, '/');
	if (slash)
		*slash = '\0';
	path = xasprintf("/dev/%s", str_base_name(target));
	block = blocks_by_path(scanner->blocks, path);
	if (block != BLOCK_NONE && !block_set_has(&scanner->used, (size_t)block))
		add_disk(scanner, (size_t)block, cause);
}

/* A cache of bcache is held as soon as it is known, with what has not been written back yet; it is
 * below a disk of its own kind only while it caches one (register_cache() of the kernel's
 * drivers/md/bcache/super.c). */
static void add_bcaches(struct use_scanner *scanner)
{
	static const struct use_cause cause = { USE_BLOCK_HOLDER, "is a cache of bcache" };
	auto_names struct sysfs_names sets = { 0 };

	if (sysfs_list(scanner->sysfs_fd, "fs/bcache", &sets, NULL) != 0)
		return;
	for (size_t i = 0; i < sets.len; i++) {
		auto_free char *set = xasprintf("fs/bcache/%s", sets.items[i]);
		auto_names struct sysfs_names names = { 0 };

		if (sysfs_list_prefix(scanner->sysfs_fd, set, "cache", &names, NULL) != 0)
			continue; /* "register" and the like are files */
		for (size_t k = 0; k < names.len; k++)
			add_bcache(scanner, set, names.items[k], &cause);
	}
}

/* A zram writes what it has no room for to a disk, which it holds without being built on it. */
static void add_zram_disk(struct use_scanner *scanner, size_t block)
{
	static const struct use_cause cause = { USE_HOST_SWAP, "holds pages of a zram" };
	const char *name = blocks_name(scanner->blocks, block);
	auto_free char *path = xasprintf("class/block/%s/backing_dev", name);
	struct sysfs_attr disk;
	long found;

	if (sysfs_read(scanner->sysfs_fd, path, &disk, NULL) != 0 || strcmp(disk.text, "none") == 0)
		return;
	found = blocks_by_path(scanner->blocks, disk.text);
	if (found != BLOCK_NONE)
		add_disk(scanner, (size_t)found, &cause);
	else
		uses_add_unknown(
			&scanner->uses, USE_ASK_MEMBERS,
			xasprintf("which disk '%.64s', which has pages of %s, is cannot be seen",
				  disk.text, name));
}

static void add_zram_disks(struct use_scanner *scanner)
{
	for (size_t i = 0; i < blocks_len(scanner->blocks); i++) {
		if (strncmp(blocks_name(scanner->blocks, i), "zram", 4) == 0)
			add_zram_disk(scanner, i);
	}
}

/* Every pool that is imported has a folder there, mounted or not. */
static void add_zfs_pools(struct use_scanner *scanner)
{
	const char *name;
	struct dir dir;

	if (scanner->proc_fd < 0)
		return;
	if (dir_open(&dir, scanner->proc_fd, "spl/kstat/zfs") < 0) {
		dir.code = -errno;
		if (dir.code == -ENOENT)
			use_check_proc(scanner, USE_ASK_MEMBERS);
	} else {
		while ((name = dir_next(&dir)) != NULL) {
			if (dir.type == DT_DIR)
				add_zfs_pool(scanner, name);
		}
		dir_done(&dir);
	}
	if (dir.code < 0 && dir.code != -ENOENT)
		uses_add_unknown(&scanner->uses, USE_ASK_MEMBERS,
				 xasprintf("ZFS pools cannot be listed: %s", strerror(-dir.code)));
}

/* DRBD and ZFS volumes: the kernel holds their disks, but /sys does not show it. */
static void add_replicated(struct use_scanner *scanner)
{
	for (size_t i = 0; i < blocks_len(scanner->blocks); i++) {
		const char *name = blocks_name(scanner->blocks, i);

		if ((strncmp(name, "drbd", 4) == 0 || strncmp(name, "zd", 2) == 0) &&
		    blocks_is_opaque(scanner->blocks, i))
			add_opaque(scanner, i);
	}
}

struct target_kind {
	const char *what;
	const char *module;
	const char *folder; /* is there as long as the module is loaded (and configfs is mounted) */
	const char *prefixes[5];
};

static bool is_target(const struct target_kind *kind, const char *name)
{
	for (const char *const *prefix = kind->prefixes; *prefix; prefix++) {
		if (strncmp(name, *prefix, strlen(*prefix)) == 0)
			return true;
	}
	return false;
}

/* The kernel holds a disk that it exports, and only configfs names it. Who sees no configfs,
 * because it was mounted after the agent's pod began, sees no targets. */
static void add_targets(struct use_scanner *scanner, const struct target_kind *kind)
{
	auto_names struct sysfs_names names = { 0 };
	auto_free char *module = xasprintf("module/%s", kind->module);
	int r = sysfs_list(scanner->sysfs_fd, kind->folder, &names, NULL);

	for (size_t i = 0; i < names.len; i++) {
		if (is_target(kind, names.items[i]))
			uses_add_unknown(&scanner->uses, USE_ASK_MEMBERS,
					 xasprintf("which disks the %s target '%.64s' exports is "
						   "not looked up",
						   kind->what, names.items[i]));
	}
	if (r == SYSFS_ABSENT && faccessat(scanner->sysfs_fd, module, F_OK, 0) == 0)
		uses_add_unknown(
			&scanner->uses, USE_ASK_MEMBERS,
			xasprintf("which disks %s targets export cannot be seen: module %s is "
				  "loaded, and /sys/%s is not there",
				  kind->what, kind->module, kind->folder));
}

/* A gadget makes this machine a USB device of another one, as which it may serve a disk. */
static void add_gadget(struct use_scanner *scanner, const char *gadget)
{
	auto_free char *folder = xasprintf("kernel/config/usb_gadget/%s/functions", gadget);
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list_prefix(scanner->sysfs_fd, folder, "mass_storage.", &names, NULL) == 0 &&
	    names.len > 0)
		uses_add_unknown(&scanner->uses, USE_ASK_MEMBERS,
				 xasprintf("which disks the USB gadget '%.64s' exports is not "
					   "looked up",
					   gadget));
}

static void add_gadgets(struct use_scanner *scanner)
{
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list(scanner->sysfs_fd, "kernel/config/usb_gadget", &names, NULL) != 0)
		return;
	for (size_t i = 0; i < names.len; i++)
		add_gadget(scanner, names.items[i]);
}

static void add_exported(struct use_scanner *scanner)
{
	static const struct target_kind kinds[] = {
		/* The file of a fileio target may be a disk's node. */
		{ "SCSI",
		  "target_core_mod",
		  "kernel/config/target/core",
		  { "iblock_", "pscsi_", "fileio_", "user_" } },
		{ "NVMe", "nvmet", "kernel/config/nvmet/subsystems", { "" } },
		{ "RNBD", "rnbd_server", "class/rnbd-server/ctl/devices", { "" } },
		{ "SCST", "scst", "kernel/scst_tgt/devices", { "" } },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		add_targets(scanner, &kinds[i]);
}

void use_storage_collect(struct use_scanner *scanner)
{
	for (size_t i = 0; i < HOST_FOLDERS; i++)
		add_host_folder(scanner, i);
	add_swaps(scanner);
	add_zram_disks(scanner);
	add_other_mounts(scanner);
	add_mounts_of_others(scanner);
	add_hidden_mounts(scanner);
	add_unseen_mounts(scanner);
	add_journals(scanner);
	add_holders(scanner);
	add_bcaches(scanner);
	add_zfs_pools(scanner);
	add_replicated(scanner);
	add_exported(scanner);
	add_gadgets(scanner);
	add_flash(scanner);
	add_locked(scanner);
	add_loops(scanner); /* last, as it asks of disks that are not used otherwise */
}
