#include "agent/nvml/inventory.h"

#include <stdio.h>
#include <string.h>

#include "agent/nvml/gpus.h"
#include "agent/nvml/reply.h"
#include "base/json_write.h"
#include "base/mem.h"

#define MIB (1024ULL * 1024)
#define GIB (1024 * MIB)

/* What the profiles of GPU instances have besides slices and memory, by their numbers. */
static const char *const profile_attributes[NVML_GI_PROFILES] = {
	[0x7] = "+me", [0x8] = "+me", [0xa] = "+gfx",    [0xb] = "+gfx",     [0xc] = "+gfx",
	[0xd] = "-me", [0xe] = "-me", [0xf] = "+me.all", [0x10] = "+me.all", [0x11] = "+gfx",
};

void inventory_profile_name(const struct nvml_attributes *attributes, unsigned gpu_profile,
			    uint64_t total_bytes, char *ret_name, size_t size)
{
	char compute[16] = "";
	const char *more = gpu_profile < NVML_GI_PROFILES ? profile_attributes[gpu_profile] : NULL;
	uint64_t total_gib = total_bytes / GIB + (total_bytes % GIB != 0);
	uint64_t eighths;

	ret_name[0] = '\0';
	if (total_bytes == 0 || attributes->gpu_slices == 0 || attributes->gpu_slices > 8 ||
	    attributes->compute_slices == 0 || attributes->compute_slices > 8 ||
	    attributes->memory_mib > total_bytes / MIB)
		return;
	/* NVIDIA's rule: the part of the GPU's memory, up to the next eighth, of its whole GiB. */
	eighths = (8 * attributes->memory_mib * MIB + total_bytes - 1) / total_bytes;
	if (attributes->compute_slices != attributes->gpu_slices)
		(void)snprintf(compute, sizeof(compute), "%uc.", attributes->compute_slices);
	(void)snprintf(ret_name, size, "%s%ug.%llugb%s", compute, attributes->gpu_slices,
		       (unsigned long long)(eighths * total_gib + 4) / 8, more ? more : "");
}

static void reply_system(const struct nvml *nvml, size_t gpus, struct reply *reply)
{
	struct gpu_look look = { .nvml = nvml, .reply = reply, .index = -1 };
	char version[NVML_VERSION_SIZE] = "";
	auto_str struct str line = STR_INIT;
	int cuda = 0;

	reply_open(reply, &line, "system");
	if (GPU_ASK(&look, SystemGetDriverVersion, version, sizeof(version)))
		json_write_str(&line, "driver", version);
	if (GPU_ASK(&look, SystemGetNVMLVersion, version, sizeof(version)))
		json_write_str(&line, "nvml", version);
	if (GPU_ASK(&look, SystemGetCudaDriverVersion, &cuda))
		json_write_int(&line, "cuda", cuda);
	json_write_int(&line, "gpus", (int64_t)gpus);
	reply_close(&line);
	str_add_mem(&reply->out, line.buf, line.len);
	reply_flush(reply);
}

static void add_identity(struct gpu_look *look, const struct gpu *gpu, struct str *line)
{
	char name[NVML_TEXT_SIZE] = "";
	unsigned value = 0;
	int major = 0;
	int minor = 0;

	if (GPU_ASK(look, DeviceGetIndex, gpu->device, &value))
		json_write_int(line, "index", value);
	if (GPU_ASK(look, DeviceGetMinorNumber, gpu->device, &value))
		json_write_int(line, "minor", value);
	if (GPU_ASK(look, DeviceGetName, gpu->device, name, sizeof(name))) {
		name[sizeof(name) - 1] = '\0';
		json_write_str(line, "name", name);
	}
	if (GPU_ASK(look, DeviceGetBrand, gpu->device, &value))
		json_write_int(line, "brand", value);
	if (GPU_ASK(look, DeviceGetArchitecture, gpu->device, &value))
		json_write_int(line, "architecture", value);
	if (GPU_ASK(look, DeviceGetCudaComputeCapability, gpu->device, &major, &minor)) {
		json_write_int(line, "computeMajor", major);
		json_write_int(line, "computeMinor", minor);
	}
}

