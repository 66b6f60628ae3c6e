#include "agent/nvidia/nvidia_devices.h"

#include <stdio.h>
#include <string.h>

#include "agent/nvidia/nvidia_config.h"
#include "agent/nvidia/nvidia_gpus.h"
#include "base/array.h"
#include "base/mem.h"

/* As NVIDIA's plugin names the shares of a device. */
#define SHARE "::"

enum { UUID_LEN = 40 }; /* of a GPU: "GPU-00000000-0000-0000-0000-000000000000" */

bool nvidia_mig_strategy_from_text(const char *text, enum nvidia_mig_strategy *ret_strategy)
{
	static const char *const names[] = {
		[NVIDIA_MIG_NONE] = "none",
		[NVIDIA_MIG_SINGLE] = "single",
		[NVIDIA_MIG_MIXED] = "mixed",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i], text) == 0) {
			*ret_strategy = (enum nvidia_mig_strategy)i;
			return true;
		}
	}
	return false;
}

/* --- the devices ------------------------------------------------------------------------------------------ */

static void leave_out(struct nvidia_devices *devices, const char *uuid, const char *reason)
{
	auto_free char *text = xasprintf("%s: %s", uuid, reason);

	json_strs_add(&devices->left_out, text);
}

/* One that is well was looked at before it counts: its index can decide how it is shared. */
static void add_gpu(const struct nvidia_gpu *gpu, struct nvidia_devices *devices)
{
	*array_add(devices) = (struct nvidia_device){
		.gpu = gpu,
		.uuid = gpu->looked || gpu->trouble ? gpu->uuid : NULL,
		.resource = NVIDIA_RESOURCE,
	};
}

/* Why a MIG device is not offered, whatever the others are; NULL: it is. */
static const char *misfit(const struct nvidia_mig *mig)
{
	if (!mig->profile)
		return "its MIG profile is not known";
	if (!mig->is_whole)
		return "it is only a part of a GPU instance";
	return NULL;
}

static void add_mig(const struct nvidia_gpu *gpu, const struct nvidia_mig *mig,
		    const char *resource, struct nvidia_devices *devices)
{
	const char *reason = misfit(mig);
	struct nvidia_device *device;

	if (reason) {
		leave_out(devices, mig->uuid, reason);
		return;
	}
	device = array_add(devices);
	*device = (struct nvidia_device){ .gpu = gpu, .mig = mig, .uuid = mig->uuid };
	(void)snprintf(device->resource, sizeof(device->resource), "%s", resource);
}

/* "nvidia.com/mig-1g.5gb.me" */
static void name_profile(const struct nvidia_mig *mig, char ret_name[NVIDIA_RESOURCE_SIZE])
{
	(void)snprintf(ret_name, NVIDIA_RESOURCE_SIZE, "nvidia.com/mig-%s",
		       mig->profile ? mig->profile : "");
	for (char *c = ret_name; *c; c++)
		*c = *c == '+' ? '.' : *c;
}

/* Those of a GPU in MIG mode; @resource NULL: by their profiles. */
static void add_migs(const struct nvidia_gpu *gpu, const char *resource,
		     struct nvidia_devices *devices)
{
	char name[NVIDIA_RESOURCE_SIZE];

	if (gpu->migs.len == 0)
		leave_out(devices, gpu->uuid, "it is in MIG mode and has no MIG device");
	for (size_t i = 0; i < gpu->migs.len; i++) {
		name_profile(&gpu->migs.items[i], name);
		add_mig(gpu, &gpu->migs.items[i], resource ? resource : name, devices);
	}
}

/* --- the strategy single ------------------------------------------------------------------------------------- */

/* What a GPU is to this strategy: "" a whole one, or the profile of all its MIG devices. NULL: it
 * fits none. */
static const char *type_of(const struct nvidia_gpu *gpu)
{
	const struct nvidia_migs *migs = &gpu->migs;

	if (!gpu->looked)
		return NULL;
	if (!gpu->has_mig)
		return "";
	for (size_t i = 0; i < migs->len; i++) {
		if (misfit(&migs->items[i]) ||
		    strcmp(migs->items[i].profile, migs->items[0].profile) != 0)
			return NULL;
	}
	return migs->len > 0 ? migs->items[0].profile : NULL;
}

