/*
 * dir: lists the names in a folder with as few system calls as possible, and creates folders.
 * opendir() needs three more calls per folder, which matters for the many small folders of /proc
 * and /sys.
 */
#pragma once

#include <dirent.h>
#include <stddef.h>

struct err;

enum { DIR_BUFFER = 4096 };

/* Lives in the caller's memory. */
struct dir {
	int fd;             /* of the folder; may be used with openat() */
	unsigned char type; /* DT_DIR and so on, of the last name */
	int code;           /* negative errno that ended the list early, else 0 */
	size_t at;
	size_t len;
	char buffer[DIR_BUFFER] __attribute__((aligned(__alignof__(struct dirent64))));
};

/* Open the folder @path below @dir_fd. Returns -1 with errno set on error; then there is nothing
 * to release. */
int dir_open(struct dir *dir, int dir_fd, const char *path);

/* The next name, valid until the next call; names that begin with a dot are skipped. NULL at the
 * end or on error: then dir->code is the negative errno (-ENOENT if the folder was removed
 * meanwhile). */
const char *dir_next(struct dir *dir);
void dir_done(struct dir *dir);

/* Create the folder @path (absolute) and its parents, all with @mode. 0 also if it exists. */
int dir_make(const char *path, unsigned mode, struct err *err);

/* Open the folder @path (absolute): *@ret_fd. If it does not exist, create it as dir_make(). */
int dir_make_open(const char *path, unsigned mode, int *ret_fd, struct err *err);
