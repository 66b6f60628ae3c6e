/* library: the functions of the stand-in for libnvidia-ml.so.1. What they answer is in scene.h. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "agent/nvml/nvml.h"
#include "base/timefmt.h"
#include "fake/nvml/scene.h"

/* A function of the library. */
#define FAKE(name, ...)                                               \
	__attribute__((visibility("default"))) int name(__VA_ARGS__); \
	int name(__VA_ARGS__)

#define ENTER(device)                                        \
	do {                                                 \
		int code_ = scene_enter(__func__, (device)); \
		if (code_ != NVML_SUCCESS)                   \
			return code_;                        \
	} while (0)

#define LEAVE(code) return scene_leave(code)

static int put_text(const char *from, char *text, unsigned size)
{
	return snprintf(text, size, "%s", from) < (int)size ? NVML_SUCCESS : 7;
}

FAKE(nvmlInit_v2, void)
{
	return scene_begin(__func__);
}

FAKE(nvmlShutdown, void)
{
	ENTER(NULL);
	scene.sessions--;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlSystemGetDriverVersion, char *text, unsigned size)
{
	ENTER(NULL);
	LEAVE(put_text(scene.driver, text, size));
}

FAKE(nvmlSystemGetNVMLVersion, char *text, unsigned size)
{
	char version[NVML_VERSION_SIZE + 8];

	ENTER(NULL);
	(void)snprintf(version, sizeof(version), "12.%s", scene.driver);
	LEAVE(put_text(version, text, size));
}

FAKE(nvmlSystemGetCudaDriverVersion_v2, int *ret_version)
{
	ENTER(NULL);
	*ret_version = 12040;
	LEAVE(NVML_SUCCESS);
}

static bool is_listed(const struct fake_gpu *gpu)
{
	return !gpu->removed && !gpu->hidden;
}

static unsigned count_gpus(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < scene.len; i++)
		n += is_listed(scene.gpus[i]);
	return n;
}

/* The oldest form, for drivers that have no other. */
FAKE(nvmlDeviceGetCount, unsigned *ret_count)
{
	ENTER(NULL);
	*ret_count = count_gpus();
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetCount_v2, unsigned *ret_count)
{
	ENTER(NULL);
	*ret_count = count_gpus();
	LEAVE(NVML_SUCCESS);
}

/* The GPU at @index of those that are listed. */
static struct fake_gpu *gpu_at(unsigned index)
{
	for (unsigned i = 0; i < scene.len; i++) {
		struct fake_gpu *gpu = scene.gpus[scene.order[i]];

		if (is_listed(gpu) && index-- == 0)
			return gpu;
	}
	return NULL;
}

/* Taking a handle is a call on the GPU: it hangs and fails as one. */
static int take_handle(const char *function, struct fake_gpu *gpu, struct nvml_device **ret_device)
{
	int code;

	if (!gpu)
		LEAVE(NVML_NOT_FOUND);
	(void)scene_leave(NVML_SUCCESS);
	code = scene_enter(function, &gpu->device);
	if (code != NVML_SUCCESS)
		return code;
	*ret_device = &gpu->device;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetHandleByIndex_v2, unsigned index, struct nvml_device **ret_device)
{
	ENTER(NULL);
	return take_handle(__func__, gpu_at(index), ret_device);
}

FAKE(nvmlDeviceGetHandleByPciBusId_v2, const char *address, struct nvml_device **ret_device)
{
	struct fake_gpu *gpu = NULL;

	ENTER(NULL);
	for (unsigned i = 0; i < scene.len && !gpu; i++) {
		if (strcasecmp(scene.gpus[i]->address, address) == 0 && is_listed(scene.gpus[i]))
			gpu = scene.gpus[i];
	}
	return take_handle(__func__, gpu, ret_device);
}

FAKE(nvmlDeviceGetUUID, struct nvml_device *device, char *text, unsigned size)
{
	ENTER(device);
	if (device->mig && !device->mig->used)
		LEAVE(NVML_NOT_FOUND);
	LEAVE(put_text(device->mig ? device->mig->uuid : device->gpu->uuid, text, size));
}

