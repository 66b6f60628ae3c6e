#include "agent/helper/sys/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/helper/sys/sysfs.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

enum { FOLDER_MODE = 0700, FILE_MODE = 0600 };

int state_folder_open(int state_fd, const char *folder, int *ret_fd, struct err *err)
{
	int fd = openat(state_fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return STATE_FILE_ABSENT;
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open the folder '%s': %s", folder,
			       strerror(errno));
	*ret_fd = fd;
	return 0;
}

/* The same, made if it is not there yet. */
static int make_folder(int state_fd, const char *folder, int *ret_fd, struct err *err)
{
	int r = state_folder_open(state_fd, folder, ret_fd, err);

	if (r != STATE_FILE_ABSENT)
		return r;
	if (mkdirat(state_fd, folder, FOLDER_MODE) < 0 && errno != EEXIST)
		return err_set(err, ERR_RETRY, -errno, "create the folder '%s': %s", folder,
			       strerror(errno));
	if (file_sync_names(state_fd, err) < 0)
		return err_wrap(err, "the state folder");
	r = state_folder_open(state_fd, folder, ret_fd, err);
	if (r == STATE_FILE_ABSENT)
		return err_set(err, ERR_RETRY, -ENOENT, "open the folder '%s': %s", folder,
			       strerror(ENOENT));
	return r;
}

int state_folder_list(int state_fd, const char *folder, size_t max, int *ret_fd,
		      struct sysfs_names *ret_names, struct err *err)
{
	auto_close int fd = -1;
	int r = state_folder_open(state_fd, folder, &fd, err);

	if (r != 0)
		return r;
	r = sysfs_list(fd, ".", ret_names, err);
	if (r < 0)
		return err_wrap(err, "the folder '%s'", folder);
	if (ret_names->len > max) {
		sysfs_names_done(ret_names);
		return err_set(err, ERR_INVALID, -E2BIG, "the folder '%s' has more than %zu files",
			       folder, max);
	}
	*ret_fd = take_fd(fd);
	return 0;
}

/* A pipe or a device of that name would make the reader wait. */
int state_file_read(int folder_fd, const char *name, char **ret_text, size_t *ret_len,
		    struct err *err)
{
	struct stat st;

	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? STATE_FILE_ABSENT
				       : err_set(err, ERR_RETRY, -errno, "look at '%s': %s", name,
						 strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, -EBADMSG, "'%s' is no file", name);
	return file_read(folder_fd, name, STATE_FILE_MAX, ret_text, ret_len, err);
}

/* Does the file @name say what @text says? */
static bool says(int folder_fd, const char *name, struct str *text)
{
	auto_free char *old = NULL;
	size_t len = 0;

	if (state_file_read(folder_fd, name, &old, &len, NULL) != 0 || !old)
		return false;
	return len + 1 == text->len && memcmp(old, text->buf, len) == 0;
}

int state_file_write(int state_fd, const char *folder, const char *name, struct str *text,
		     struct err *err)
{
	auto_close int fd = -1;

	if (make_folder(state_fd, folder, &fd, err) < 0)
		return err->code;
	/* Whoever wrote the same may have died before it was safe. */
	if (says(fd, name, text))
		return file_sync_names(fd, err);
	return file_replace_at(fd, name, str_cstr(text), text->len, FILE_MODE, err);
}

int state_file_remove(int state_fd, const char *folder, const char *name, struct err *err)
{
	auto_close int fd = -1;
	int r = state_folder_open(state_fd, folder, &fd, err);

	if (r != 0)
		return r == STATE_FILE_ABSENT ? 0 : r;
	return file_remove_at(fd, name, err);
}
