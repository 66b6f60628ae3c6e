#include "agent/helper/scan/block.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/scan/mounts.h"
#include "agent/helper/sys/sysfs.h"
#include "base/array.h"
#include "base/mem.h"

struct block {
	char *name;
	char *path;
	char *mapper_name; /* device mapper's name for it, NULL for others */
	unsigned major;
	unsigned minor;
};

struct blocks {
	int sysfs_fd;
	int class_fd;
	struct block *items;
	size_t len;
	size_t cap;
};

bool block_set_has(const struct block_set *set, size_t block)
{
	for (size_t i = 0; i < set->len; i++) {
		if (set->items[i] == block)
			return true;
	}
	return false;
}

void block_set_add(struct block_set *set, size_t block)
{
	if (!block_set_has(set, block))
		*array_add(set) = block;
}

void block_set_done(struct block_set *set)
{
	array_done(set);
}

static char *read_text(int dir_fd, const char *folder, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", folder, name);
	struct sysfs_attr attr;

	return sysfs_read(dir_fd, path, &attr, NULL) == 0 ? xstrdup(attr.text) : NULL;
}

static void read_block(struct blocks *blocks, const char *name)
{
	auto_free char *numbers = read_text(blocks->class_fd, name, "dev");
	char target[SYSFS_LINK_MAX + 1];
	struct block block = { 0 };

	if (!numbers || !mounts_parse_device(numbers, &block.major, &block.minor))
		return;
	if (sysfs_link(blocks->class_fd, name, target, NULL) != 0)
		target[0] = '\0';
	block.name = xstrdup(name);
	block.path = xstrdup(target);
	if (strncmp(name, "dm-", 3) == 0)
		block.mapper_name = read_text(blocks->class_fd, name, "dm/name");
	*array_add(blocks) = block;
}

struct blocks *blocks_new(int sysfs_fd)
{
	auto_names struct sysfs_names names = { 0 };
	struct blocks *blocks = xcalloc(1, sizeof(*blocks));

	blocks->sysfs_fd = sysfs_fd;
	blocks->class_fd = sysfs_open_dir(sysfs_fd, "class/block");
	if (blocks->class_fd >= 0 && sysfs_list(blocks->class_fd, ".", &names, NULL) == 0) {
		for (size_t i = 0; i < names.len; i++)
			read_block(blocks, names.items[i]);
	}
	return blocks;
}

struct blocks *blocks_free(struct blocks *blocks)
{
	if (!blocks)
		return NULL;
	for (size_t i = 0; i < blocks->len; i++) {
		free(blocks->items[i].name);
		free(blocks->items[i].path);
		free(blocks->items[i].mapper_name);
	}
	array_done(blocks);
	if (blocks->class_fd >= 0)
		close(blocks->class_fd);
	free(blocks);
	return NULL;
}

size_t blocks_len(const struct blocks *blocks)
{
	return blocks->len;
}

const char *blocks_name(const struct blocks *blocks, size_t block)
{
	return blocks->items[block].name;
}

const char *blocks_path(const struct blocks *blocks, size_t block)
{
	return blocks->items[block].path;
}

void blocks_number(const struct blocks *blocks, size_t block, unsigned *ret_major,
		   unsigned *ret_minor)
{
	*ret_major = blocks->items[block].major;
	*ret_minor = blocks->items[block].minor;
}

long blocks_by_number(const struct blocks *blocks, unsigned major, unsigned minor)
{
	for (size_t i = 0; i < blocks->len; i++) {
		if (blocks->items[i].major == major && blocks->items[i].minor == minor)
			return (long)i;
	}
	return BLOCK_NONE;
}

static long by_name(const struct blocks *blocks, const char *name)
{
	for (size_t i = 0; i < blocks->len; i++) {
		if (strcmp(blocks->items[i].name, name) == 0)
			return (long)i;
	}
	return BLOCK_NONE;
}

static long by_mapper_name(const struct blocks *blocks, const char *name)
{
	for (size_t i = 0; i < blocks->len; i++) {
		const char *mapper_name = blocks->items[i].mapper_name;

		if (mapper_name && strcmp(mapper_name, name) == 0)
			return (long)i;
	}
	return BLOCK_NONE;
}

long blocks_by_path(const struct blocks *blocks, const char *path)
{
	static const char dev[] = "/dev/";
	static const char mapper[] = "mapper/";
	auto_free char *name = NULL;

	if (strncmp(path, dev, sizeof(dev) - 1) != 0)
		return BLOCK_NONE;
	path += sizeof(dev) - 1;
	if (strncmp(path, mapper, sizeof(mapper) - 1) == 0)
		return by_mapper_name(blocks, path + sizeof(mapper) - 1);
	/* sysfs writes a slash in a kernel name ("cciss/c0d0") as "!". */
	name = xstrdup(path);
	for (char *c = name; *c; c++)
		*c = *c == '/' ? '!' : *c;
	return by_name(blocks, name);
}

static void add_named(const struct blocks *blocks, const struct sysfs_names *names,
		      struct block_set *set)
{
	for (size_t i = 0; i < names->len; i++) {
		long block = by_name(blocks, names->items[i]);

		if (block != BLOCK_NONE)
			block_set_add(set, (size_t)block);
	}
}

/* All members of the btrfs that has @member among them. */
static void add_btrfs_members(const struct blocks *blocks, size_t member, struct block_set *set)
{
	auto_names struct sysfs_names systems = { 0 };

	if (sysfs_list(blocks->sysfs_fd, "fs/btrfs", &systems, NULL) != 0)
		return;
	for (size_t i = 0; i < systems.len; i++) {
		auto_free char *path = xasprintf("fs/btrfs/%s/devices", systems.items[i]);
		auto_names struct sysfs_names names = { 0 };
		auto_block_set struct block_set members = { 0 };

		if (sysfs_list(blocks->sysfs_fd, path, &names, NULL) != 0)
			continue;
		add_named(blocks, &names, &members);
		for (size_t k = 0; k < members.len; k++) {
			if (members.items[k] != member)
				continue;
			add_named(blocks, &names, set);
			return;
		}
	}
}

