#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/helper/scan/use_scan.h"
#include "base/array.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"

enum { LOCKS_MAX = 16 << 20 };

/* Inode numbers of files that are locked. */
struct inodes {
	uint64_t *items;
	size_t len;
	size_t cap;
};

/*
 * Is a line such as "12: OFDLCK ADVISORY READ -1 00:06:202 100 101" (lock_get_status() of the
 * kernel's fs/locks.c) a lock of a file in the filesystem @dev that only the user of a disk takes?
 * udev takes a shared flock(2) lock of every disk for a moment, and no event follows its release,
 * so shared flock locks do not count.
 */
static bool parse_lock(const char *line, size_t len, dev_t dev, uint64_t *ret_inode)
{
	enum { TYPE = 1, MODE = 3, FILE_ID = 5, WORDS };
	auto_free char *text = xstrndup(line, len);
	char *words[WORDS];
	char *rest = text;
	uint64_t major;
	uint64_t minor;

	for (int i = 0; i < WORDS; i++) {
		rest += strspn(rest, " ");
		words[i] = rest;
		rest += strcspn(rest, " ");
		if (*rest)
			*rest++ = '\0';
	}
	rest = words[FILE_ID];
	if (!str_to_hex(strsep(&rest, ":"), &major) || !rest ||
	    !str_to_hex(strsep(&rest, ":"), &minor) || !rest || !str_to_u64(rest, ret_inode))
		return false;
	return major == major(dev) && minor == minor(dev) &&
	       (strcmp(words[MODE], "WRITE") == 0 || strcmp(words[TYPE], "OFDLCK") == 0);
}

static bool has_inode(const struct inodes *inodes, uint64_t inode)
{
	for (size_t i = 0; i < inodes->len; i++) {
		if (inodes->items[i] == inode)
			return true;
	}
	return false;
}

static void read_locks(struct use_scanner *scanner, dev_t dev, struct inodes *ret_inodes)
{
	auto_free char *text = NULL;
	struct err err;
	size_t len;
	int r = file_read(scanner->proc_fd, "locks", LOCKS_MAX, &text, &len, &err);
	uint64_t inode;

	if (r == -ENOENT)
		use_check_proc(scanner, USE_ASK_DISKS);
	else if (r < 0)
		uses_add_unknown(&scanner->uses, USE_ASK_DISKS,
				 xasprintf("in the proc tree: %s", err.msg));
	for (const char *line = text; line && *line; line += strspn(line, "\n")) {
		size_t line_len = strcspn(line, "\n");

		if (parse_lock(line, line_len, dev, &inode) && !has_inode(ret_inodes, inode))
			*array_add(ret_inodes) = inode;
		line += line_len;
	}
}

/* A slash in a node's path is a "!" in the kernel's name. */
static bool is_locked(const struct use_scanner *scanner, const char *name,
		      const struct inodes *inodes)
{
	auto_free char *path = xstrdup(name);
	struct stat st;

	for (char *c = path; *c; c++)
		*c = *c == '!' ? '/' : *c;
	return fstatat(scanner->dev_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       has_inode(inodes, st.st_ino);
}

void use_locks_disks(struct use_scanner *scanner, struct block_set *ret_set)
{
	struct inodes inodes = { 0 };
	struct stat st;

	if (scanner->proc_fd < 0 || scanner->dev_fd < 0 || fstat(scanner->dev_fd, &st) < 0)
		return;
	read_locks(scanner, st.st_dev, &inodes);
	for (size_t i = 0; inodes.len > 0 && i < blocks_len(scanner->blocks); i++) {
		if (is_locked(scanner, blocks_name(scanner->blocks, i), &inodes))
			block_set_add(ret_set, i);
	}
	array_done(&inodes);
}
