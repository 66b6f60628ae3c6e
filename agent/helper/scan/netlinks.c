#include "agent/helper/scan/netlinks.h"

#include <stdlib.h>
#include <string.h>

#include "agent/helper/sys/sysfs.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/num.h"

enum { IFF_UP_FLAG = 0x1 };

/* The switch of an Open vSwitch; its inner ports (which hold addresses) have no link to it. */
static const char ovs_switch[] = "ovs-system";

struct link {
	char *name;
	struct devpath device;
	bool up;
	bool connected;
	bool was_connected;
	struct sysfs_names uppers; /* itself and everything above it */
};

struct netlinks {
	struct link *items;
	size_t len;
	size_t cap;
	bool empty;      /* not even the loopback               */
	char *malformed; /* the first malformed text */
};

static bool has_name(const struct sysfs_names *names, const char *name)
{
	for (size_t i = 0; i < names->len; i++) {
		if (strcmp(names->items[i], name) == 0)
			return true;
	}
	return false;
}

static void add_uppers_of(int class_fd, const char *name, struct sysfs_names *uppers)
{
	static const char prefix[] = "upper_";
	auto_names struct sysfs_names entries = { 0 };

	if (sysfs_list_prefix(class_fd, name, prefix, &entries, NULL) != 0)
		return;
	for (size_t i = 0; i < entries.len; i++) {
		const char *upper = entries.items[i] + sizeof(prefix) - 1;

		if (!has_name(uppers, upper))
			*array_add(uppers) = xstrdup(upper);
	}
}

static void note_malformed(struct netlinks *links, const char *path, const struct sysfs_attr *attr)
{
	if (!links->malformed)
		links->malformed = xasprintf("'class/net/%s' says '%.32s', which is no number",
					     path, attr->text);
}

/* RFC 2863's operational state: a driver that does not know is taken at its word that it is up.
 * Unlike "carrier", reading it takes no lock (operstate_show() of the kernel's
 * net/core/net-sysfs.c). */
static bool is_connected(int class_fd, const char *name)
{
	static const char *const unconnected[] = { "down", "lowerlayerdown", "notpresent" };
	auto_free char *path = xasprintf("%s/operstate", name);
	struct sysfs_attr attr;

	if (sysfs_read_interface(class_fd, path, &attr, NULL) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(unconnected); i++) {
		if (strcmp(attr.text, unconnected[i]) == 0)
			return false;
	}
	return true;
}

/* How often it has got a carrier since it has its driver; Linux before 4.16 does not count. No lock
 * either. */
static bool was_connected(struct netlinks *links, int class_fd, const char *name)
{
	auto_free char *path = xasprintf("%s/carrier_up_count", name);
	struct sysfs_attr attr;
	uint64_t count;

	if (sysfs_read(class_fd, path, &attr, NULL) != 0)
		return false;
	if (str_to_u64(attr.text, &count))
		return count > 0;
	note_malformed(links, path, &attr);
	return false;
}

static void read_link(struct netlinks *links, int class_fd, const char *name)
{
	auto_free char *path = xasprintf("%s/flags", name);
	struct devpath device;
	struct sysfs_attr attr;
	struct link *link;
	uint64_t flags = 0;
	int r;

	if (!devpath_of_link(class_fd, name, &device))
		return;
	r = sysfs_read_interface(class_fd, path, &attr, NULL);
	if (r == SYSFS_ABSENT)
		return;
	if (r == 0 && !str_to_hex(attr.text, &flags))
		note_malformed(links, path, &attr);
	link = array_add(links);
	link->name = xstrdup(name);
	link->device = device;
	link->up = flags & IFF_UP_FLAG;
	link->connected = link->up && is_connected(class_fd, name);
	link->was_connected = link->up && (link->connected || was_connected(links, class_fd, name));
	*array_add(&link->uppers) = xstrdup(name);
	/* The list grows while it is walked, by each name once. */
	for (size_t i = 0; i < link->uppers.len; i++)
		add_uppers_of(class_fd, link->uppers.items[i], &link->uppers);
}

struct netlinks *netlinks_new(int sysfs_fd)
{
	auto_names struct sysfs_names names = { 0 };
	auto_close int class_fd = -1;
	struct netlinks *links = xcalloc(1, sizeof(*links));
	int r = sysfs_open_list(sysfs_fd, "class/net", &class_fd, &names, NULL);

	links->empty = r == SYSFS_ABSENT || (r == 0 && names.len == 0);
	for (size_t i = 0; i < names.len; i++)
		read_link(links, class_fd, names.items[i]);
	return links;
}

struct netlinks *netlinks_free(struct netlinks *links)
{
	if (!links)
		return NULL;
	for (size_t i = 0; i < links->len; i++) {
		free(links->items[i].name);
		sysfs_names_done(&links->items[i].uppers);
	}
	array_done(links);
	free(links->malformed);
	free(links);
	return NULL;
}

const char *netlinks_malformed(const struct netlinks *links)
{
	return links->malformed;
}

bool netlinks_is_empty(const struct netlinks *links)
{
	return links->empty;
}

size_t netlinks_len(const struct netlinks *links)
{
	return links->len;
}

const char *netlinks_name(const struct netlinks *links, size_t link)
{
	return links->items[link].name;
}

const struct devpath *netlinks_device(const struct netlinks *links, size_t link)
{
	return &links->items[link].device;
}

bool netlinks_is_up(const struct netlinks *links, size_t link)
{
	return links->items[link].up;
}

bool netlinks_is_connected(const struct netlinks *links, size_t link)
{
	return links->items[link].connected;
}

bool netlinks_was_connected(const struct netlinks *links, size_t link)
{
	return links->items[link].was_connected;
}

const char *netlinks_upper(const struct netlinks *links, size_t link)
{
	const struct sysfs_names *uppers = &links->items[link].uppers;

	return uppers->len > 1 ? uppers->items[1] : NULL;
}

static bool any_has(const struct netlinks *links, const char *name)
{
	for (size_t i = 0; i < links->len; i++) {
		if (has_name(&links->items[i].uppers, name))
			return true;
	}
	return false;
}

bool netlinks_carries(const struct netlinks *links, size_t link, const char *name)
{
	const struct sysfs_names *uppers = &links->items[link].uppers;

	if (has_name(uppers, name))
		return true;
	/* An interface on no hardware may be a port of the switch: better one device too many. */
	return strcmp(name, "lo") != 0 && has_name(uppers, ovs_switch) && !any_has(links, name);
}
