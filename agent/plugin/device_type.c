#include "agent/plugin/device_type.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
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

bool allocation_is_empty(const struct allocation *allocation)
{
	return allocation->envs.len + allocation->devices.len + allocation->mounts.len == 0;
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
	array_done(&allocation->devices);
	array_done(&allocation->mounts);
}
