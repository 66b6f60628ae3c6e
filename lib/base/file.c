#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

enum { FIRST_SIZE = 16 << 10 };

/* Read up to @size bytes, which is one more than allowed, and leave room for a terminator. */
static int read_all(int fd, size_t size, char **ret_text, size_t *ret_len)
{
	size_t room = size < FIRST_SIZE ? size : FIRST_SIZE;
	auto_free char *text = xmalloc(room + 1);
	size_t len = 0;

	while (len < size) {
		ssize_t n;

		if (len == room) {
			room = size - room < room ? size : 2 * room;
			text = xreallocarray(text, room + 1, 1);
		}
		n = read(fd, text + len, room - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	*ret_text = take_ptr(text);
	*ret_len = len;
	return 0;
}

int file_read(int dir_fd, const char *path, size_t max, char **ret_text, size_t *ret_len,
	      struct err *err)
{
	auto_close int fd = -1;
	auto_free char *text = NULL;
	size_t len = 0;
	int r;

	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open '%s': %s", path, strerror(errno));

	r = read_all(fd, max + 1, &text, &len);
	if (r < 0)
		return err_set(err, ERR_RETRY, r, "read '%s': %s", path, strerror(-r));
	assert(text);
	if (len > max)
		return err_set(err, ERR_INVALID, -EFBIG, "'%s' is larger than %zu bytes", path,
			       max);

	if (len > 0 && text[len - 1] == '\n')
		len--;
	text[len] = '\0';
	if (ret_len)
		*ret_len = len;
	*ret_text = take_ptr(text);
	return 0;
}

char *file_link_name(const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0)
		return NULL;
	target[n] = '\0';
	return xstrdup(str_base_name(target));
}

int file_write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/* A file that is about to have new content. */
struct new_file {
	int dir_fd;
	const char *name;
	const char *part; /* of the temporary file */
	unsigned mode;
	bool durable;
};

/* Write the temporary file; if it is to be durable, it is synced, and its name is not yet. */
static int write_part(const struct new_file *file, const char *text, size_t len)
{
	auto_close int fd =
		openat(file->dir_fd, file->part,
		       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, file->mode);
	int r;

	if (fd < 0)
		return -errno;
	/* The mode must not depend on the umask or on a file of this name left by a crash. */
	if (fchmod(fd, file->mode) < 0)
		return -errno;
	r = file_write_all(fd, text, len);
	if (r == 0 && file->durable && fsync(fd) < 0)
		r = -errno;
	return r;
}

static int put(const struct new_file *file, const char *text, size_t len, struct err *err)
{
	int r;

	assert(!strchr(file->name, '/'));
	r = write_part(file, text, len);
	if (r == 0 && renameat(file->dir_fd, file->part, file->dir_fd, file->name) < 0)
		r = -errno;
	if (r == 0)
		return file->durable ? file_sync_names(file->dir_fd, err) : 0;
	unlinkat(file->dir_fd, file->part, 0);
	return err_set(err, ERR_RETRY, r, "write '%s': %s", file->name, strerror(-r));
}

int file_replace_at(int dir_fd, const char *name, const char *text, size_t len, unsigned mode,
		    struct err *err)
{
	auto_free char *part = xasprintf("%s.%d.new", name, (int)getpid());

	return put(&(struct new_file){ dir_fd, name, part, mode, true }, text, len, err);
}

int file_swap_at(int dir_fd, const char *name, const char *text, size_t len, unsigned mode,
		 struct err *err)
{
	auto_free char *part = xasprintf("%s.new", name);

	return put(&(struct new_file){ dir_fd, name, part, mode, false }, text, len, err);
}

int file_remove_at(int dir_fd, const char *name, struct err *err)
{
	assert(!strchr(name, '/'));
	if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
		return err_set(err, ERR_RETRY, -errno, "remove '%s': %s", name, strerror(errno));
	return file_sync_names(dir_fd, err);
}

int file_sync_names(int dir_fd, struct err *err)
{
	/* Open the folder again, because an O_PATH descriptor cannot be synced. */
	auto_close int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open the folder: %s", strerror(errno));
	/* EINVAL: the file system cannot sync folders. */
	if (fsync(fd) < 0 && errno != EINVAL)
		return err_set(err, ERR_RETRY, -errno, "sync the folder: %s", strerror(errno));
	return 0;
}
