#include "base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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
