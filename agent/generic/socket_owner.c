#include "agent/generic/socket_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

static const char selinux[] = "security.selinux";
static const char var_run[] = "/var/run/";

/* libc has no function for it. -1 with errno set. */
static int open_beneath(int dir_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
}

/* Is it the link to /run that most systems have? */
static bool is_var_run_link(int root_fd)
{
	char target[16] = "";

	return readlinkat(root_fd, "var/run", target, sizeof(target) - 1) > 0 &&
	       (strcmp(target, "/run") == 0 || strcmp(target, "../run") == 0);
}

/* -1 with errno set. */
static int open_folder(int root_fd, const char *folder)
{
	bool by_link = strncmp(folder, var_run, strlen(var_run)) == 0 && is_var_run_link(root_fd);

	return open_beneath(root_fd, folder + (by_link ? strlen("/var/") : strlen("/")),
			    O_DIRECTORY);
}

static int set_label(int fd, const char *what, const char *label, struct err *err)
{
	/* A path to the very file that is open: fsetxattr(2) takes no O_PATH descriptor. */
	auto_free char *path = xasprintf("/proc/self/fd/%d", fd);
	char has[512];
	ssize_t n = getxattr(path, selinux, has, sizeof(has));

	if (n > 0 && strnlen(has, (size_t)n) == strlen(label) &&
	    strncmp(has, label, strlen(label)) == 0)
		return 0;
	if (setxattr(path, selinux, label, strlen(label) + 1, 0) < 0)
		return err_set(err, ERR_RETRY, -errno, "label '%s' with '%.128s': %s", what, label,
			       strerror(errno));
	return 0;
}

/* What is right already is not written: it would be a change that others watch for. */
static int set_both(int fd, const char *what, const struct socket_owner *owner, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, ERR_RETRY, -errno, "look at '%s': %s", what, strerror(errno));
	if (owner->has_owner && (st.st_uid != owner->uid || st.st_gid != owner->gid) &&
	    fchownat(fd, "", owner->uid, owner->gid, AT_EMPTY_PATH) < 0)
		return err_set(err, ERR_RETRY, -errno, "give '%s' to %u:%u: %s", what, owner->uid,
			       owner->gid, strerror(errno));
	return owner->selinux_label ? set_label(fd, what, owner->selinux_label, err) : 0;
}

static int open_failed(const char *what, struct err *err)
{
	if (errno == ELOOP)
		return err_set(
			err, ERR_INVALID, -ELOOP,
			"'%s' is behind a symbolic link, which is not followed: use the path "
			"without links",
			what);
	return err_set(err, ERR_RETRY, -errno, "open '%s': %s", what, strerror(errno));
}

/* SOCKET_ABSENT: it is not there, which is no error. */
static int open_socket(int folder_fd, const char *file, int *ret_fd, struct err *err)
{
	auto_close int fd = open_beneath(folder_fd, file, 0);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? SOCKET_ABSENT : open_failed(file, err);
	if (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return err_set(err, ERR_INVALID, -ENOTSOCK, "'%s' is no socket", file);
	*ret_fd = take_fd(fd);
	return 0;
}

int socket_owner_set(const char *root, const char *folder, const char *file,
		     const struct socket_owner *owner, struct err *err)
{
	auto_close int root_fd = open(root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int folder_fd = -1;
	auto_close int socket_fd = -1;
	int r;

	if (root_fd < 0)
		return open_failed(root ? root : "/", err);
	folder_fd = open_folder(root_fd, folder);
	if (folder_fd < 0)
		return open_failed(folder, err);
	/* First what is in it: the folder of something else is not given away. */
	r = open_socket(folder_fd, file, &socket_fd, err);
	if (r < 0)
		return r;
	if (set_both(folder_fd, folder, owner, err) < 0 ||
	    (r == 0 && set_both(socket_fd, file, owner, err) < 0))
		return err->code;
	return r;
}
