/*
 * nvml: NVIDIA's library libnvidia-ml.so.1, opened at run time, by declarations of our own.
 *
 * The library belongs to the driver and has the version of its kernel module, so it is never
 * shipped with a program. Every function is looked up by itself: first with the suffix of its
 * newest version that has the same arguments, then without. One that the driver does not have is
 * NULL here, and NVML_CALL answers for it as the library would: NVML_NO_FUNCTION.
 *
 * A call can block for as long as a failing card lets it, and nothing in here prevents that. A
 * program that needs an answer in time makes the call in a child process and kills the child.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct reply;

/* The library's; handles are pointers to what only it knows. */
struct nvml_device;
struct nvml_event_set;
struct nvml_gpu_instance;

enum {
	NVML_GPUS_MAX = 64,        /* of one machine; more are not looked at            */
	NVML_MIG_MAX = 16,         /* MIG devices of one GPU                            */
	NVML_NVLINKS_MAX = 36,     /* NVLinks of one GPU                                */
	NVML_UUID_SIZE = 96,       /* what the library asks for, with the end of string */
	NVML_TEXT_SIZE = 96,       /* a name                                            */
	NVML_VERSION_SIZE = 80,    /* a version                                         */
	NVML_ADDRESS_SIZE = 32,    /* of a PCI device                                   */
	NVML_WHOLE_GPU = -1,       /* (uint32_t) instead of an instance                 */
	NVML_FIELD_RECOVERY = 230, /* what has to be done to the GPU; 0: nothing      */
	NVML_GI_PROFILES = 0x12,   /* profiles of GPU instances have numbers below      */
};

/* What functions return; those that we tell apart. */
enum nvml_return {
	NVML_SUCCESS = 0,
	NVML_UNINITIALIZED = 1,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_TIMEOUT = 10,
	NVML_NO_LIBRARY = 12,
	NVML_NO_FUNCTION = 13,
	NVML_GPU_LOST = 15,
	NVML_RESET_REQUIRED = 16,
	NVML_BLOCKED = 17,
	NVML_VERSION_MISMATCH = 18,
	NVML_IN_USE = 19,
	NVML_UNKNOWN = 999,
};

/* Bits of events. */
enum nvml_event_bit {
	NVML_EVENT_DOUBLE_BIT_ECC = 0x2,
	NVML_EVENT_XID = 0x8,
	NVML_EVENT_MIG = 0x100,
	NVML_EVENT_UNAVAILABLE = 0x4000,
	NVML_EVENT_RECOVERY = 0x8000,
};

/* The library's structures, for machines with 64-bit pointers. Plain ones never change; versioned
 * ones begin with their size | version << 24. */
struct nvml_pci {
	char legacy_bus_id[16];
	uint32_t domain;
	uint32_t bus;
	uint32_t device;
	uint32_t device_id;
	uint32_t subsystem_id;
	char bus_id[32];
};

struct nvml_memory {
	uint64_t total;
	uint64_t free;
	uint64_t used;
};

struct nvml_attributes {
	uint32_t multiprocessors;
	uint32_t copy;
	uint32_t decoders;
	uint32_t encoders;
	uint32_t jpeg;
	uint32_t ofa;
	uint32_t gpu_slices;
	uint32_t compute_slices;
	uint64_t memory_mib;
};

struct nvml_event {
	struct nvml_device *device;
	uint64_t type;
	uint64_t data;
	uint32_t gpu_instance;
	uint32_t compute_instance;
};

struct nvml_gpu_instance_info {
	struct nvml_device *device;
	uint32_t id;
	uint32_t profile_id;
	uint32_t start;
	uint32_t size;
};

struct nvml_gpu_instance_profile {
	uint32_t id;
	uint32_t is_p2p;
	uint32_t slices;
	uint32_t instances;
	uint32_t multiprocessors;
	uint32_t copy;
	uint32_t decoders;
	uint32_t encoders;
	uint32_t jpeg;
	uint32_t ofa;
	uint64_t memory_mib;
};

struct nvml_field {
	uint32_t id;
	uint32_t scope;
	int64_t timestamp;
	int64_t latency;
	uint32_t type;
	uint32_t result;
	uint64_t value; /* of the type @type: the low half of it if that has 32 bits */
};

struct nvml_fabric {
	uint32_t version;
	uint8_t cluster[16];
	uint32_t status;
	uint32_t clique;
	uint8_t state;
	uint32_t health;
};

#define NVML_FABRIC_VERSION ((uint32_t)(sizeof(struct nvml_fabric) | 2U << 24))

/* The state of a GPU whose fabric is ready. */
enum { NVML_FABRIC_COMPLETED = 3 };

