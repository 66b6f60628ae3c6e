#include "agent/generic/socket_type.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/generic/shared.h"
#include "agent/generic/socket_owner.h"
#include "agent/plugin/device_type.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"

/* --- the kernel's misc cgroup controller ------------------------------------------------------ */

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

/* The text of misc.capacity below @sysfs_root (NULL: /sys); "" if there is none. The caller frees.
 * The kernel answers from memory, without a driver (misc_cg_capacity_show() of
 * kernel/cgroup/misc.c). */
static char *misc_capacity_read(const char *sysfs_root)
{
	auto_free char *path =
		xasprintf("%s/fs/cgroup/misc.capacity", sysfs_root ? sysfs_root : "/sys");
	char *text = NULL;

	return file_read(AT_FDCWD, path, TEXT_MAX, &text, NULL, NULL) < 0 ? xstrdup("") : text;
}

/* --- the type --------------------------------------------------------------------------------- */

struct socket_type {
	struct socket_roots roots;
	const struct config *config;     /* NULL: not known yet */
	const struct json_pairs *labels; /* as the config       */
	char *misc;                      /* the capacities that the units were counted by */
	struct shared shared;
};

static char *host_path(const struct socket_type *type, const struct config_socket *entry,
		       bool folder)
{
	return xasprintf("%s%s%s%s", type->roots.host ? type->roots.host : "", entry->folder,
			 folder ? "" : "/", folder ? "" : entry->file);
}

/* NULL: it can be offered; else *@ret_reason (may be NULL) says why in one word. An optional socket
 * may be absent. All other rules apply to it too: a pod must not get the folder that a link points
 * to. The caller frees. */
static char *trouble_of(const struct socket_type *type, const struct config_socket *entry,
			const char **ret_reason)
{
	const char *unused;
	const char **reason = ret_reason ? ret_reason : &unused;
	const struct socket_owner nothing = { 0 };
	struct err err = { 0 };
	int r = socket_owner_set(type->roots.host, entry->folder, entry->file, &nothing, &err);

	*reason = CONFIG_SOCKET_UNUSABLE;
	if (r == 0)
		return NULL;
	if (r == -ENOTSOCK)
		return xasprintf("%s/%s is no socket", entry->folder, entry->file);
	if (r != SOCKET_ABSENT && r != -ENOENT)
		return xstrdup(err.msg);
	if (entry->optional)
		return NULL;
	*reason = CONFIG_SOCKET_MISSING;
	return xasprintf("%s/%s is not there", entry->folder, entry->file);
}

/* NULL: they are whose they should be, or not there. The caller frees. */
static char *give(const struct socket_type *type, const struct config_socket *entry)
{
	const struct socket_owner owner = { .has_owner = entry->has_owner,
					    .uid = entry->uid,
					    .gid = entry->gid,
					    .selinux_label = entry->selinux_label };
	struct err err = { 0 };

	if (!owner.has_owner && !owner.selinux_label)
		return NULL;
	if (socket_owner_set(type->roots.host, entry->folder, entry->file, &owner, &err) >= 0 ||
	    err.code == -ENOENT)
		return NULL;
	return xstrdup(err.msg);
}

static int allocate(void *arg, const char *resource, const struct json_strs *ids,
		    struct allocation *allocation, struct err *err)
{
	const struct socket_type *type = arg;
	const struct config_socket *entry = shared_entry(&type->shared, resource);
	auto_free char *report = entry ? give(type, entry) : NULL;
	auto_free char *trouble = entry ? trouble_of(type, entry, NULL) : NULL;

	(void)ids;
	if (!entry)
		return err_set(err, ERR_INVALID, -ENODEV, "the resource is not configured");
	if (trouble || report)
		return err_set(err, ERR_INVALID, -EHOSTDOWN, "%s", trouble ? trouble : report);
	allocation_add_mount(allocation, entry->folder, entry->folder, false);
	return 0;
}

const struct device_type socket_device_type = { .name = "socket", .allocate = allocate };

/* The message for @trouble with the reason @reason; the caller frees. */
static char *report_of(const char *trouble, const char *reason)
{
	if (!trouble || strcmp(reason, CONFIG_SOCKET_MISSING) != 0)
		return xstrdup_or_null(trouble);
	return xasprintf(
		"%s: start the daemon that makes it, or keep the entry to nodes that have it by a "
		"nodeSelector; an agent in a pod sees only folders that are mounted below its "
		"--host-root",
		trouble);
}

/* The owner first: it is healthy when a container can use it. */
static void look(struct socket_type *type, size_t i)
{
	const struct config_socket *entry = type->shared.items[i].entry;
	struct shared_item *item = &type->shared.items[i];
	const char *reason = CONFIG_OWNER_NOT_SET;
	char *trouble = give(type, entry);

	if (!trouble)
		trouble = trouble_of(type, entry, &reason);
	shared_report(item, reason, report_of(trouble, reason));
	shared_set(&type->shared, item, trouble);
}

/* A capacity may come with a module. */
static void count_again(struct socket_type *type)
{
	auto_free char *misc = misc_capacity_read(type->roots.sysfs);

	if (type->config && strcmp(misc, type->misc) != 0)
		socket_type_set(type, type->config, type->labels);
}

void socket_type_offer(struct socket_type *type, struct plugins *plugins,
		       struct config_troubles *troubles)
{
	count_again(type);
	for (size_t i = 0; i < type->shared.len; i++)
		look(type, i);
	shared_offer(&type->shared, plugins, &socket_device_type, type, troubles);
}

void socket_type_paths(const struct socket_type *type, struct json_strs *paths)
{
	for (size_t i = 0; i < type->shared.len; i++) {
		auto_free char *folder = host_path(type, type->shared.items[i].entry, true);
		auto_free char *path = host_path(type, type->shared.items[i].entry, false);

		(void)json_strs_add_new(paths, folder);
		(void)json_strs_add_new(paths, path);
	}
}

static void tell_no_capacity(struct socket_type *type, const char *misc,
			     const struct shared_item *item)
{
	auto_free char *text =
		xasprintf("the misc cgroup controller of this node has no capacity "
			  "'%s': switch it on in the firmware and the kernel, or keep "
			  "the entry to nodes that have it by a nodeSelector",
			  misc);

	shared_tell(item, CONFIG_NO_CAPACITY, text, &type->shared.troubles);
}

void socket_type_set(struct socket_type *type, const struct config *config,
		     const struct json_pairs *labels)
{
	shared_clear(&type->shared);
	type->config = config;
	type->labels = labels;
	free(type->misc);
	type->misc = misc_capacity_read(type->roots.sysfs);
	for (size_t i = 0; i < config->sockets.len; i++) {
		const struct config_socket *entry = &config->sockets.items[i];
		const struct shared_item item = { .list = CONFIG_LIST_SOCKET,
						  .index = (int64_t)entry->index,
						  .resource = entry->resource,
						  .entry = entry };
		unsigned count = !entry->misc ? entry->count
					      : misc_capacity_find(type->misc, entry->misc,
								   CONFIG_COUNT_MAX);

		if (!config_selects(&entry->selector, labels))
			continue;
		if (count > 0)
			(void)shared_add(&type->shared, &item, count);
		else
			tell_no_capacity(type, entry->misc, &item);
	}
}

struct socket_type *socket_type_new(const struct socket_roots *roots)
{
	struct socket_type *type = xcalloc(1, sizeof(*type));

	type->roots = *roots;
	return type;
}

struct socket_type *socket_type_free(struct socket_type *type)
{
	if (!type)
		return NULL;
	shared_done(&type->shared);
	free(type->misc);
	free(type);
	return NULL;
}
