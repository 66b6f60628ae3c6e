/*
 * Filesystems that a virtual machine's host serves through a virtio device, and layers of them.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/helper/scan/use_scan.h"
#include "agent/helper/sys/sysfs.h"
#include "base/array.h"
#include "base/mem.h"

/* clang-format off */
static const struct served {
	const char *fstype;
	const char *driver;
	bool tagged; /* the device's "mount_tag" is the mount's source */
} served[] = {
	{ "9p",       "bus/virtio/drivers/9pnet_virtio", true  },
	{ "virtiofs", "bus/virtio/drivers/virtiofs",     false },
};
/* clang-format on */

/* One device of a row of the table. */
struct server {
	struct devpath device;
	struct sysfs_attr tag; /* empty without one */
};

static bool read_server(const struct use_scanner *scanner, const struct served *row,
			const char *name, struct server *ret_server)
{
	auto_free char *link = xasprintf("%s/%s", row->driver, name);
	auto_free char *tag = xasprintf("%s/mount_tag", link);

	/* The folder also holds "bind", "module" and the like. */
	if (strncmp(name, "virtio", 6) != 0 ||
	    !devpath_of_link(scanner->sysfs_fd, link, &ret_server->device))
		return false;
	if (!row->tagged || sysfs_read(scanner->sysfs_fd, tag, &ret_server->tag, NULL) != 0)
		ret_server->tag.text[0] = '\0';
	return true;
}

static const struct served *row_of(const struct mount *mount)
{
	for (size_t i = 0; i < ARRAY_LEN(served); i++) {
		if (strcmp(mount->fstype, served[i].fstype) == 0)
			return &served[i];
	}
	return NULL;
}

bool use_served_add(struct use_scanner *scanner, const struct mount *mount,
		    const struct use_cause *cause)
{
	const struct served *row = row_of(mount);
	auto_names struct sysfs_names names = { 0 };
	bool found = false;

	if (!row || sysfs_list(scanner->sysfs_fd, row->driver, &names, NULL) != 0)
		return false;
	for (size_t i = 0; i < names.len; i++) {
		struct server server;

		if (!read_server(scanner, row, names.items[i], &server) ||
		    (row->tagged && strcmp(server.tag.text, mount->source) != 0))
			continue;
		found = true;
		if (cause->reason == USE_MOUNTED &&
		    uses_has(&scanner->uses, &server.device, USE_HOST_FILESYSTEM, NULL))
			continue;
		uses_add(&scanner->uses, &server.device, cause->reason, mount->source,
			 xasprintf("%s '%s' %s", mount->fstype, mount->source, cause->why));
	}
	return found;
}

/* Does a mount that can be seen explain what the device is for? */
static bool is_mounted(const struct use_scanner *scanner, const struct served *row, const char *tag)
{
	for (size_t i = 0; i < scanner->mounts.len; i++) {
		const struct mount *mount = &scanner->mounts.items[i];

		if (strcmp(mount->fstype, row->fstype) == 0 &&
		    (!row->tagged || strcmp(mount->source, tag) == 0))
			return true;
	}
	return false;
}

/* The devices that no mount explains may hold layers of @mount. */
static bool add_unexplained(struct use_scanner *scanner, const struct mount *mount,
			    const struct served *row)
{
	auto_names struct sysfs_names names = { 0 };
	bool found = false;

	if (sysfs_list(scanner->sysfs_fd, row->driver, &names, NULL) != 0)
		return false;
	for (size_t i = 0; i < names.len; i++) {
		struct server server;

		if (!read_server(scanner, row, names.items[i], &server) ||
		    is_mounted(scanner, row, server.tag.text))
			continue;
		found = true;
		uses_add(&scanner->uses, &server.device, USE_HOST_FILESYSTEM, mount->point,
			 xasprintf("%s '%s' may hold layers of %s, which cannot be seen",
				   row->fstype, server.tag.text, mount->point));
	}
	return found;
}

bool use_served_add_hidden(struct use_scanner *scanner, const struct mount *mount)
{
	bool found = false;

	if (strcmp(mount->fstype, "overlay") != 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(served); i++)
		found = add_unexplained(scanner, mount, &served[i]) || found;
	return found;
}