FAKE(nvmlDeviceGetName, struct nvml_device *device, char *text, unsigned size)
{
	ENTER(device);
	LEAVE(put_text(device->gpu->name, text, size));
}

FAKE(nvmlDeviceGetIndex, struct nvml_device *device, unsigned *ret_index)
{
	ENTER(device);
	*ret_index = 0;
	while (*ret_index < scene.len && gpu_at(*ret_index) != device->gpu)
		++*ret_index;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetMinorNumber, struct nvml_device *device, unsigned *ret_minor)
{
	ENTER(device);
	*ret_minor = device->gpu->minor;
	LEAVE(device->mig ? NVML_NOT_SUPPORTED : NVML_SUCCESS);
}

static void put_pci(const struct fake_gpu *gpu, struct nvml_pci *pci)
{
	*pci = (struct nvml_pci){ .device_id = 0x20b010de };
	(void)snprintf(pci->bus_id, sizeof(pci->bus_id), "0000%.26s", gpu->address);
	for (char *c = pci->bus_id; *c; c++)
		*c = *c >= 'a' && *c <= 'f' ? (char)(*c - 'a' + 'A') : *c;
}

FAKE(nvmlDeviceGetPciInfo_v3, struct nvml_device *device, struct nvml_pci *ret_pci)
{
	ENTER(device);
	put_pci(device->gpu, ret_pci);
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetBrand, struct nvml_device *device, unsigned *ret_brand)
{
	ENTER(device);
	*ret_brand = 14;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetArchitecture, struct nvml_device *device, unsigned *ret_architecture)
{
	ENTER(device);
	*ret_architecture = 7;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetCudaComputeCapability, struct nvml_device *device, int *ret_major, int *ret_minor)
{
	ENTER(device);
	*ret_major = (int)device->gpu->compute / 10;
	*ret_minor = (int)device->gpu->compute % 10;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetMemoryInfo, struct nvml_device *device, struct nvml_memory *ret_memory)
{
	uint64_t mib;

	ENTER(device);
	mib = device->mig ? device->mig->memory_mib : device->gpu->memory_mib;
	*ret_memory = (struct nvml_memory){ mib << 20, mib << 20, 0 };
	LEAVE(mib > 0 ? NVML_SUCCESS : NVML_NOT_SUPPORTED);
}

FAKE(nvmlDeviceGetMigMode, struct nvml_device *device, unsigned *ret_current, unsigned *ret_pending)
{
	ENTER(device);
	if (device->gpu->mig_mode < 0)
		LEAVE(NVML_NOT_SUPPORTED);
	*ret_current = *ret_pending = (unsigned)device->gpu->mig_mode;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetMaxMigDeviceCount, struct nvml_device *device, unsigned *ret_count)
{
	ENTER(device);
	*ret_count = device->gpu->mig_mode < 0 ? 0 : 7;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetMigDeviceHandleByIndex, struct nvml_device *device, unsigned slot,
     struct nvml_device **ret_mig)
{
	ENTER(device);
	if (slot >= NVML_MIG_MAX || !device->gpu->migs[slot].used)
		LEAVE(NVML_NOT_FOUND);
	*ret_mig = &device->gpu->migs[slot].device;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetGpuInstanceId, struct nvml_device *device, unsigned *ret_id)
{
	ENTER(device);
	if (!device->mig)
		LEAVE(NVML_NOT_SUPPORTED);
	*ret_id = device->mig->gi;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetComputeInstanceId, struct nvml_device *device, unsigned *ret_id)
{
	ENTER(device);
	if (!device->mig)
		LEAVE(NVML_NOT_SUPPORTED);
	*ret_id = device->mig->ci;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetAttributes_v2, struct nvml_device *device, struct nvml_attributes *ret_attributes)
{
	ENTER(device);
	if (!device->mig)
		LEAVE(NVML_NOT_SUPPORTED);
	*ret_attributes = (struct nvml_attributes){
		.multiprocessors = 14 * device->mig->compute_slices,
		.copy = 1,
		.gpu_slices = device->mig->gpu_slices,
		.compute_slices = device->mig->compute_slices,
		.memory_mib = device->mig->memory_mib,
	};
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetGpuInstanceById, struct nvml_device *device, unsigned id,
     struct nvml_gpu_instance **ret_instance)
{
	ENTER(device);
	for (size_t i = 0; i < NVML_MIG_MAX; i++) {
		if (device->gpu->migs[i].used && device->gpu->migs[i].gi == id) {
			*ret_instance = &device->gpu->migs[i];
			LEAVE(NVML_SUCCESS);
		}
	}
	LEAVE(NVML_NOT_FOUND);
}

