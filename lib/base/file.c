#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

static int read_all(int fd, char *buf, size_t size, size_t *ret_len)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, buf + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
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

	text = xmalloc(max + 2);
	r = read_all(fd, text, max + 1, &len);
	if (r < 0)
		return err_set(err, ERR_RETRY, r, "read '%s': %s", path, strerror(-r));
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

static int write_all(int fd, const char *text, size_t len)
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
	return fsync(fd) < 0 ? -errno : 0;
}

int file_replace(const char *path, const char *text, size_t len, unsigned mode, struct err *err)
{
	auto_free char *part = xasprintf("%s.%d.new", path, (int)getpid());
	auto_close int fd = -1;
	int r;

	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "create '%s': %s", part, strerror(errno));
	/* The umask and what a crash left under this name have no say in the mode. */
	r = fchmod(fd, mode) < 0 ? -errno : write_all(fd, text, len);
	if (r == 0 && rename(part, path) < 0)
		r = -errno;
	if (r == 0)
		return 0;
	unlink(part);
	return err_set(err, ERR_RETRY, r, "write '%s': %s", path, strerror(-r));
}
