#include "agent/plugin/device_type.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/err.h"
#include "base/mem.h"

void allocation_add_device_as(struct allocation *allocation, const char *container_path,
			      const char *host_path, const char *permissions)
{
	for (size_t i = 0; i < allocation->devices.len; i++) {
		if (strcmp(allocation->devices.items[i].container_path, container_path) == 0)
			return;
	}
	*array_add(&allocation->devices) =
		(struct device_spec){ .container_path = xstrdup(container_path),
				      .host_path = xstrdup(host_path),
				      .permissions = xstrdup(permissions) };
}

void allocation_add_device(struct allocation *allocation, const char *path, const char *permissions)
{
	allocation_add_device_as(allocation, path, path, permissions);
}

void allocation_add_mount(struct allocation *allocation, const char *container_path,
			  const char *host_path, bool read_only)
{
	*array_add(&allocation->mounts) =
		(struct device_mount){ .container_path = xstrdup(container_path),
				       .host_path = xstrdup(host_path),
				       .read_only = read_only };
}

/* Of @len bytes: letters and digits, with some of @others between them. */
static bool is_cdi_word(const char *text, size_t len, const char *others)
{
	if (len == 0 || !ascii_is_alnum(text[0]) || !ascii_is_alnum(text[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!ascii_is_alnum(text[i]) && !strchr(others, text[i]))
			return false;
	}
	return true;
}

/* pkg/parser/parser.go of container-device-interface. */
static bool is_cdi_name(const char *name)
{
	size_t vendor = strcspn(name, "/=");
	const char *class = name + vendor + 1;
	size_t class_len;
	const char *device;

	if (name[vendor] != '/')
		return false;
	class_len = strcspn(class, "=");
	if (class[class_len] != '=')
		return false;
	device = class + class_len + 1;
	return ascii_is_letter(name[0]) && is_cdi_word(name, vendor, "_-.") &&
	       ascii_is_letter(class[0]) && is_cdi_word(class, class_len, "_-.") &&
	       is_cdi_word(device, strlen(device), "_-.:");
}

int allocation_add_cdi_device(struct allocation *allocation, const char *name, struct err *err)
{
	if (!is_cdi_name(name))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "'%s' is not the qualified name of a CDI device; it must be "
			       "VENDOR/CLASS=DEVICE",
			       name);
	json_strs_add_new(&allocation->cdi_devices, name);
	return 0;
}

void allocation_add_nodes(const struct allocation *allocation, struct json_strs *nodes)
{
	for (size_t i = 0; i < allocation->devices.len; i++)
		json_strs_add(nodes, allocation->devices.items[i].host_path);
}

bool allocation_is_empty(const struct allocation *allocation)
{
	return allocation->envs.len + allocation->devices.len + allocation->mounts.len +
		       allocation->annotations.len + allocation->cdi_devices.len ==
	       0;
}

void allocation_done(struct allocation *allocation)
{
	for (size_t i = 0; i < allocation->devices.len; i++) {
		free(allocation->devices.items[i].container_path);
		free(allocation->devices.items[i].host_path);
		free(allocation->devices.items[i].permissions);
	}
	for (size_t i = 0; i < allocation->mounts.len; i++) {
		free(allocation->mounts.items[i].container_path);
		free(allocation->mounts.items[i].host_path);
	}
	json_pairs_done(&allocation->envs);
	json_pairs_done(&allocation->annotations);
	json_strs_done(&allocation->cdi_devices);
	array_done(&allocation->devices);
	array_done(&allocation->mounts);
}