/* As with the real one, a profile's id is not the number that it is asked for by. */
static uint32_t profile_id(unsigned number)
{
	return 50 - 2 * number;
}

FAKE(nvmlGpuInstanceGetInfo, struct nvml_gpu_instance *instance,
     struct nvml_gpu_instance_info *ret_info)
{
	ENTER(&instance->device);
	*ret_info = (struct nvml_gpu_instance_info){ &instance->device.gpu->device, instance->gi,
						     profile_id(instance->profile), 0,
						     instance->gpu_slices };
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetGpuInstanceProfileInfo, struct nvml_device *device, unsigned number,
     struct nvml_gpu_instance_profile *ret_profile)
{
	ENTER(device);
	if (number >= NVML_GI_PROFILES)
		LEAVE(NVML_INVALID_ARGUMENT);
	*ret_profile = (struct nvml_gpu_instance_profile){ .id = profile_id(number) };
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetTopologyCommonAncestor, struct nvml_device *a, struct nvml_device *b,
     unsigned *ret_level)
{
	ENTER(a);
	*ret_level = 50;
	for (unsigned i = 0; i < scene.len; i++) {
		if (scene.gpus[i] == b->gpu)
			*ret_level = a->gpu->level[i];
	}
	LEAVE(b->gpu->lost ? NVML_GPU_LOST : NVML_SUCCESS);
}

FAKE(nvmlDeviceGetNvLinkState, struct nvml_device *device, unsigned link, unsigned *ret_on)
{
	ENTER(device);
	if (device->gpu->links == 0)
		LEAVE(NVML_NOT_SUPPORTED);
	*ret_on = 1;
	LEAVE(link < device->gpu->links ? NVML_SUCCESS : NVML_INVALID_ARGUMENT);
}

FAKE(nvmlDeviceGetNvLinkRemotePciInfo_v2, struct nvml_device *device, unsigned link,
     struct nvml_pci *ret_pci)
{
	static const struct fake_gpu nvswitch = { .address = "0000:c1:00.0" };
	int peer;

	ENTER(device);
	if (link >= device->gpu->links)
		LEAVE(NVML_INVALID_ARGUMENT);
	peer = device->gpu->link[link];
	put_pci(peer < 0 ? &nvswitch : scene.gpus[peer], ret_pci);
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetGpuFabricInfoV, struct nvml_device *device, struct nvml_fabric *ret_fabric)
{
	ENTER(device);
	if (ret_fabric->version != (36 | 2 << 24))
		LEAVE(25);
	if (device->gpu->clique < 0)
		LEAVE(NVML_NOT_SUPPORTED);
	memset(ret_fabric->cluster, 0xab, sizeof(ret_fabric->cluster));
	ret_fabric->status = NVML_SUCCESS;
	ret_fabric->clique = (uint32_t)device->gpu->clique;
	ret_fabric->state = NVML_FABRIC_COMPLETED;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetPersistenceMode, struct nvml_device *device, unsigned *ret_on)
{
	ENTER(device);
	*ret_on = scene_state(device->gpu, "persistence");
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceSetPersistenceMode, struct nvml_device *device, unsigned on)
{
	ENTER(device);
	scene_set_state(device->gpu, "persistence", on);
	LEAVE(NVML_SUCCESS);
}

