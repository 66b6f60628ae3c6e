/*
 * host_mounts: which of process 1's mounts decide what the host needs of its devices. No I/O.
 *
 * The rules that judge one mount by its line alone. A scan uses them to find the disks
 * (use_storage.c); the agent uses them to tell whether a scan could find anything new
 * (agent/monitor/host_state.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mount;
struct mounts;

enum { HOST_FOLDERS = 16 };

/* What the node cannot do without: whatever holds these folders, and with @below also what is
 * mounted inside them. Below the kubelet's folder that would be the pods' own volumes. */
struct host_folder {
	const char *path;
	bool below;
};

extern const struct host_folder host_folders[HOST_FOLDERS];

/* Is it a filesystem in memory or of the kernel itself? */
bool mount_has_no_storage(const struct mount *mount);

/*
 * Is the filesystem of a kind that is on no disk of its own, and does its source not name one? Of
 * FUSE a program has the data: if that has a disk open, it is one of the processes that have
 * (agent/helper/sys/holders.h).
 */
bool mount_has_no_disk(const struct mount *mount);

/* The value of @key ("addr=") among the filesystem's options; NULL: it is not there. The caller
 * frees. */
char *mount_option(const struct mount *mount, const char *key);

/*
 * A checksum over what decides in process 1's mounts: of each filesystem that holds a host folder,
 * may be on a disk, or is a disk's node mounted on a file, one line, the one that a scan names as
 * the reason. That is the first of those that hold a host folder or are inside one, in the kernel's
 * order, else the one with the smallest mount point.
 *
 * What containers need besides (overlays, filesystems in memory or of the kernel, further mounts of
 * a filesystem that is mounted already) leaves it as it is. Except for which of several mounts of a
 * host folder is the first, the order of @mounts does not matter: Linux before 6.8 lists them by
 * age, later ones by a number that grows (mnt_add_to_ns() of fs/namespace.c).
 *
 * A mount without a disk in an uncommon place leaves it as it is, too, although the file behind a
 * loop device or a swap area may be below it.
 */
uint64_t host_mounts_sum(const struct mounts *mounts);