/* X(name without "nvml", suffix of the version, arguments) */
/* clang-format off */
#define NVML_FUNCTIONS(X) \
	X(Init, "_v2", (void)) \
	X(Shutdown, "", (void)) \
	X(SystemGetDriverVersion, "", (char *, unsigned)) \
	X(SystemGetNVMLVersion, "", (char *, unsigned)) \
	X(SystemGetCudaDriverVersion, "_v2", (int *)) \
	X(DeviceGetCount, "_v2", (unsigned *)) \
	X(DeviceGetHandleByIndex, "_v2", (unsigned, struct nvml_device **)) \
	X(DeviceGetHandleByPciBusId, "_v2", (const char *, struct nvml_device **)) \
	X(DeviceGetUUID, "", (struct nvml_device *, char *, unsigned)) \
	X(DeviceGetName, "", (struct nvml_device *, char *, unsigned)) \
	X(DeviceGetIndex, "", (struct nvml_device *, unsigned *)) \
	X(DeviceGetMinorNumber, "", (struct nvml_device *, unsigned *)) \
	X(DeviceGetPciInfo, "_v3", (struct nvml_device *, struct nvml_pci *)) \
	X(DeviceGetBrand, "", (struct nvml_device *, unsigned *)) \
	X(DeviceGetArchitecture, "", (struct nvml_device *, unsigned *)) \
	X(DeviceGetCudaComputeCapability, "", (struct nvml_device *, int *, int *)) \
	X(DeviceGetMemoryInfo, "", (struct nvml_device *, struct nvml_memory *)) \
	X(DeviceGetMigMode, "", (struct nvml_device *, unsigned *, unsigned *)) \
	X(DeviceGetMaxMigDeviceCount, "", (struct nvml_device *, unsigned *)) \
	X(DeviceGetMigDeviceHandleByIndex, "", \
	  (struct nvml_device *, unsigned, struct nvml_device **)) \
	X(DeviceGetGpuInstanceId, "", (struct nvml_device *, unsigned *)) \
	X(DeviceGetComputeInstanceId, "", (struct nvml_device *, unsigned *)) \
	X(DeviceGetAttributes, "_v2", (struct nvml_device *, struct nvml_attributes *)) \
	X(DeviceGetGpuInstanceById, "", \
	  (struct nvml_device *, unsigned, struct nvml_gpu_instance **)) \
	X(GpuInstanceGetInfo, "", (struct nvml_gpu_instance *, struct nvml_gpu_instance_info *)) \
	X(DeviceGetGpuInstanceProfileInfo, "", \
	  (struct nvml_device *, unsigned, struct nvml_gpu_instance_profile *)) \
	X(DeviceGetTopologyCommonAncestor, "", \
	  (struct nvml_device *, struct nvml_device *, unsigned *)) \
	X(DeviceGetNvLinkState, "", (struct nvml_device *, unsigned, unsigned *)) \
	X(DeviceGetNvLinkRemotePciInfo, "_v2", \
	  (struct nvml_device *, unsigned, struct nvml_pci *)) \
	X(DeviceGetGpuFabricInfoV, "", (struct nvml_device *, struct nvml_fabric *)) \
	X(DeviceGetPersistenceMode, "", (struct nvml_device *, unsigned *)) \
	X(DeviceSetPersistenceMode, "", (struct nvml_device *, unsigned)) \
	X(DeviceQueryDrainState, "", (struct nvml_pci *, unsigned *)) \
	X(DeviceModifyDrainState, "", (struct nvml_pci *, unsigned)) \
	X(DeviceGetRemappedRows, "", \
	  (struct nvml_device *, unsigned *, unsigned *, unsigned *, unsigned *)) \
	X(DeviceGetFieldValues, "", (struct nvml_device *, int, struct nvml_field *)) \
	X(EventSetCreate, "", (struct nvml_event_set **)) \
	X(DeviceGetSupportedEventTypes, "", (struct nvml_device *, uint64_t *)) \
	X(DeviceRegisterEvents, "", (struct nvml_device *, uint64_t, struct nvml_event_set *)) \
	X(EventSetWait, "_v2", (struct nvml_event_set *, struct nvml_event *, unsigned)) \
	X(EventSetFree, "", (struct nvml_event_set *))

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define NVML_MEMBER(name, suffix, arguments) int (*name) arguments;
/* clang-format on */

/* The functions by their own names; those that are missing are NULL, and all are before
 * nvml_open(). */
struct nvml {
	NVML_FUNCTIONS(NVML_MEMBER)
	void *library; /* NULL: not open */
};

/* Call a function of @nvml; yields what it returns. */
#define NVML_CALL(nvml, name, ...) ((nvml)->name ? (nvml)->name(__VA_ARGS__) : NVML_NO_FUNCTION)

/* Where the library is. @file is looked for as the dynamic linker does unless it has a slash; with
 * @driver_root (may be NULL) in the folders below that in which drivers are installed. */
struct nvml_place {
	const char *file;
	const char *driver_root;
};

/*
 * Open the library, for good: it has threads of its own, so it is never closed. ERR_RETRY -ENOENT
 * with the linker's words if it cannot be opened, -EINVAL if it is something else than this
 * library.
 */
int nvml_open(struct nvml *nvml, const struct nvml_place *place, struct err *err);

/* Open the library unless it is open, and initialize it. False after a "failed" line in @reply. */
bool nvml_begin(struct nvml *nvml, const struct nvml_place *place, struct reply *reply);

/* What a return code means, and what to do about it: "GPU is lost". Never NULL; codes that are not
 * known have one text. */
const char *nvml_meaning(int code);

/* Does @code of a call on a GPU mean that this handle is of no more use, not only this question? */
bool nvml_is_gone(int code);

/* The address of @pci as sysfs has it, "0000:3b:00.0": lower case, and a domain of four digits
 * unless it needs more. "" if it is none. */
void nvml_address(const struct nvml_pci *pci, char ret_address[NVML_ADDRESS_SIZE]);

/* What the library takes for the GPU at @address, which it need not list: all zero if that is no
 * address. */
void nvml_pci_of(const char *address, struct nvml_pci *ret_pci);

/* Is @text such an address, or one that the library takes for it? */
bool nvml_is_address(const char *text);
