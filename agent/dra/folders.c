#include "agent/dra/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"

static int open_folder(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Create the folder and each missing parent, from the top. */
static void make_folders(const char *path, unsigned mode)
{
	auto_free char *part = xstrdup(path);

	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(part, mode);
		*slash = '/';
	}
	(void)mkdir(part, mode);
}

int folders_open(const char *path, unsigned mode, int *ret_fd, struct err *err)
{
	int fd = open_folder(path);

	if (fd < 0 && errno == ENOENT) {
		make_folders(path, mode);
		fd = open_folder(path);
	}
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open the folder '%s': %s", path,
			       strerror(errno));
	*ret_fd = fd;
	return 0;
}
