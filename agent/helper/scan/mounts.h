/*
 * mounts: reads the text of /proc/<pid>/mountinfo and /proc/swaps (proc(5)). No I/O here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line of mountinfo; escapes are resolved. */
struct mount {
	unsigned major; /* 0 for filesystems without one block device: nfs, btrfs, overlay */
	unsigned minor;
	char *root; /* of the file system: what of it is mounted; a file's name with a file */
	char *point;
	char *fstype;
	char *source;
	char *options; /* of the filesystem, not of the mount */
};

struct mounts {
	struct mount *items; /* in the kernel's order: a later one covers an earlier one */
	size_t len;
	size_t cap;
};

/* Parse "8:1", the numbers of a block device; cuts @text in two. False: it is no such text. */
bool mounts_parse_device(char *text, unsigned *ret_major, unsigned *ret_minor);

/* Append the mounts in @text to @mounts; returns how many lines had another form and were left
 * out. */
size_t mounts_parse(const char *text, size_t len, struct mounts *mounts);
void mounts_done(struct mounts *mounts);

/* The mount that holds the path @path, NULL if there is none. */
const struct mount *mounts_backing(const struct mounts *mounts, const char *path);

/* Is @path @folder or below it? */
bool mounts_path_below(const char *path, const char *folder);

/* A file or a block device that the kernel swaps to. */
struct swap {
	char *path; /* by which it was opened: of a device not always the one in /dev */
	bool is_device;
	uint64_t kib; /* its size; 0: not known */
};

struct swaps {
	struct swap *items;
	size_t len;
	size_t cap;
};

/* Append the areas in @text to @swaps; returns how many lines had another form and were left
 * out. */
size_t swaps_parse(const char *text, size_t len, struct swaps *swaps);
void swaps_done(struct swaps *swaps);
