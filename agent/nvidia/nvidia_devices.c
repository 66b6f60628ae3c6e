#include "agent/nvidia/nvidia_devices.h"

#include <stdio.h>
#include <string.h>

#include "agent/nvidia/nvidia_config.h"
#include "agent/nvidia/nvidia_gpus.h"
#include "base/array.h"
#include "base/mem.h"

/* As NVIDIA's plugin names the shares of a device. */
#define SHARE "::"

/* --- the devices ------------------------------------------------------------------------------------------ */

/* One that is well was looked at before it counts: its index can decide how it is shared. */
static void add_gpu(const struct nvidia_gpu *gpu, struct nvidia_devices *devices)
{
	*array_add(devices) = (struct nvidia_device){
		.gpu = gpu,
		.uuid = gpu->looked || gpu->trouble ? gpu->uuid : NULL,
		.resource = NVIDIA_RESOURCE,
	};
}

/* --- how they are shared ------------------------------------------------------------------------------------ */

static bool is_listed(const struct nvidia_sharing *sharing, const struct nvidia_device *device)
{
	char index[16];

	if (device->uuid && json_strs_has(&sharing->devices, device->uuid))
		return true;
	(void)snprintf(index, sizeof(index), "%d", device->gpu->index);
	return json_strs_has(&sharing->devices, index);
}

/* A GPU that has not told its UUID yet counts, so that no other one moves up for it. */
static void share(struct nvidia_devices *devices, const struct nvidia_sharing *sharing)
{
	unsigned left = sharing->count;

	for (size_t i = 0; i < devices->len; i++) {
		struct nvidia_device *device = &devices->items[i];

		if (device->sharing || strcmp(device->resource, sharing->resource) != 0)
			continue;
		if (!sharing->all && left == 0 && !is_listed(sharing, device))
			continue;
		device->sharing = sharing;
		left -= left > 0;
	}
}

void nvidia_devices_make(const struct nvidia_gpus *gpus, const struct nvidia_config *config,
			 struct nvidia_devices *ret_devices)
{
	struct nvidia_devices devices = { 0 };

	for (size_t i = 0; i < gpus->len; i++)
		add_gpu(&gpus->items[i], &devices);
	for (size_t i = 0; i < config->sharings.len; i++)
		share(&devices, &config->sharings.items[i]);
	*ret_devices = devices;
}

void nvidia_devices_done(struct nvidia_devices *devices)
{
	array_done(devices);
}

/* --- units ------------------------------------------------------------------------------------------------ */

const char *nvidia_device_resource(const struct nvidia_device *device)
{
	return device->sharing ? device->sharing->name : device->resource;
}

unsigned nvidia_device_units(const struct nvidia_device *device)
{
	return device->sharing ? device->sharing->replicas : 1;
}

char *nvidia_unit_id(const struct nvidia_device *device, unsigned unit)
{
	if (!device->sharing)
		return xstrdup(device->uuid);
	return xasprintf("%s" SHARE "%u", device->uuid, unit);
}

bool nvidia_unit_is_share(const char *id)
{
	return strstr(id, SHARE) != NULL;
}

char *nvidia_unit_uuid(const char *id)
{
	const char *end = strstr(id, SHARE);

	return end ? xasprintf("%.*s", (int)(end - id), id) : xstrdup(id);
}
