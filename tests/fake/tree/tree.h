/*
 * tree: a folder of files and links for one test, such as a machine's /sys and /proc.
 *
 * Entries: "path=text" a file, "path->target" a link, "path/" a folder. Folders above are made.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "unit/suite.h"

/* What a link leads to that cannot be read, since it is longer than any of the kernel's. */
#define TREE_TEN(text)  text text text text text text text text text text
#define TREE_UNREADABLE TREE_TEN(TREE_TEN("0123456789a"))

struct tree {
	char root[64];
	int fd;
};

static inline void tree_make_folders(const struct tree *tree, const char *path)
{
	auto_free char *part = xstrdup(path);

	for (char *c = strchr(part, '/'); c; c = strchr(c + 1, '/')) {
		*c = '\0';
		assert_true(mkdirat(tree->fd, part, 0755) == 0 || errno == EEXIST);
		*c = '/';
	}
}

/* A file with any bytes. */
static inline void tree_write(const struct tree *tree, const char *path, const void *data,
			      size_t len)
{
	auto_close int fd = -1;

	tree_make_folders(tree, path);
	fd = openat(tree->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
}

static inline void tree_add(const struct tree *tree, const char *entry)
{
	const char *arrow = strstr(entry, "->");
	const char *equals = strchr(entry, '=');
	const char *split = arrow && (!equals || arrow < equals) ? arrow : equals;
	auto_free char *path = split ? xstrndup(entry, (size_t)(split - entry)) : xstrdup(entry);

	if (!split) {
		tree_make_folders(tree, path);
	} else if (split == arrow) {
		tree_make_folders(tree, path);
		assert_int_equal(symlinkat(arrow + 2, tree->fd, path), 0);
	} else {
		tree_write(tree, path, equals + 1, strlen(equals + 1));
	}
}

/* Make the entries up to a NULL in a new folder. */
static inline void tree_make(struct tree *tree, const char *const *entries)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(tree->root, sizeof(tree->root), "%.32s/tree.XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(tree->root));
	leftovers_folder(tree->root);
	tree->fd = open(tree->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(tree->fd >= 0);
	for (; entries && *entries; entries++)
		tree_add(tree, *entries);
}

static inline int tree_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *place)
{
	(void)st;
	(void)type;
	(void)place;
	return remove(path);
}

static inline void tree_done(struct tree *tree)
{
	close(tree->fd);
	assert_int_equal(nftw(tree->root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

SUITE_CLOSING(tree, struct tree, tree_done);

/* A folder of the tree, open; -1 if there is none. The caller closes. */
static inline int tree_open(const struct tree *tree, const char *path)
{
	return openat(tree->fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}
