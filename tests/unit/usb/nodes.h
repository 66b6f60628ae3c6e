/*
 * nodes: made-up device nodes: files below a folder that are said to be character devices.
 *
 * An owner is remembered by the file's inode, since a test may own its files only itself.
 */
#pragma once

#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/usb/usb_node.h"
#include "base/str.h"
#include "unit/folder.h"
#include "unit/suite.h"

enum { NODES_MAX = 8 };

struct nodes {
	struct folder folder;
	char *dev;
	char *state;
	struct made_node {
		ino_t inode;
		dev_t rdev;
		uid_t uid;
		gid_t gid;
	} items[NODES_MAX];
	size_t len;
	int refuse; /* errno of the next chown */
	bool fixed; /* none would do */
};

static inline struct nodes *nodes(void)
{
	static struct nodes all;

	return &all;
}

static inline struct made_node *nodes_find(ino_t inode)
{
	struct nodes *all = nodes();

	for (size_t i = 0; i < all->len; i++) {
		if (all->items[i].inode == inode)
			return &all->items[i];
	}
	return NULL;
}

static inline int nodes_stat(int fd, struct stat *ret_stat)
{
	const struct made_node *node;
	int r = fstat(fd, ret_stat);

	node = r == 0 ? nodes_find(ret_stat->st_ino) : NULL;
	if (node) {
		ret_stat->st_mode = S_IFCHR | 0664;
		ret_stat->st_rdev = node->rdev;
		ret_stat->st_uid = node->uid;
		ret_stat->st_gid = node->gid;
	}
	return r;
}

static inline int nodes_chown(int fd, uid_t uid, gid_t gid)
{
	struct stat st;
	struct made_node *node;

	if (nodes()->refuse) {
		errno = nodes()->refuse;
		return -1;
	}
	assert_int_equal(fstat(fd, &st), 0);
	node = nodes_find(st.st_ino);
	assert_non_null(node);
	node->uid = uid;
	node->gid = gid;
	return 0;
}

static inline bool nodes_may_chown(int fd)
{
	(void)fd;
	return !nodes()->fixed;
}

static inline const struct usb_node_calls *nodes_calls(void)
{
	static const struct usb_node_calls calls = { nodes_stat, nodes_chown, nodes_may_chown };

	return &calls;
}

static inline void nodes_folder(const char *name)
{
	auto_free char *path = xasprintf("%s%s", nodes()->dev, name);

	assert_int_equal(mkdir(path, 0700), 0);
}

static inline void nodes_open(void)
{
	*nodes() = (struct nodes){ 0 };
	folder_init(&nodes()->folder);
	nodes()->dev = folder_path(&nodes()->folder, "dev");
	nodes()->state = folder_path(&nodes()->folder, "state");
	nodes_folder("");
	nodes_folder("/bus");
	nodes_folder("/bus/usb");
}

static inline void nodes_close(void)
{
	folder_done(&nodes()->folder);
	free(nodes()->dev);
	free(nodes()->state);
}

/* The node of device @device of bus 1, as the kernel makes it. */
static inline void nodes_make(unsigned device)
{
	auto_free char *name = xasprintf("dev/bus/usb/001/%03u", device);
	auto_free char *path = folder_path(&nodes()->folder, name);
	struct stat st;

	folder_put(&nodes()->folder, name, "");
	assert_int_equal(stat(path, &st), 0);
	assert_true(nodes()->len < NODES_MAX);
	nodes()->items[nodes()->len++] =
		(struct made_node){ .inode = st.st_ino, .rdev = makedev(189, device - 1) };
}

/* The device is gone, and its node with it. Its inode stays in use, as devtmpfs never gives one
 * again. */
static inline void nodes_remove(unsigned device)
{
	auto_free char *path = xasprintf("%s/bus/usb/001/%03u", nodes()->dev, device);
	auto_free char *gone = xasprintf("%s/gone-%zu", nodes()->dev, nodes()->len);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	nodes_find(st.st_ino)->inode = 0;
	assert_int_equal(rename(path, gone), 0);
}

/* "107:107"; "" if there is no such node. The caller frees. */
static inline char *nodes_owner(unsigned device)
{
	auto_free char *path = xasprintf("%s/bus/usb/001/%03u", nodes()->dev, device);
	const struct made_node *node;
	struct stat st;

	if (stat(path, &st) < 0)
		return xstrdup("");
	node = nodes_find(st.st_ino);
	return node ? xasprintf("%u:%u", (unsigned)node->uid, (unsigned)node->gid) : xstrdup("");
}
