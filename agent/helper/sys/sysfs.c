#include "agent/helper/sys/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
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

static int fail(const char *what, const char *path, struct err *err)
{
	if (is_absence(errno))
		return SYSFS_ABSENT;
	return err_set(err, ERR_RETRY, -errno, "%s '%s': %s", what, path, strerror(errno));
}

int sysfs_read(int dir_fd, const char *path, struct sysfs_attr *ret_attr, struct err *err)
{
	auto_close int fd = -1;
	ssize_t n;

	/* O_NONBLOCK: in a tree that is not the kernel's, a name may be a pipe. */
	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return fail("open", path, err);
	/* The kernel gives a whole attribute to one read of a page. */
	n = read(fd, ret_attr->text, SYSFS_ATTR_MAX + 1);
	if (n < 0)
		return fail("read", path, err);
	if (n > SYSFS_ATTR_MAX)
		return err_set(err, ERR_INVALID, -EFBIG, "'%s' is longer than %d bytes", path,
			       SYSFS_ATTR_MAX);
	if (n > 0 && ret_attr->text[n - 1] == '\n')
		n--;
	ret_attr->text[n] = '\0';
	ret_attr->len = (size_t)n;
	return 0;
}

int sysfs_link(int dir_fd, const char *path, char ret_target[SYSFS_LINK_MAX + 1], struct err *err)
{
	ssize_t n = readlinkat(dir_fd, path, ret_target, SYSFS_LINK_MAX + 1);

	if (n < 0 && errno == EINVAL)
		return SYSFS_ABSENT;
	if (n < 0)
		return fail("read link", path, err);
	if (n > SYSFS_LINK_MAX)
		return err_set(err, ERR_INVALID, -ENAMETOOLONG, "link '%s' is longer than %d bytes",
			       path, SYSFS_LINK_MAX);
	ret_target[n] = '\0';
	return 0;
}

const char *sysfs_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int sysfs_open_dir(int dir_fd, const char *path)
{
	return openat(dir_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
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
		return fail("list", path, err);
	while (names.len <= SYSFS_NAMES_MAX && (name = dir_next(&dir)) != NULL) {
		if (strncmp(name, prefix, strlen(prefix)) == 0)
			*array_add(&names) = xstrdup(name);
	}
	dir_done(&dir);
	if (names.len > SYSFS_NAMES_MAX)
		return err_set(err, ERR_INVALID, -E2BIG, "'%s' has more than %d entries", path,
			       SYSFS_NAMES_MAX);
	if (names.len > 0)
		qsort(names.items, names.len, sizeof(names.items[0]), by_version);
	*ret_names = names;
	names = (struct sysfs_names){ 0 };
	return 0;
}

void sysfs_names_done(struct sysfs_names *names)
{
	for (size_t i = 0; i < names->len; i++)
		free(names->items[i]);
	array_done(names);
}

char *sysfs_any_entry(int dir_fd, const char *path)
{
	struct dir dir;
	char *name;

	if (dir_open(&dir, dir_fd, path) < 0)
		return NULL;
	name = xstrdup_or_null(dir_next(&dir));
	dir_done(&dir);
	return name;
}
