#include "agent/helper/scan/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/mem.h"

enum { DEPTH_MAX = 32 };

/* Links lead out of the function's own part of the tree, so they are left alone. */
static bool has_number(int dir_fd, const char *path, unsigned depth)
{
	bool found = false;
	const char *name;
	struct dir dir;

	if (depth == 0)
		return true;
	if (dir_open(&dir, dir_fd, path) < 0)
		return errno != ENOENT && errno != ENOTDIR;
	while (!found && (name = dir_next(&dir)) != NULL) {
		if (dir.type == DT_DIR || dir.type == DT_UNKNOWN)
			found = has_number(dir.fd, name, depth - 1);
		found = found || strcmp(name, "dev") == 0;
	}
	dir_done(&dir);
	return found || dir.code < 0;
}

bool nodes_below(int sysfs_fd, const char *address)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s", address);

	return has_number(sysfs_fd, path, DEPTH_MAX);
}

/* Is there anything at @path, for all that is known? */
static bool may_exist(int dir_fd, const char *path)
{
	return faccessat(dir_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	       (errno != ENOENT && errno != ENOTDIR);
}

bool nodes_of_group(int sysfs_fd, int dev_fd, const char *group)
{
	auto_free char *path = xasprintf("class/vfio/%s", group);

	if (strcmp(group, "-") == 0)
		return false;
	/* Without the class in its name it is the node. */
	return may_exist(sysfs_fd, path) ||
	       (dev_fd >= 0 && may_exist(dev_fd, path + strlen("class/")));
}
