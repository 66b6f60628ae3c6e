#include "agent/plugin/socket_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

bool socket_is_dead(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
		return false;
	memcpy(address.sun_path, path, strlen(path));
	return connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 &&
	       errno == ECONNREFUSED;
}

static bool same_socket(const struct stat *a, const struct stat *b)
{
	return S_ISSOCK(a->st_mode) && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* True if it was a left-over and is removed now. */
static bool leftover_remove(const char *folder, int folder_fd, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", folder, name);
	struct stat before;
	struct stat after;

	if (fstatat(folder_fd, name, &before, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISSOCK(before.st_mode) || !socket_is_dead(path))
		return false;
	if (fstatat(folder_fd, name, &after, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !same_socket(&after, &before) || unlinkat(folder_fd, name, 0) < 0)
		return false;
	log_debug("socket of an earlier process removed", log_str("socket", path));
	return true;
}

int socket_sweep(const char *folder, bool (*is_ours)(const void *arg, const char *name),
		 const void *arg, struct err *err)
{
	auto_dir DIR *dir = opendir(folder);
	const struct dirent *entry;
	int removed = 0;

	if (!dir)
		return err_set(err, ERR_RETRY, -errno, "open '%s': %s", folder, strerror(errno));
	while ((entry = readdir(dir))) {
		if (is_ours(arg, entry->d_name))
			removed += leftover_remove(folder, dirfd(dir), entry->d_name);
	}
	return removed;
}

char *socket_find(const char *folder, const char *pattern)
{
	auto_dir DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		auto_free char *path = xasprintf("%s/%s", folder, entry->d_name);
		struct stat st;

		if (fnmatch(pattern, entry->d_name, 0) == 0 && stat(path, &st) == 0 &&
		    S_ISSOCK(st.st_mode) && !socket_is_dead(path))
			return take_ptr(path);
	}
	return NULL;
}