/* Sources of filesystems without a number of their own are a path, or with bcachefs several. */
static bool add_sources(const struct blocks *blocks, const char *sources, struct block_set *set)
{
	size_t before = set->len;

	while (*(sources += strspn(sources, ":"))) {
		size_t len = strcspn(sources, ":");
		auto_free char *source = xstrndup(sources, len);
		long block = blocks_by_path(blocks, source);

		if (block == BLOCK_NONE)
			return false;
		block_set_add(set, (size_t)block);
		sources += len;
	}
	return set->len > before;
}

bool blocks_of_mount(const struct blocks *blocks, const struct mount *mount, struct block_set *set)
{
	long block = blocks_by_number(blocks, mount->major, mount->minor);
	size_t first = set->len;

	if (block != BLOCK_NONE)
		block_set_add(set, (size_t)block);
	else if (!add_sources(blocks, mount->source, set))
		return false;
	if (strcmp(mount->fstype, "btrfs") == 0 && first < set->len)
		add_btrfs_members(blocks, set->items[first], set);
	return true;
}

/* Devices below "virtual" are built on other disks. Devices of a bus are not, so their folder stays
 * closed. */
static bool is_virtual(const struct block *block)
{
	return strstr(block->path, "/virtual/") != NULL;
}

static bool list_slaves(const struct blocks *blocks, size_t block, struct sysfs_names *ret_names)
{
	auto_free char *path = NULL;

	if (!is_virtual(&blocks->items[block]))
		return false;
	path = xasprintf("%s/slaves", blocks->items[block].name);
	return sysfs_list(blocks->class_fd, path, ret_names, NULL) == 0;
}

bool blocks_is_built(const struct blocks *blocks, size_t block)
{
	auto_names struct sysfs_names names = { 0 };

	return list_slaves(blocks, block, &names) && names.len > 0;
}

/* A partition's disk, one step up the path; BLOCK_NONE for what is none. */
static long whole_disk(const struct blocks *blocks, size_t block)
{
	const char *path = blocks->items[block].path;
	const char *last = strrchr(path, '/');
	const char *start = last;
	auto_free char *disk = NULL;

	if (!last)
		return BLOCK_NONE;
	while (start > path && start[-1] != '/')
		start--;
	disk = xstrndup(start, (size_t)(last - start));
	return by_name(blocks, disk);
}

bool blocks_is_partition(const struct blocks *blocks, size_t block)
{
	return whole_disk(blocks, block) != BLOCK_NONE;
}

bool blocks_is_opaque(const struct blocks *blocks, size_t block)
{
	static const char *const others[] = { "loop", "ram", "zram", "nbd", "rbd" };
	const struct block *b = &blocks->items[block];
	struct devpaths devices = { 0 };
	bool hardware;

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		size_t len = strlen(others[i]);

		if (strncmp(b->name, others[i], len) == 0 && isdigit((unsigned char)b->name[len]))
			return false;
	}
	blocks_devices(blocks, block, &devices);
	hardware = devices.len > 0;
	array_done(&devices);
	return !hardware && is_virtual(b) && strncmp(b->name, "nvme", 4) != 0 &&
	       !blocks_is_built(blocks, block) && !blocks_is_partition(blocks, block);
}

static void add_slaves(const struct blocks *blocks, size_t block, struct block_set *set)
{
	auto_names struct sysfs_names names = { 0 };

	if (list_slaves(blocks, block, &names))
		add_named(blocks, &names, set);
}

/* A partition has no slaves of its own; its disk may have. */
static void add_whole_disk(const struct blocks *blocks, size_t block, struct block_set *set)
{
	long whole = is_virtual(&blocks->items[block]) ? whole_disk(blocks, block) : BLOCK_NONE;

	if (whole != BLOCK_NONE)
		block_set_add(set, (size_t)whole);
}

void blocks_expand(const struct blocks *blocks, struct block_set *set)
{
	/* The set grows while it is walked, by each device once, so loops end. */
	for (size_t i = 0; i < set->len; i++) {
		add_slaves(blocks, set->items[i], set);
		add_whole_disk(blocks, set->items[i], set);
	}
}

/* A multipath NVMe disk is below its subsystem, which links the controllers that lead to it. */
static void add_nvme_controllers(const struct blocks *blocks, const char *path,
				 struct devpaths *devices)
{
	static const char mark[] = "/nvme-subsystem/";
	const char *system = strstr(path, mark);
	auto_names struct sysfs_names names = { 0 };
	auto_free char *folder = NULL;

	if (!system)
		return;
	system += sizeof(mark) - 1;
	folder =
		xasprintf("devices/virtual/nvme-subsystem/%.*s", (int)strcspn(system, "/"), system);
	if (sysfs_list(blocks->sysfs_fd, folder, &names, NULL) != 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *link = xasprintf("%s/%s", folder, names.items[i]);
		struct devpath devpath;

		if (strncmp(names.items[i], "nvme", 4) == 0 &&
		    devpath_of_link(blocks->sysfs_fd, link, &devpath))
			*array_add(devices) = devpath;
	}
}

void blocks_devices(const struct blocks *blocks, size_t block, struct devpaths *devices)
{
	const char *path = blocks->items[block].path;
	struct devpath devpath;

	devpath_parse(path, &devpath);
	if (devpath_found(&devpath))
		*array_add(devices) = devpath;
	else
		add_nvme_controllers(blocks, path, devices);
}