static size_t count_type(const struct nvidia_gpus *gpus, const char *type)
{
	size_t n = 0;

	for (size_t i = 0; i < gpus->len; i++) {
		const char *other = type_of(&gpus->items[i]);

		n += other && strcmp(other, type) == 0;
	}
	return n;
}

/* That of the most GPUs; NULL: no GPU has one. */
static const char *main_type(const struct nvidia_gpus *gpus)
{
	const char *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < gpus->len; i++) {
		const char *type = type_of(&gpus->items[i]);
		size_t n = type ? count_type(gpus, type) : 0;

		if (n > most) {
			best = type;
			most = n;
		}
	}
	return best;
}

static void add_single(const struct nvidia_gpu *gpu, const char *type,
		       struct nvidia_devices *devices)
{
	const char *own = type_of(gpu);

	if (!gpu->looked)
		return;
	if (!own || !type || strcmp(own, type) != 0)
		leave_out(devices, gpu->uuid,
			  "with the MIG strategy single, all GPUs must have MIG devices of one "
			  "profile, or none");
	else if (gpu->has_mig)
		add_migs(gpu, NVIDIA_RESOURCE, devices);
	else
		add_gpu(gpu, devices);
}

static void add_of_gpu(const struct nvidia_gpu *gpu, enum nvidia_mig_strategy strategy,
		       const char *type, struct nvidia_devices *devices)
{
	switch (strategy) {
	case NVIDIA_MIG_NONE:
		add_gpu(gpu, devices);
		return;
	case NVIDIA_MIG_SINGLE:
		add_single(gpu, type, devices);
		return;
	case NVIDIA_MIG_MIXED:
		if (gpu->looked && gpu->has_mig)
			add_migs(gpu, NULL, devices);
		else if (gpu->looked)
			add_gpu(gpu, devices);
		return;
	}
}

/* --- how they are shared ------------------------------------------------------------------------------------ */

static bool is_listed(const struct nvidia_sharing *sharing, const struct nvidia_device *device)
{
	char index[32];

	if (device->uuid && json_strs_has(&sharing->devices, device->uuid))
		return true;
	if (device->mig)
		(void)snprintf(index, sizeof(index), "%d:%d", device->gpu->index,
			       device->mig->slot);
	else
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
			 enum nvidia_mig_strategy strategy, struct nvidia_devices *ret_devices)
{
	const char *type = strategy == NVIDIA_MIG_SINGLE ? main_type(gpus) : NULL;
	struct nvidia_devices devices = { 0 };

	for (size_t i = 0; i < gpus->len; i++)
		add_of_gpu(&gpus->items[i], strategy, type, &devices);
	for (size_t i = 0; i < config->sharings.len; i++)
		share(&devices, &config->sharings.items[i]);
	*ret_devices = devices;
}

void nvidia_devices_done(struct nvidia_devices *devices)
{
	array_done(devices);
	json_strs_done(&devices->left_out);
}

const struct nvidia_device *nvidia_devices_find(const struct nvidia_devices *devices,
						const char *uuid)
{
	for (size_t i = 0; i < devices->len; i++) {
		if (devices->items[i].uuid && strcmp(devices->items[i].uuid, uuid) == 0)
			return &devices->items[i];
	}
	return NULL;
}

bool nvidia_devices_are_parts(const struct nvidia_devices *devices, const char *name)
{
	for (size_t i = 0; i < devices->len; i++) {
		const struct nvidia_device *device = &devices->items[i];

		if ((device->mig || device->sharing) &&
		    strcmp(nvidia_device_resource(device), name) == 0)
			return true;
	}
	return false;
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

	if (!end && strncmp(id, "GPU-", 4) == 0 && strlen(id) > UUID_LEN && id[UUID_LEN] == '-')
		end = id + UUID_LEN;
	return end ? xasprintf("%.*s", (int)(end - id), id) : xstrdup(id);
}