static void add_state(struct gpu_look *look, const struct gpu *gpu, struct str *line)
{
	struct nvml_fabric fabric = { .version = NVML_FABRIC_VERSION };
	unsigned value = 0;
	uint64_t events = 0;

	if (GPU_ASK(look, DeviceGetPersistenceMode, gpu->device, &value))
		json_write_bool(line, "persistence", value != 0);
	if (GPU_ASK(look, DeviceGetSupportedEventTypes, gpu->device, &events))
		json_write_int(line, "events", (int64_t)(events & INT64_MAX));
	if (GPU_ASK(look, DeviceGetGpuFabricInfoV, gpu->device, &fabric) &&
	    fabric.state == NVML_FABRIC_COMPLETED && fabric.status == NVML_SUCCESS) {
		char cluster[2 * sizeof(fabric.cluster) + 1];

		for (size_t i = 0; i < sizeof(fabric.cluster); i++)
			(void)snprintf(cluster + 2 * i, 3, "%02x", fabric.cluster[i]);
		json_write_str(line, "cluster", cluster);
		json_write_int(line, "clique", fabric.clique);
	}
}

/* False with the number out of all that profiles have, if the driver does not tell it. */
static unsigned gpu_profile_number(struct gpu_look *look, const struct gpu *gpu, unsigned gpu_id)
{
	struct nvml_gpu_instance *instance = NULL;
	struct nvml_gpu_instance_info info = { 0 };

	if (!GPU_ASK(look, DeviceGetGpuInstanceById, gpu->device, gpu_id, &instance) ||
	    !GPU_ASK(look, GpuInstanceGetInfo, instance, &info))
		return NVML_GI_PROFILES;
	/* The profile's id is not the number by which it is asked for: each is looked at. */
	for (unsigned i = 0; i < NVML_GI_PROFILES && !look->gone; i++) {
		struct nvml_gpu_instance_profile profile = { 0 };

		if (NVML_CALL(look->nvml, DeviceGetGpuInstanceProfileInfo, gpu->device, i,
			      &profile) == NVML_SUCCESS &&
		    profile.id == info.profile_id)
			return i;
	}
	return NVML_GI_PROFILES;
}

static void add_attributes(struct gpu_look *look, const struct gpu *gpu, struct nvml_device *mig,
			   unsigned gpu_id, struct str *line)
{
	struct nvml_attributes attributes = { 0 };
	struct nvml_memory memory = { 0 };
	unsigned profile;
	char name[32];

	if (!GPU_ASK(look, DeviceGetAttributes, mig, &attributes))
		return;
	json_write_int(line, "gpuSlices", attributes.gpu_slices);
	json_write_int(line, "computeSlices", attributes.compute_slices);
	json_write_int(line, "multiprocessors", attributes.multiprocessors);
	json_write_int(line, "copyEngines", attributes.copy);
	json_write_int(line, "decoders", attributes.decoders);
	json_write_int(line, "encoders", attributes.encoders);
	json_write_int(line, "jpegEngines", attributes.jpeg);
	json_write_int(line, "ofaEngines", attributes.ofa);
	json_write_int(line, "memoryMiB", (int64_t)(attributes.memory_mib & INT64_MAX));
	profile = gpu_profile_number(look, gpu, gpu_id);
	/* Without it, "+me" and the like are not known, and another profile's name would be
	 * wrong. */
	if (profile == NVML_GI_PROFILES ||
	    !GPU_ASK(look, DeviceGetMemoryInfo, gpu->device, &memory))
		return;
	inventory_profile_name(&attributes, profile, memory.total, name, sizeof(name));
	if (name[0])
		json_write_str(line, "profile", name);
}

static void reply_mig(struct gpu_look *look, const struct gpu *gpu, struct nvml_device *mig,
		      unsigned slot)
{
	auto_str struct str line = STR_INIT;
	char uuid[NVML_UUID_SIZE] = "";
	unsigned gpu_id = 0;
	unsigned compute_id = 0;

	if (!GPU_NEED(look, DeviceGetUUID, mig, uuid, sizeof(uuid)) ||
	    !GPU_NEED(look, DeviceGetGpuInstanceId, mig, &gpu_id) ||
	    !GPU_NEED(look, DeviceGetComputeInstanceId, mig, &compute_id))
		return;
	uuid[sizeof(uuid) - 1] = '\0';
	reply_open(look->reply, &line, "mig");
	json_write_str(&line, "address", gpu->address);
	json_write_str(&line, "uuid", uuid);
	json_write_int(&line, "slot", slot);
	json_write_int(&line, "gi", gpu_id);
	json_write_int(&line, "ci", compute_id);
	add_attributes(look, gpu, mig, gpu_id, &line);
	reply_close(&line);
	str_add_mem(&look->reply->out, line.buf, line.len);
}

