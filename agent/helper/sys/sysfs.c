#include "agent/helper/sys/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/mem.h"

/* ENODEV and ENXIO come from the attribute itself when its device is being removed. */
static bool is_absence(int code)
{
	return code == ENOENT || code == ENOTDIR || code == ENODEV || code == ENXIO;
}

static _Thread_local struct err first_failure;
static atomic_int shortage;

const struct err *sysfs_failure(void)
{
	return &first_failure;
}

void sysfs_forget_failure(void)
{
	first_failure = (struct err){ 0 };
}

int sysfs_shortage(void)
{
	return shortage;
}

/* Keep @failure for sysfs_failure(); @err may be NULL. Returns its code. */
static int remember(const struct err *failure, struct err *err)
{
	if (first_failure.code == 0)
		first_failure = *failure;
	if (failure->code == -EMFILE || failure->code == -ENFILE || failure->code == -ENOMEM)
		shortage = failure->code;
	if (err)
		*err = *failure;
	return failure->code;
}

/* @code is the negative errno of what could not be done with @path. */
static int fail(const char *what, const char *path, int code, struct err *err)
{
	struct err failure = { 0 };

	if (is_absence(-code))
		return SYSFS_ABSENT;
	(void)err_set(&failure, ERR_RETRY, code, "%s '%s': %s", what, path, strerror(-code));
	return remember(&failure, err);
}

static int fail_long(const char *path, int code, const char *what, int max, struct err *err)
{
	struct err failure = { 0 };

	(void)err_set(&failure, ERR_INVALID, code, "'%s' has more than %d %s", path, max, what);
	return remember(&failure, err);
}

/* @gone is another errno of the read that means absence; 0: none. */
static int read_attr(int dir_fd, const char *path, struct sysfs_attr *ret_attr, int gone,
		     struct err *err)
{
	auto_close int fd = -1;
	ssize_t n;

	/* O_NONBLOCK: in a tree that is not the kernel's, a name may be a pipe. */
	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return fail("open", path, -errno, err);
	/* One read of a page returns a whole attribute. */
	n = read(fd, ret_attr->text, SYSFS_ATTR_MAX + 1);
	if (n < 0 && errno == gone)
		return SYSFS_ABSENT;
	if (n < 0)
		return fail("read", path, -errno, err);
	if (n > SYSFS_ATTR_MAX)
		return fail_long(path, -EFBIG, "bytes", SYSFS_ATTR_MAX, err);
	if (n > 0 && ret_attr->text[n - 1] == '\n')
		n--;
	ret_attr->text[n] = '\0';
	ret_attr->len = (size_t)n;
	return 0;
}

int sysfs_read(int dir_fd, const char *path, struct sysfs_attr *ret_attr, struct err *err)
{
	return read_attr(dir_fd, path, ret_attr, 0, err);
}

int sysfs_read_interface(int dir_fd, const char *path, struct sysfs_attr *ret_attr, struct err *err)
{
	return read_attr(dir_fd, path, ret_attr, EINVAL, err);
}

int sysfs_link(int dir_fd, const char *path, char ret_target[SYSFS_LINK_MAX + 1], struct err *err)
{
	ssize_t n = readlinkat(dir_fd, path, ret_target, SYSFS_LINK_MAX + 1);

	if (n < 0 && errno == EINVAL)
		return SYSFS_ABSENT;
	if (n < 0)
		return fail("read link", path, -errno, err);
	if (n > SYSFS_LINK_MAX)
		return fail_long(path, -ENAMETOOLONG, "bytes", SYSFS_LINK_MAX, err);
	ret_target[n] = '\0';
	return 0;
}

int sysfs_open_dir(int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int code = errno;

	if (fd < 0) {
		(void)fail("open", path, -code, NULL);
		errno = code;
	}
	return fd;
}

static int by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

int sysfs_list(int dir_fd, const char *path, struct sysfs_names *ret_names, struct err *err)
{
	return sysfs_list_prefix(dir_fd, path, "", ret_names, err);
}

int sysfs_list_prefix(int dir_fd, const char *path, const char *prefix,
		      struct sysfs_names *ret_names, struct err *err)
{
	auto_names struct sysfs_names names = { 0 };
	const char *name;
	struct dir dir;

	if (dir_open(&dir, dir_fd, path) < 0)
		return fail("list", path, -errno, err);
	while (names.len <= SYSFS_NAMES_MAX && (name = dir_next(&dir)) != NULL) {
		if (strncmp(name, prefix, strlen(prefix)) == 0)
			*array_add(&names) = xstrdup(name);
	}
	dir_done(&dir);
	if (names.len > SYSFS_NAMES_MAX)
		return fail_long(path, -E2BIG, "entries", SYSFS_NAMES_MAX, err);
	if (dir.code < 0)
		return fail("list", path, dir.code, err);
	if (names.len > 0)
		qsort(names.items, names.len, sizeof(names.items[0]), by_version);
	*ret_names = names;
	names = (struct sysfs_names){ 0 };
	return 0;
}

int sysfs_open_list(int dir_fd, const char *path, int *ret_fd, struct sysfs_names *ret_names,
		    struct err *err)
{
	auto_close int fd = openat(dir_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return fail("open", path, -errno, err);
	r = sysfs_list(fd, ".", ret_names, err);
	if (r < 0)
		return err_wrap(err, "'%s'", path);
	if (r == 0)
		*ret_fd = take_fd(fd);
	return r;
}

void sysfs_names_done(struct sysfs_names *names)
{
	for (size_t i = 0; i < names->len; i++)
		free(names->items[i]);
	array_done(names);
}

int sysfs_stat(int dir_fd, const char *path, struct stat *ret_stat, struct err *err)
{
	if (fstatat(dir_fd, path, ret_stat, 0) < 0)
		return fail("read", path, -errno, err);
	return 0;
}

char *sysfs_any_entry(int dir_fd, const char *path)
{
	struct dir dir;
	char *name;

	if (dir_open(&dir, dir_fd, path) < 0) {
		(void)fail("list", path, -errno, NULL);
		return NULL;
	}
	name = xstrdup_or_null(dir_next(&dir));
	dir_done(&dir);
	return name;
}
