#include "agent/helper/scan/block_remote.h"

#include <stdlib.h>
#include <string.h>

#include "agent/helper/sys/devpath.h"
#include "base/array.h"
#include "base/mem.h"

/* Append the text of attribute @path, from @prefix (if it has one) up to the next comma. */
static void add_address(int sysfs_fd, const char *path, const char *prefix,
			struct sysfs_names *addresses)
{
	struct sysfs_attr attr;
	const char *text;

	if (sysfs_read(sysfs_fd, path, &attr, NULL) != 0)
		return;
	text = strstr(attr.text, prefix);
	if (!text)
		return;
	text += strlen(prefix);
	*array_add(addresses) = xstrndup(text, strcspn(text, ",\n"));
}

/* "192.168.1.5" of iSCSI's first connection */
static void add_session(int sysfs_fd, const char *number, struct sysfs_names *addresses)
{
	auto_free char *path = xasprintf("class/iscsi_connection/connection%s:0/address", number);

	add_address(sysfs_fd, path, "", addresses);
}

/* "traddr=192.168.1.5,trsvcid=4420" of an NVMe controller; a local one has no such line */
static void add_controller(int sysfs_fd, const char *name, struct sysfs_names *addresses)
{
	auto_free char *path = xasprintf("class/nvme/%s/address", name);

	add_address(sysfs_fd, path, "traddr=", addresses);
}

static void add_subsystem(int sysfs_fd, const char *name, struct sysfs_names *addresses)
{
	auto_free char *path = xasprintf("devices/virtual/nvme-subsystem/%s", name);
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list(sysfs_fd, path, &names, NULL) != 0)
		return;
	for (size_t i = 0; i < names.len; i++)
		add_controller(sysfs_fd, names.items[i], addresses);
}

void block_remote_addresses(int sysfs_fd, const char *path, struct sysfs_names *addresses)
{
	static const char session[] = "session";
	const char *part;
	size_t len;

	while (devpath_next(&path, &part, &len)) {
		auto_free char *name = xstrndup(part, len);

		if (strncmp(name, session, sizeof(session) - 1) == 0)
			add_session(sysfs_fd, name + sizeof(session) - 1, addresses);
		else if (strncmp(name, "nvme-subsys", 11) == 0 && name[11] != 't')
			add_subsystem(sysfs_fd, name, addresses);
		else if (strncmp(name, "nvme", 4) == 0 && strspn(name + 4, "0123456789") == len - 4)
			add_controller(sysfs_fd, name, addresses);
	}
}
