/* folder: a temporary folder with files for one test. */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/suite.h"

struct folder {
	char path[64];
};

static inline void folder_init(struct folder *folder)
{
	(void)snprintf(folder->path, sizeof(folder->path), "/tmp/hostdev-unit-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	leftovers_folder(folder->path);
}

/* The caller frees. */
static inline char *folder_path(const struct folder *folder, const char *name)
{
	return xasprintf("%s/%s", folder->path, name);
}

/* Write @text to a file below the folder; "a/b" makes the folder a. */
static inline void folder_put(const struct folder *folder, const char *name, const char *text)
{
	auto_free char *path = folder_path(folder, name);
	auto_close int fd = -1;
	char *slash = strrchr(path, '/');

	*slash = '\0';
	(void)mkdir(path, 0700);
	*slash = '/';
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static inline int folder_remove_one(const char *path, const struct stat *st, int type,
				    struct FTW *ftw)
{
	return remove(path);
}

static inline void folder_done(const struct folder *folder)
{
	assert_int_equal(nftw(folder->path, folder_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

SUITE_FIXTURE(folder, struct folder, folder_init, folder_done);