static void reply_migs(struct gpu_look *look, const struct gpu *gpu)
{
	unsigned slots = 0;

	if (!GPU_ASK(look, DeviceGetMaxMigDeviceCount, gpu->device, &slots))
		return;
	for (unsigned i = 0; i < slots && i < NVML_MIG_MAX && !look->gone; i++) {
		struct nvml_device *mig = NULL;
		int code = NVML_CALL(look->nvml, DeviceGetMigDeviceHandleByIndex, gpu->device, i,
				     &mig);

		/* Either is the answer of an empty slot. */
		if (code == NVML_NOT_FOUND || code == NVML_INVALID_ARGUMENT)
			continue;
		if (gpu_look_took(look, false, "DeviceGetMigDeviceHandleByIndex", code))
			reply_mig(look, gpu, mig, i);
	}
}

bool inventory_health(const struct nvml *nvml, const struct gpu *gpu, struct reply *reply,
		      struct str *line)
{
	struct gpu_look look = { .nvml = nvml, .reply = reply, .address = gpu->address };
	struct nvml_field recovery = { .id = NVML_FIELD_RECOVERY };
	struct nvml_memory memory = { 0 };
	unsigned rows[4] = { 0 };
	bool well = true;

	/* A call that has to reach the GPU. One that shares the host's memory does not support
	 * it. */
	if (GPU_ASK(&look, DeviceGetMemoryInfo, gpu->device, &memory))
		json_write_int(line, "memoryMiB", (int64_t)(memory.total / MIB));
	else if (look.code != NVML_NOT_SUPPORTED && look.code != NVML_NO_FUNCTION)
		well = false;
	if (GPU_ASK(&look, DeviceGetFieldValues, gpu->device, 1, &recovery) &&
	    gpu_look_took(&look, false, "DeviceGetFieldValues", (int)recovery.result)) {
		json_write_int(line, "recovery", (uint32_t)recovery.value);
		well = well && (uint32_t)recovery.value == 0;
	}
	if (GPU_ASK(&look, DeviceGetRemappedRows, gpu->device, &rows[0], &rows[1], &rows[2],
		    &rows[3])) {
		/* Rows whose remapping is pending do not make a GPU unusable; a failure does. */
		json_write_bool(line, "remapPending", rows[2] != 0);
		json_write_bool(line, "remapFailed", rows[3] != 0);
		well = well && rows[3] == 0;
	}
	well = well && !look.gone;
	json_write_bool(line, "well", well);
	return well;
}

static void reply_gpu(const struct nvml *nvml, const struct gpu *gpu, struct reply *reply)
{
	struct gpu_look look = { .nvml = nvml, .reply = reply, .address = gpu->address };
	auto_str struct str line = STR_INIT;
	unsigned current = 0;
	unsigned pending = 0;

	reply_at(reply, gpu->address, 0);
	reply_open(reply, &line, "gpu");
	json_write_str(&line, "address", gpu->address);
	json_write_str(&line, "uuid", gpu->uuid);
	add_identity(&look, gpu, &line);
	add_state(&look, gpu, &line);
	if (GPU_ASK(&look, DeviceGetMigMode, gpu->device, &current, &pending)) {
		json_write_bool(&line, "migCapable", true);
		json_write_bool(&line, "mig", current != 0);
		json_write_bool(&line, "migPending", pending != 0);
		if (current)
			reply_migs(&look, gpu);
	}
	if (look.gone)
		json_write_bool(&line, "well", false);
	else
		(void)inventory_health(nvml, gpu, reply, &line);
	reply_close(&line);
	str_add_mem(&reply->out, line.buf, line.len);
	reply_flush(reply);
}

void inventory_reply(const struct nvml *nvml, const struct gpu_addresses *addresses,
		     struct reply *reply)
{
	struct gpus gpus;

	gpus_open(nvml, addresses, reply, &gpus);
	reply_system(nvml, gpus.len, reply);
	for (size_t i = 0; i < gpus.len; i++)
		reply_gpu(nvml, &gpus.items[i], reply);
}

void inventory_probe(const struct nvml *nvml, const struct gpu_addresses *addresses,
		     struct reply *reply)
{
	struct gpus gpus;

	gpus_open(nvml, addresses, reply, &gpus);
	for (size_t i = 0; i < gpus.len; i++) {
		const struct gpu *gpu = &gpus.items[i];
		auto_str struct str line = STR_INIT;

		reply_at(reply, gpu->address, 0);
		reply_open(reply, &line, "probe");
		json_write_str(&line, "address", gpu->address);
		json_write_str(&line, "uuid", gpu->uuid);
		(void)inventory_health(nvml, gpu, reply, &line);
		reply_close(&line);
		str_add_mem(&reply->out, line.buf, line.len);
		reply_flush(reply);
	}
}
