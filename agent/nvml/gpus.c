#include "agent/nvml/gpus.h"

#include <stdio.h>
#include <string.h>

#include "agent/nvml/reply.h"

bool gpu_look_took(struct gpu_look *look, bool needed, const char *function, int code)
{
	look->code = code;
	if (code == NVML_SUCCESS)
		return true;
	look->gone = nvml_is_gone(code);
	if (needed || (code != NVML_NOT_SUPPORTED && code != NVML_NO_FUNCTION))
		reply_problem(look->reply, look->address, look->index, function, code);
	return false;
}

/* Who @gpu is. What answers to no UUID cannot be told apart, so it is left out. */
static bool identify(struct gpu_look *look, struct gpu *gpu)
{
	struct nvml_pci pci = { 0 };

	if (!gpu->address[0]) {
		if (!GPU_NEED(look, DeviceGetPciInfo, gpu->device, &pci))
			return false;
		nvml_address(&pci, gpu->address);
		look->address = gpu->address;
	}
	if (!GPU_NEED(look, DeviceGetUUID, gpu->device, gpu->uuid, sizeof(gpu->uuid)))
		return false;
	gpu->uuid[sizeof(gpu->uuid) - 1] = '\0';
	return gpu->address[0] && gpu->uuid[0];
}

static void open_by_address(const struct nvml *nvml, const struct gpu_addresses *addresses,
			    struct reply *reply, struct gpus *gpus)
{
	for (size_t i = 0; i < addresses->len; i++) {
		struct gpu *gpu = &gpus->items[gpus->len];
		struct gpu_look look = { .nvml = nvml, .reply = reply };

		*gpu = (struct gpu){ 0 };
		memcpy(gpu->address, addresses->items[i], sizeof(gpu->address));
		look.address = gpu->address;
		reply_at(reply, gpu->address, 0);
		if (GPU_NEED(&look, DeviceGetHandleByPciBusId, gpu->address, &gpu->device) &&
		    identify(&look, gpu))
			gpus->len++;
	}
}

static void open_by_index(const struct nvml *nvml, struct reply *reply, struct gpus *gpus)
{
	struct gpu_look system = { .nvml = nvml, .reply = reply, .index = -1 };
	unsigned count = 0;

	if (!GPU_NEED(&system, DeviceGetCount, &count))
		return;
	if (count > NVML_GPUS_MAX)
		count = NVML_GPUS_MAX;
	for (unsigned i = 0; i < count; i++) {
		struct gpu *gpu = &gpus->items[gpus->len];
		struct gpu_look look = { .nvml = nvml, .reply = reply, .index = (int)i };

		*gpu = (struct gpu){ 0 };
		reply_at(reply, NULL, (int)i);
		if (GPU_NEED(&look, DeviceGetHandleByIndex, i, &gpu->device) &&
		    identify(&look, gpu))
			gpus->len++;
	}
}

void gpus_open(const struct nvml *nvml, const struct gpu_addresses *addresses, struct reply *reply,
	       struct gpus *ret_gpus)
{
	ret_gpus->len = 0;
	if (addresses->len > 0)
		open_by_address(nvml, addresses, reply, ret_gpus);
	else
		open_by_index(nvml, reply, ret_gpus);
	reply_flush(reply);
}

const struct gpu *gpus_at(const struct gpus *gpus, const char *address)
{
	for (size_t i = 0; i < gpus->len; i++) {
		if (strcmp(gpus->items[i].address, address) == 0)
			return &gpus->items[i];
	}
	return NULL;
}

const struct gpu *gpus_with(const struct gpus *gpus, const struct nvml_device *device)
{
	for (size_t i = 0; i < gpus->len; i++) {
		if (gpus->items[i].device == device)
			return &gpus->items[i];
	}
	return NULL;
}
