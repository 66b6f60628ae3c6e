#include "agent/helper/sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/helper/sys/kernel_module.h"
#include "base/mem.h"

static int write_attribute(void *arg, int sysfs_fd, const char *path, const char *text)
{
	auto_close int fd = openat(sysfs_fd, path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	ssize_t n;

	(void)arg;
	if (fd < 0)
		return -errno;
	/* One write is one command; it is never repeated or cut in two. */
	n = write(fd, text, len);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

static int load_module(void *arg, const char *module, struct err *err)
{
	(void)arg;
	return kernel_module_load(module, err);
}

static int open_disk(void *arg, int dev_fd, const char *name, dev_t *ret_number)
{
	auto_close int fd = openat(dev_fd, name, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	(void)arg;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	*ret_number = S_ISBLK(st.st_mode) ? st.st_rdev : 0;
	return take_fd(fd);
}

struct kernel kernel_running(void)
{
	return (struct kernel){ .write = write_attribute,
				.load = load_module,
				.open_disk = open_disk };
}
