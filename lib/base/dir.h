/*
 * dir: the names in a folder, by as few system calls as there can be. opendir() makes three more for
 * every folder, and whoever reads /proc and /sys reads many small ones.
 */
#pragma once

#include <dirent.h>
#include <stddef.h>

enum { DIR_BUFFER = 4096 };

/* Lives in the caller's memory. */
struct dir {
	int fd;             /* of the folder; usable for its files           */
	unsigned char type; /* DT_DIR and so on, of the name returned last   */
	int code;           /* negative errno that ended the list early, 0   */
	size_t at;
	size_t len;
	char buffer[DIR_BUFFER] __attribute__((aligned(__alignof__(struct dirent64))));
};

/* Open the folder @path below @dir_fd. -1 with errno set, and then nothing is to be released. */
int dir_open(struct dir *dir, int dir_fd, const char *path);

/* The next name, valid until the next call; names that begin with a dot are left out. NULL at the
 * end, and when the folder cannot be read any further: then dir->code says why (-ENOENT when it was
 * removed meanwhile). */
const char *dir_next(struct dir *dir);
void dir_done(struct dir *dir);
