#include "agent/kubelet_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

enum { FOLDER_MODE = 0750 }; /* as the kubelet's own */

/* The folder @name below @at, made if need be. */
static int open_folder(int at, const char *name, bool make)
{
	if (make && mkdirat(at, name, FOLDER_MODE) < 0 && errno != EEXIST)
		return -1;
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int kubelet_lock_open(const char *kubelet_dir, int *ret_fd, struct err *err)
{
	auto_close int kubelet_fd = open_folder(AT_FDCWD, kubelet_dir, false);
	auto_close int plugins_fd = -1;
	auto_close int own_fd = -1;
	int fd = -1;

	if (kubelet_fd < 0 && errno == ENOENT)
		return KUBELET_LOCK_NONE;
	if (kubelet_fd >= 0)
		plugins_fd = open_folder(kubelet_fd, "plugins", true);
	if (plugins_fd >= 0)
		own_fd = open_folder(plugins_fd, "hostdev", true);
	if (own_fd >= 0)
		fd = openat(own_fd, "agent.lock",
			    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open '%s/plugins/hostdev/agent.lock': %s",
			       kubelet_dir, strerror(errno));
	*ret_fd = fd;
	return 0;
}

int kubelet_lock_try(int fd, struct err *err)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return KUBELET_LOCK_BUSY;
	return err_set(err, ERR_RETRY, -errno, "lock the kubelet's folder: %s", strerror(errno));
}
