/*
 * block: the machine's block devices, and the PCI functions and USB devices behind each: through
 * partitions, device mapper (LVM, multipath, LUKS), md, bcache, btrfs and NVMe multipath.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/helper/sys/devpath.h"

struct blocks;
struct mount;

/* A list of block devices of one struct blocks, by number, each at most once. */
struct block_set {
	size_t *items;
	size_t len;
	size_t cap;
};

enum { BLOCK_NONE = -1 };

/* Look at all block devices below @sysfs_fd, which is borrowed. */
struct blocks *blocks_new(int sysfs_fd);
struct blocks *blocks_free(struct blocks *blocks); /* takes NULL, returns NULL */
size_t blocks_len(const struct blocks *blocks);

/* The kernel's name ("dm-3") of a device, and its path in the device tree. */
const char *blocks_name(const struct blocks *blocks, size_t block);
const char *blocks_path(const struct blocks *blocks, size_t block);

void blocks_number(const struct blocks *blocks, size_t block, unsigned *ret_major,
		   unsigned *ret_minor);
bool blocks_is_partition(const struct blocks *blocks, size_t block);

/* The device with these numbers, or behind a path in /dev; BLOCK_NONE if it is not known. */
long blocks_by_number(const struct blocks *blocks, unsigned major, unsigned minor);
long blocks_by_path(const struct blocks *blocks, const char *path);

/* Add the devices that hold the filesystem of @mount to @set. False if they are not known. */
bool blocks_of_mount(const struct blocks *blocks, const struct mount *mount, struct block_set *set);

/* Is @block built on others (device mapper, md, bcache)? */
bool blocks_is_built(const struct blocks *blocks, size_t block);

/* Is @block no hardware, without anything in /sys that shows what it consists of (drbd0, a ZFS
 * volume zd0)? False for memory, for disks of the network, and for loop devices, which name their
 * file. */
bool blocks_is_opaque(const struct blocks *blocks, size_t block);

/* Add to @set all devices that those in it are built on. */
void blocks_expand(const struct blocks *blocks, struct block_set *set);

/* Append the devices that @block itself (not what it is built on) hangs on. */
void blocks_devices(const struct blocks *blocks, size_t block, struct devpaths *devices);

void block_set_add(struct block_set *set, size_t block);
bool block_set_has(const struct block_set *set, size_t block);
void block_set_done(struct block_set *set);

#define auto_block_set __attribute__((cleanup(block_set_done)))
