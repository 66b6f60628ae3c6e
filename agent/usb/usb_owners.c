#include "agent/usb/usb_owners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/node/this_node.h"
#include "agent/usb/usb_node.h"
#include "agent/usb/usb_type.h"
#include "api/json_map.h"
#include "api/usbdevice.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

static const char records[] = "usb-nodes";
static const char suffix[] = ".json";
static const char boot_id_path[] = "/proc/sys/kernel/random/boot_id"; /* of all containers, too */

enum { FOLDER_MODE = 0700, RECORD_MODE = 0600, RECORD_MAX = 1024, BOOT_ID_MAX = 64 };

/* The node of the device in one socket. */
struct owner_record {
	char *device_path;
	struct usb_node owner; /* before the change */
};

struct usb_owners {
	const struct usb_view *view;
	struct map *items; /* port path -> struct owner_record */
	char *boot;        /* NULL: not known          */
};

/* --- records ---------------------------------------------------------------------------------- */

static int open_folder(const struct usb_owners *owners, struct err *err)
{
	auto_close int dir = -1;
	int fd;

	(void)mkdir(owners->view->node->helper.state_dir, FOLDER_MODE);
	dir = open(owners->view->node->helper.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || (mkdirat(dir, records, FOLDER_MODE) < 0 && errno != EEXIST))
		return err_set(err, ERR_RETRY, -errno, "make the folder '%s/%s': %s",
			       owners->view->node->helper.state_dir, records, strerror(errno));
	fd = openat(dir, records, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open the folder '%s/%s': %s",
			       owners->view->node->helper.state_dir, records, strerror(errno));
	return fd;
}

/* The id of this boot, because inode numbers start again at each boot. NULL: not known. */
static char *boot_id(void)
{
	char *text = NULL;

	return file_read(AT_FDCWD, boot_id_path, BOOT_ID_MAX, &text, NULL, NULL) < 0 ? NULL : text;
}

static int keep(const struct usb_owners *owners, const char *port_path, const char *device_path,
		const struct usb_node *owner, struct err *err)
{
	auto_free char *name = xasprintf("%s%s", port_path, suffix);
	auto_json json_t *json =
		json_pack("{s:s, s:I, s:I, s:I, s:s*}", "devicePath", device_path, "inode",
			  (json_int_t)owner->inode, "uid", (json_int_t)owner->uid, "gid",
			  (json_int_t)owner->gid, "boot", owners->boot);
	auto_free char *text = json_map_text(json);
	auto_close int fd = open_folder(owners, err);

	if (fd < 0)
		return fd;
	return file_replace_at(fd, name, text, strlen(text), RECORD_MODE, err);
}

static char *record_path(const struct usb_owners *owners, const char *port_path)
{
	return xasprintf("%s/%s/%s%s", owners->view->node->helper.state_dir, records, port_path,
			 suffix);
}