/* Also one that is not listed; a call of it hangs and fails as one on the GPU. */
static int enter_by_pci(const char *function, const struct nvml_pci *pci, struct fake_gpu **ret_gpu)
{
	struct nvml_pci own;
	int code = scene_enter(function, NULL);

	*ret_gpu = NULL;
	for (unsigned i = 0; code == NVML_SUCCESS && i < scene.len; i++) {
		put_pci(scene.gpus[i], &own);
		if (strcmp(own.bus_id, pci->bus_id) == 0)
			*ret_gpu = scene.gpus[i];
	}
	if (code != NVML_SUCCESS || !*ret_gpu)
		return code != NVML_SUCCESS ? code : scene_leave(NVML_INVALID_ARGUMENT);
	(void)scene_leave(NVML_SUCCESS);
	return scene_enter(function, &(*ret_gpu)->device);
}

FAKE(nvmlDeviceQueryDrainState, struct nvml_pci *pci, unsigned *ret_on)
{
	struct fake_gpu *gpu;
	int code = enter_by_pci(__func__, pci, &gpu);

	if (code != NVML_SUCCESS)
		return code;
	*ret_on = scene_state(gpu, "drain");
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceModifyDrainState, struct nvml_pci *pci, unsigned on)
{
	struct fake_gpu *gpu;
	int code = enter_by_pci(__func__, pci, &gpu);

	if (code != NVML_SUCCESS)
		return code;
	if (on && scene_state(gpu, "persistence"))
		LEAVE(NVML_IN_USE);
	scene_set_state(gpu, "drain", on);
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetRemappedRows, struct nvml_device *device, unsigned *ret_correctable,
     unsigned *ret_uncorrectable, unsigned *ret_pending, unsigned *ret_failed)
{
	ENTER(device);
	*ret_correctable = *ret_uncorrectable = *ret_pending = *ret_failed = 0;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetFieldValues, struct nvml_device *device, int n, struct nvml_field *fields)
{
	ENTER(device);
	for (int i = 0; i < n; i++) {
		fields[i].result =
			fields[i].id == NVML_FIELD_RECOVERY ? NVML_SUCCESS : NVML_NOT_SUPPORTED;
		fields[i].value = device->gpu->recovery;
	}
	LEAVE(NVML_SUCCESS);
}

struct nvml_event_set {
	int unused;
};

static struct nvml_event_set the_set;

FAKE(nvmlEventSetCreate, struct nvml_event_set **ret_set)
{
	ENTER(NULL);
	*ret_set = &the_set;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceGetSupportedEventTypes, struct nvml_device *device, uint64_t *ret_types)
{
	ENTER(device);
	*ret_types = device->gpu->events;
	LEAVE(NVML_SUCCESS);
}

FAKE(nvmlDeviceRegisterEvents, struct nvml_device *device, uint64_t types,
     struct nvml_event_set *set)
{
	ENTER(device);
	if (set != &the_set || device->mig || (types & ~device->gpu->events))
		LEAVE(NVML_INVALID_ARGUMENT);
	device->gpu->registered |= types;
	LEAVE(NVML_SUCCESS);
}

static int wait_code(void)
{
	for (unsigned i = 0; i < scene.len; i++) {
		if (scene.gpus[i]->registered && scene.gpus[i]->lost)
			return NVML_GPU_LOST;
	}
	return scene.wait_code;
}

FAKE(nvmlEventSetWait_v2, struct nvml_event_set *set, struct nvml_event *ret_event, unsigned ms)
{
	uint64_t until_ms = timefmt_now_ms() + ms;
	uint64_t now_ms;

	ENTER(NULL);
	if (set != &the_set)
		LEAVE(NVML_INVALID_ARGUMENT);
	for (;;) {
		if (wait_code() != NVML_SUCCESS)
			LEAVE(wait_code());
		if (scene_next_event(ret_event))
			LEAVE(NVML_SUCCESS);
		now_ms = timefmt_now_ms();
		if (now_ms >= until_ms)
			LEAVE(NVML_TIMEOUT);
		scene_wait((int)(until_ms - now_ms));
	}
}

FAKE(nvmlEventSetFree, struct nvml_event_set *set)
{
	ENTER(NULL);
	if (set != &the_set)
		LEAVE(NVML_INVALID_ARGUMENT);
	scene.events_len = 0;
	for (unsigned i = 0; i < scene.len; i++)
		scene.gpus[i]->registered = 0;
	LEAVE(NVML_SUCCESS);
}
