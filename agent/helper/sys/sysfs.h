/*
 * sysfs: bounded reads of attributes, links and folders below a directory descriptor.
 *
 * Knows nothing about devices. A missing name is an outcome, not an error: devices come and go
 * during a read, and most attributes exist for some devices only.
 */
#pragma once

#include <stddef.h>

struct err;
struct stat;

enum {
	SYSFS_ATTR_MAX = 4095, /* the kernel's own limit is one page with its terminator */
	SYSFS_LINK_MAX = 1023,
	SYSFS_NAMES_MAX = 65536, /* more entries than this in one folder are not believed */
};

/* Outcome of the reads below: no such attribute, or its device went away. */
enum { SYSFS_ABSENT = 1 };

/*
 * The first of the reads below on this thread since sysfs_forget_failure() that failed for another
 * reason than absence; code 0: none did. For collectors that make many small reads: an answer that
 * could not be read is not the answer "no".
 */
const struct err *sysfs_failure(void);
void sysfs_forget_failure(void);

/* -EMFILE, -ENFILE or -ENOMEM if a read of this process failed for that reason; 0: none did. Such
 * an error says nothing about a device: the facts of this process are incomplete. */
int sysfs_shortage(void);

/* The text of one attribute without its last newline; terminated, may hold NUL bytes inside. */
struct sysfs_attr {
	size_t len;
	char text[SYSFS_ATTR_MAX + 2];
};

/* Read the attribute @path below @dir_fd. 0, SYSFS_ABSENT, or < 0 with @err set (-EFBIG when it is
 * longer than SYSFS_ATTR_MAX). */
int sysfs_read(int dir_fd, const char *path, struct sysfs_attr *ret_attr, struct err *err);

/* The same for an attribute such as "flags" that every network interface has. EINVAL means that the
 * kernel is removing the interface while its folder still exists (dev_isalive() of
 * net/core/net-sysfs.c): that counts as absent too. */
int sysfs_read_interface(int dir_fd, const char *path, struct sysfs_attr *ret_attr,
			 struct err *err);

/* Read the target of the link @path into @ret_target. 0, SYSFS_ABSENT (also when it is not a link),
 * or < 0 with @err set. */
int sysfs_link(int dir_fd, const char *path, char ret_target[SYSFS_LINK_MAX + 1], struct err *err);

/* Open the folder @path as a root for further reads; -1 with errno set if it cannot be. The caller
 * closes. */
int sysfs_open_dir(int dir_fd, const char *path);

/* Names in a folder. */
struct sysfs_names {
	char **items;
	size_t len;
	size_t cap;
};

/* List the folder @path, sorted so that numbers inside names count as numbers. 0, SYSFS_ABSENT, or
 * < 0 with @err set. */
int sysfs_list(int dir_fd, const char *path, struct sysfs_names *ret_names, struct err *err);

/* Open the folder @path as a root for further reads, and list it. The caller closes *@ret_fd, which
 * is set with 0 only. */
int sysfs_open_list(int dir_fd, const char *path, int *ret_fd, struct sysfs_names *ret_names,
		    struct err *err);

/* The same as sysfs_list() for the names that begin with @prefix. */
int sysfs_list_prefix(int dir_fd, const char *path, const char *prefix,
		      struct sysfs_names *ret_names, struct err *err);
void sysfs_names_done(struct sysfs_names *names);

/* What @path, or what a link of that name leads to, is. 0, SYSFS_ABSENT, or < 0 with @err set. */
int sysfs_stat(int dir_fd, const char *path, struct stat *ret_stat, struct err *err);

/* The name of some entry of the folder @path, NULL if it has none or is not there. The caller
 * frees. */
char *sysfs_any_entry(int dir_fd, const char *path);

#define auto_names __attribute__((cleanup(sysfs_names_done)))