static void forget(const struct usb_owners *owners, const char *port_path)
{
	auto_free char *path = NULL;

	if (!owners->view->node->helper.state_dir)
		return;
	path = record_path(owners, port_path);
	if (unlink(path) < 0 && errno != ENOENT)
		log_warn("the record of a device node cannot be removed", log_str("file", path),
			 log_str("reason", strerror(errno)));
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void owner_record_free(void *arg)
{
	struct owner_record *record = arg;

	if (!record)
		return;
	free(record->device_path);
	free(record);
}

static void set(struct usb_owners *owners, const char *port_path, const char *device_path,
		const struct usb_node *owner)
{
	struct owner_record *record = xcalloc(1, sizeof(*record));

	*record = (struct owner_record){ xstrdup(device_path), *owner };
	owner_record_free(map_set(owners->items, port_path, record));
}

int usb_owners_add(struct usb_owners *owners, const struct usbdevice_status *device,
		   const struct usb_node *node, struct err *err)
{
	const struct owner_record *before = map_get(owners->items, device->port_path);

	if (usb_node_is_for_qemu(node) || (before && before->owner.inode == node->inode))
		return 0;
	if (owners->view->node->helper.state_dir &&
	    keep(owners, device->port_path, device->device_path, node, err) < 0)
		return err_wrap(err, "record the owner of '%s'", device->device_path);
	set(owners, device->port_path, device->device_path, node);
	return 0;
}

enum recalled { RECALLED_GOOD, RECALLED_STALE, RECALLED_UNREAD };

/* Is the record about a changed node, which is still the same? */
static enum recalled check_node(const struct usb_owners *owners, const json_t *json,
				struct usb_node *ret_owner, struct err *err)
{
	struct usb_node_at at = { owners->view->node->helper.dev_root,
				  json_string_value(json_object_get(json, "devicePath")),
				  owners->view->calls };
	struct usb_node node = { 0 };
	int r;

	*ret_owner = (struct usb_node){
		.inode = (uint64_t)json_integer_value(json_object_get(json, "inode")),
		.uid = (uid_t)json_integer_value(json_object_get(json, "uid")),
		.gid = (gid_t)json_integer_value(json_object_get(json, "gid")),
	};
	if (!at.device_path)
		return RECALLED_STALE;
	r = usb_node_read(&at, &node, err);
	if (r < 0)
		return r == -ENOENT || err->kind == ERR_INVALID ? RECALLED_STALE : RECALLED_UNREAD;
	return node.inode == ret_owner->inode && usb_node_is_for_qemu(&node) ? RECALLED_GOOD
									     : RECALLED_STALE;
}

static enum recalled read_record(const struct usb_owners *owners, const char *path,
				 json_t **ret_json, struct usb_node *ret_owner, struct err *err)
{
	auto_free char *text = NULL;
	const char *boot;
	size_t len = 0;

	if (file_read(AT_FDCWD, path, RECORD_MAX, &text, &len, err) < 0)
		return err->code == -ENOENT || err->kind == ERR_INVALID ? RECALLED_STALE
									: RECALLED_UNREAD;
	if (json_map_load(text, len, ret_json, NULL) < 0)
		return RECALLED_STALE;
	boot = json_string_value(json_object_get(*ret_json, "boot"));
	if (boot && !owners->boot) {
		(void)err_set(err, ERR_RETRY, -EIO, "'%s' cannot be read", boot_id_path);
		return RECALLED_UNREAD;
	}
	if (!boot || strcmp(boot, owners->boot) != 0)
		return RECALLED_STALE;
	return check_node(owners, *ret_json, ret_owner, err);
}

/* Without its record, a node would stay the pod's for good: one that could not be read is left to
 * the next agent. */
static void recall(struct usb_owners *owners, const char *port_path)
{
	auto_free char *path = record_path(owners, port_path);
	auto_json json_t *json = NULL;
	struct usb_node owner = { 0 };
	struct err err = { 0 };

	switch (read_record(owners, path, &json, &owner, &err)) {
	case RECALLED_GOOD:
		set(owners, port_path, json_string_value(json_object_get(json, "devicePath")),
		    &owner);
		return;
	case RECALLED_STALE:
		forget(owners, port_path);
		return;
	case RECALLED_UNREAD:
		log_warn("the owner of a device node cannot be restored yet; it is restored when "
			 "the agent starts again",
			 log_str("file", path), log_str("reason", err.msg));
		return;
	}
}

/* Read the records of earlier agents. */
static void recall_all(struct usb_owners *owners)
{
	auto_free char *path = xasprintf("%s/%s", owners->view->node->helper.state_dir, records);
	DIR *dir = opendir(path);
	const size_t suffix_len = strlen(suffix);
	const struct dirent *entry;

	if (!dir && errno != ENOENT)
		log_warn("records of device nodes cannot be read", log_str("folder", path),
			 log_str("reason", strerror(errno)));
	while (dir && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);
		auto_free char *port_path = NULL;

		/* A pipe of that name would make the reader wait. */
		if ((entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN) || len <= suffix_len ||
		    strcmp(entry->d_name + len - suffix_len, suffix) != 0)
			continue;
		port_path = xstrndup(entry->d_name, len - suffix_len);
		recall(owners, port_path);
	}
	if (dir)
		closedir(dir);
}

void usb_owners_restore(struct usb_owners *owners, const char *port_path)
{
	struct owner_record *record = map_remove(owners->items, port_path);
	struct usb_node_at at = { owners->view->node->helper.dev_root, NULL, owners->view->calls };
	struct err err = { 0 };
	int r;

	if (!record)
		return;
	at.device_path = record->device_path;
	r = usb_node_set_owner(&at, &record->owner, &err);
	if (r < 0 && r != -ENOENT && r != -ESTALE)
		log_warn("cannot restore the owner of a device node",
			 log_str("node", record->device_path), log_str("reason", err.msg));
	else if (r == 0)
		log_info("restored the owner of a device node",
			 log_str("node", record->device_path), log_str("port", port_path));
	forget(owners, port_path);
	owner_record_free(record);
}

void usb_owners_ports(const struct usb_owners *owners, struct json_strs *ret_ports)
{
	const char *port;
	size_t cursor = 0;

	while (map_next(owners->items, &cursor, &port, NULL))
		json_strs_add(ret_ports, port);
}

size_t usb_owners_len(const struct usb_owners *owners)
{
	return map_len(owners->items);
}

struct usb_owners *usb_owners_new(const struct usb_view *view)
{
	struct usb_owners *owners = xcalloc(1, sizeof(*owners));

	*owners = (struct usb_owners){ .view = view, .items = map_new(), .boot = boot_id() };
	if (view->node->helper.state_dir)
		recall_all(owners);
	return owners;
}

struct usb_owners *usb_owners_free(struct usb_owners *owners)
{
	if (!owners)
		return NULL;
	map_free_with(owners->items, owner_record_free);
	free(owners->boot);
	free(owners);
	return NULL;
}
