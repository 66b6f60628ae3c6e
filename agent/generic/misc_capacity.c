#include "agent/generic/misc_capacity.h"

#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"

enum { TEXT_MAX = 16384 };

unsigned misc_capacity_find(const char *text, const char *resource, unsigned max)
{
	size_t len = strlen(resource);

	for (const char *line = text; *line;) {
		size_t end = strcspn(line, "\n");
		auto_free char *value = NULL;
		uint64_t number = 0;

		if (end > len && line[len] == ' ' && strncmp(line, resource, len) == 0) {
			value = xstrndup(line + len + 1, end - len - 1);
			if (strcmp(value, "max") == 0)
				return max;
			if (!str_to_u64(value, &number))
				return 0;
			return number < max ? (unsigned)number : max;
		}
		line += end + (line[end] == '\n');
	}
	return 0;
}

/* The kernel answers from memory, without a driver (misc_cg_capacity_show() of kernel/cgroup/misc.c). */
char *misc_capacity_read(const char *sysfs_root)
{
	auto_free char *path =
		xasprintf("%s/fs/cgroup/misc.capacity", sysfs_root ? sysfs_root : "/sys");
	char *text = NULL;

	return file_read(AT_FDCWD, path, TEXT_MAX, &text, NULL, NULL) < 0 ? xstrdup("") : text;
}
