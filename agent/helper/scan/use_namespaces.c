#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/scan/use_scan.h"
#include "base/array.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"

enum {
	HEAD_MAX = 256,           /* of a file: its first line begins with a mount's number */
	MOUNTINFO_MAX = 16 << 20, /* as of process 1                                        */
};

/* The numbers of the first mounts of the namespaces that have been read. */
struct seen {
	uint64_t *items;
	size_t len;
	size_t cap;
};

/* A mount has a number of its own, in its namespace alone (proc(5)). So processes with the same
 * first mount have the same namespace and the same root. False if @text has none: nothing is
 * mounted below the root of the process. */
static bool first_mount(const char *text, uint64_t *ret_number)
{
	auto_free char *number = xstrndup(text, strcspn(text, " \n"));

	return str_to_u64(number, ret_number);
}

static bool is_new(struct seen *seen, uint64_t number)
{
	for (size_t i = 0; i < seen->len; i++) {
		if (seen->items[i] == number)
			return false;
	}
	*array_add(seen) = number;
	return true;
}

/* Of a filesystem one mount is enough. In a /dev each node is another disk's. */
static bool is_same(const struct mount *a, const struct mount *b)
{
	return a->major == b->major && a->minor == b->minor && strcmp(a->fstype, b->fstype) == 0 &&
	       strcmp(a->source, b->source) == 0 &&
	       ((strcmp(a->fstype, "devtmpfs") != 0 && strcmp(a->fstype, "tmpfs") != 0) ||
		strcmp(a->root, b->root) == 0);
}

static bool is_among(const struct mounts *mounts, const struct mount *mount)
{
	for (size_t i = 0; i < mounts->len; i++) {
		if (is_same(&mounts->items[i], mount))
			return true;
	}
	return false;
}

/* Keep what is wanted of @text and not known yet. */
static void take(struct use_scanner *scanner, const char *text, size_t len, use_wants_fn *wants)
{
	struct mounts mounts = { 0 };
	size_t bad = mounts_parse(text, len, &mounts);
	size_t kept = 0;

	if (bad > 0)
		uses_add_unknown(&scanner->uses, USE_ASK_MOUNTS,
				 xasprintf("%zu line%s of the mountinfo of another mount namespace "
					   "%s another form than expected",
					   bad, bad == 1 ? "" : "s", bad == 1 ? "has" : "have"));
	for (size_t i = 0; i < mounts.len; i++) {
		const struct mount mount = mounts.items[i];

		if (wants(scanner, &mount) && !is_among(&scanner->mounts, &mount) &&
		    !is_among(&scanner->others, &mount))
			*array_add(&scanner->others) = mount;
		else
			mounts.items[kept++] = mount;
	}
	mounts.len = kept;
	mounts_done(&mounts);
}

/* Has the process ended meanwhile? One that ends has no namespaces any more (mounts_open_common()
 * of the kernel's fs/proc_namespace.c). */
static bool has_ended(int code)
{
	return code == -ENOENT || code == -ESRCH || code == -EINVAL;
}

static int read_namespace(struct use_scanner *scanner, const char *pid, struct seen *seen,
			  use_wants_fn *wants)
{
	auto_free char *path = xasprintf("%s/mountinfo", pid);
	auto_close int fd = openat(scanner->proc_fd, path, O_RDONLY | O_CLOEXEC);
	auto_free char *text = NULL;
	char head[HEAD_MAX];
	struct err err;
	uint64_t number;
	ssize_t len;
	size_t size;
	int r;

	if (fd < 0)
		return -errno;
	len = read(fd, head, sizeof(head) - 1);
	if (len < 0)
		return -errno;
	head[len] = '\0';
	if (!first_mount(head, &number) || !is_new(seen, number) || strcmp(pid, "1") == 0)
		return 0; /* of process 1 all has been read */
	r = file_read(scanner->proc_fd, path, MOUNTINFO_MAX, &text, &size, &err);
	if (r == 0)
		take(scanner, text, size, wants);
	return r;
}

static void report_unread(struct use_scanner *scanner, const char *pid, int code)
{
	uses_add_unknown(
		&scanner->uses, USE_ASK_MOUNTS,
		xasprintf("the mounts of process %s cannot be read: %s", pid, strerror(-code)));
}

void use_namespaces_read(struct use_scanner *scanner, use_wants_fn *wants)
{
	struct seen seen = { 0 };
	const char *name;
	struct dir dir;
	uint64_t pid;

	if (scanner->proc_fd < 0 || scanner->mounts.len == 0)
		return; /* unknown mounts of process 1 were reported before */
	if (dir_open(&dir, scanner->proc_fd, ".") < 0) {
		uses_add_unknown(&scanner->uses, USE_ASK_MOUNTS,
				 xasprintf("processes cannot be listed: %s", strerror(errno)));
		return;
	}
	while ((name = dir_next(&dir)) != NULL) {
		int r = str_to_u64(name, &pid) ? read_namespace(scanner, name, &seen, wants) : 0;

		if (r < 0 && !has_ended(r)) {
			report_unread(scanner, name, r);
			break; /* one such line is enough */
		}
	}
	if (dir.code < 0)
		uses_add_unknown(&scanner->uses, USE_ASK_MOUNTS,
				 xasprintf("processes cannot be listed: %s", strerror(-dir.code)));
	dir_done(&dir);
	array_done(&seen);
}
