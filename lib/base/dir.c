#include "base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

int dir_open(struct dir *dir, int dir_fd, const char *path)
{
	dir->fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir->at = 0;
	dir->len = 0;
	dir->code = 0;
	return dir->fd < 0 ? -1 : 0;
}

static const struct dirent64 *next_entry(struct dir *dir)
{
	const struct dirent64 *entry;

	if (dir->at >= dir->len) {
		ssize_t n = getdents64(dir->fd, dir->buffer, sizeof(dir->buffer));

		if (n < 0)
			dir->code = -errno;
		if (n <= 0)
			return NULL;
		dir->at = 0;
		dir->len = (size_t)n;
	}
	entry = (const struct dirent64 *)(const void *)(dir->buffer + dir->at);
	dir->at += entry->d_reclen;
	return entry;
}

const char *dir_next(struct dir *dir)
{
	const struct dirent64 *entry;

	while ((entry = next_entry(dir)) != NULL) {
		dir->type = entry->d_type;
		if (entry->d_name[0] != '.')
			return entry->d_name;
	}
	return NULL;
}

void dir_done(struct dir *dir)
{
	close(dir->fd);
}

int dir_make(const char *path, unsigned mode, struct err *err)
{
	auto_free char *part = xstrdup(path);

	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(part, mode);
		*slash = '/';
	}
	if (mkdir(part, mode) < 0 && errno != EEXIST)
		return err_set(err, ERR_RETRY, -errno, "make the folder '%s': %s", path,
			       strerror(errno));
	return 0;
}

int dir_make_open(const char *path, unsigned mode, int *ret_fd, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) {
		(void)dir_make(path, mode, NULL);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open the folder '%s': %s", path,
			       strerror(errno));
	*ret_fd = fd;
	return 0;
}
