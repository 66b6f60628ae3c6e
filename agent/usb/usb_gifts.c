#include "agent/usb/usb_gifts.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

enum { FOLDER_MODE = 0700, RECORD_MODE = 0600, RECORD_MAX = 1024 };

/* The node of the device in one socket. */
struct gift {
	char *device_path;
	struct usb_node owner; /* whose it was */
};

struct usb_gifts {
	const struct usb_view *view;
	struct map *items; /* port path -> struct gift */
};

/* --- records -------------------------------------------------------------------------- */

static int open_folder(const struct usb_gifts *gifts, struct err *err)
{
	auto_close int dir = -1;
	int fd;

	(void)mkdir(gifts->view->state_dir, FOLDER_MODE);
	dir = open(gifts->view->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || (mkdirat(dir, records, FOLDER_MODE) < 0 && errno != EEXIST))
		return err_set(err, ERR_RETRY, -errno, "make the folder '%s/%s': %s",
			       gifts->view->state_dir, records, strerror(errno));
	fd = openat(dir, records, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open the folder '%s/%s': %s",
			       gifts->view->state_dir, records, strerror(errno));
	return fd;
}

static int keep(const struct usb_gifts *gifts, const char *port_path, const struct usb_node *owner,
		struct err *err)
{
	auto_free char *name = xasprintf("%s.json", port_path);
	auto_json json_t *json =
		json_pack("{s:I, s:I, s:I}", "inode", (json_int_t)owner->inode, "uid",
			  (json_int_t)owner->uid, "gid", (json_int_t)owner->gid);
	auto_free char *text = json_map_text(json);
	auto_close int fd = open_folder(gifts, err);

	if (fd < 0)
		return fd;
	return file_replace_at(fd, name, text, strlen(text), RECORD_MODE, err);
}

static char *record_path(const struct usb_gifts *gifts, const char *port_path)
{
	const char *folder = gifts->view->state_dir;

	return xasprintf("%s/%s/%s.json", folder ? folder : "", records, port_path);
}

/* Without one, or one that is of another node, it was root's. */
static void recall(const struct usb_gifts *gifts, const char *port_path, struct usb_node *owner)
{
	auto_free char *path = record_path(gifts, port_path);
	auto_free char *text = NULL;
	auto_json json_t *json = NULL;
	size_t len = 0;

	owner->uid = 0;
	owner->gid = 0;
	if (!gifts->view->state_dir ||
	    file_read(AT_FDCWD, path, RECORD_MAX, &text, &len, NULL) < 0 ||
	    json_map_load(text, len, &json, NULL) < 0 ||
	    (uint64_t)json_integer_value(json_object_get(json, "inode")) != owner->inode)
		return;
	owner->uid = (uid_t)json_integer_value(json_object_get(json, "uid"));
	owner->gid = (gid_t)json_integer_value(json_object_get(json, "gid"));
}

static void forget(const struct usb_gifts *gifts, const char *port_path)
{
	auto_free char *path = record_path(gifts, port_path);

	if (gifts->view->state_dir && unlink(path) < 0 && errno != ENOENT)
		log_warn("the record of a device node cannot be removed", log_str("file", path),
			 log_str("reason", strerror(errno)));
}

/* --- nodes ---------------------------------------------------------------------------- */

static void gift_free(struct gift *gift)
{
	if (!gift)
		return;
	free(gift->device_path);
	free(gift);
}

static bool is_roots(const struct usb_node *node)
{
	return node->uid == 0 && node->gid == 0;
}

int usb_gifts_add(struct usb_gifts *gifts, const struct usbdevice_status *device,
		  const struct usb_node *node, struct err *err)
{
	const struct gift *before = map_get(gifts->items, device->port_path);
	struct usb_node owner = *node;
	struct gift *gift;

	if (before && before->owner.inode == node->inode)
		return 0;
	if (usb_node_is_given(node))
		recall(gifts, device->port_path, &owner);
	else if (gifts->view->state_dir && !is_roots(node) &&
		 keep(gifts, device->port_path, node, err) < 0)
		return err_wrap(err, "note whose '%s' is", device->device_path);
	gift = xcalloc(1, sizeof(*gift));
	*gift = (struct gift){ xstrdup(device->device_path), owner };
	gift_free(map_set(gifts->items, device->port_path, gift));
	return 0;
}

void usb_gifts_give_back(struct usb_gifts *gifts, const char *port_path)
{
	struct gift *gift = map_remove(gifts->items, port_path);
	struct usb_node_at at = { gifts->view->dev_root, NULL, gifts->view->calls };
	struct err err = { 0 };
	int r;

	if (!gift)
		return;
	at.device_path = gift->device_path;
	r = usb_node_give(&at, &gift->owner, &err);
	if (r < 0 && r != -ENOENT && r != -ESTALE)
		log_warn("a device node cannot be given back", log_str("node", gift->device_path),
			 log_str("reason", err.msg));
	else if (r == 0)
		log_info("device node given back", log_str("node", gift->device_path),
			 log_str("socket", port_path));
	forget(gifts, port_path);
	gift_free(gift);
}

void usb_gifts_ports(const struct usb_gifts *gifts, struct json_strs *ret_ports)
{
	const char *port;
	size_t cursor = 0;

	while (map_next(gifts->items, &cursor, &port, NULL))
		json_strs_add(ret_ports, port);
}

size_t usb_gifts_len(const struct usb_gifts *gifts)
{
	return map_len(gifts->items);
}

struct usb_gifts *usb_gifts_new(const struct usb_view *view)
{
	struct usb_gifts *gifts = xcalloc(1, sizeof(*gifts));

	*gifts = (struct usb_gifts){ .view = view, .items = map_new() };
	return gifts;
}

struct usb_gifts *usb_gifts_free(struct usb_gifts *gifts)
{
	size_t cursor = 0;
	void *gift;

	if (!gifts)
		return NULL;
	while (map_next(gifts->items, &cursor, NULL, &gift))
		gift_free(gift);
	map_free(gifts->items);
	free(gifts);
	return NULL;
}
