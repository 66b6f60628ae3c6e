#include "agent/generic/handover_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "api/json_values.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/mem.h"

enum { FOLDER_MODE = 0750, SOCKET_MODE = 0666, BACKLOG = 4, SECOND_MS = 1000, MS_NS = 1000000 };

static const char suffix[] = ".sock";

static int open_to_all(const char *path, const char *label, int fd, struct err *err)
{
	if (chmod(path, SOCKET_MODE) < 0 || listen(fd, BACKLOG) < 0)
		return err_set(err, ERR_RETRY, -errno, "open the socket '%s': %s", path,
			       strerror(errno));
	if (label && setxattr(path, "security.selinux", label, strlen(label) + 1, 0) < 0)
		return err_set(err, ERR_RETRY, -errno, "label the socket '%s': %s", path,
			       strerror(errno));
	return 0;
}

static int bind_at(const char *path, int *ret_fd, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = -1;
	size_t len = strlen(path);

	if (len >= sizeof(address.sun_path))
		return err_set(err, ERR_INVALID, -ENAMETOOLONG,
			       "no socket has so long a path: '%s'", path);
	memcpy(address.sun_path, path, len);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set(err, ERR_RETRY, -errno, "make the socket '%s': %s", path,
			       strerror(errno));
	*ret_fd = take_fd(fd);
	return 0;
}

/* With the folders that it is in. */
static int make_folder(const char *folder, struct err *err)
{
	auto_free char *path = xstrdup(folder);

	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, FOLDER_MODE);
		*slash = '/';
	}
	if (mkdir(path, FOLDER_MODE) < 0 && errno != EEXIST)
		return err_set(err, ERR_RETRY, -errno, "make the folder '%s': %s", folder,
			       strerror(errno));
	return 0;
}

/* The time of its birth, and its name. */
static int put_in_place(const struct handover_file *file, const char *from, uint64_t *ret_inode,
			struct err *err)
{
	auto_free char *to = xasprintf("%s/%s", file->folder, file->name);
	struct timespec born = { .tv_sec = file->born_ms / SECOND_MS,
				 .tv_nsec = file->born_ms % SECOND_MS * MS_NS };
	struct timespec times[2] = { born, born };
	struct stat st;

	if (utimensat(AT_FDCWD, from, times, AT_SYMLINK_NOFOLLOW) < 0 || lstat(from, &st) < 0 ||
	    rename(from, to) < 0)
		return err_set(err, ERR_RETRY, -errno, "make the socket '%s': %s", to,
			       strerror(errno));
	*ret_inode = st.st_ino;
	return 0;
}

int handover_socket_make(const struct handover_file *file, int *ret_fd, uint64_t *ret_inode,
			 struct err *err)
{
	auto_free char *path = xasprintf("%s/.%s", file->folder, file->name);
	auto_close int fd = -1;

	if (make_folder(file->folder, err) < 0)
		return err->code;
	(void)unlink(path); /* a process before us died right here */
	if (bind_at(path, &fd, err) < 0)
		return err->code;
	if (open_to_all(path, file->label, fd, err) < 0 ||
	    put_in_place(file, path, ret_inode, err) < 0) {
		(void)unlink(path);
		return err->code;
	}
	*ret_fd = take_fd(fd);
	return 0;
}

void handover_socket_remove(const char *path, uint64_t inode)
{
	struct stat st;

	if (lstat(path, &st) == 0 && st.st_ino == inode)
		(void)unlink(path);
}

void handover_sockets_find(const char *folder, struct json_strs *ret_names)
{
	struct dir dir;
	const char *name;

	if (dir_open(&dir, AT_FDCWD, folder) < 0)
		return;
	while ((name = dir_next(&dir))) {
		size_t len = strlen(name);

		if (len > strlen(suffix) && strcmp(name + len - strlen(suffix), suffix) == 0)
			json_strs_add(ret_names, name);
	}
	dir_done(&dir);
}

bool handover_socket_born(const char *path, int64_t *ret_ms)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	*ret_ms = (int64_t)st.st_mtim.tv_sec * SECOND_MS + st.st_mtim.tv_nsec / MS_NS;
	return true;
}
