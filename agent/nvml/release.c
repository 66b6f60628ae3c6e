#include "agent/nvml/release.h"

#include "agent/nvml/gpus.h"
#include "agent/nvml/nvml.h"
#include "agent/nvml/reply.h"
#include "base/json_write.h"
#include "base/mem.h"

static void reply_state(const struct gpu_look *look, const char *kind, const char *member)
{
	struct reply *reply = look->reply;

	reply_open(reply, &reply->out, kind);
	json_write_str(&reply->out, "address", look->address);
	if (member)
		json_write_bool(&reply->out, member, true);
	reply_close(&reply->out);
	reply_flush(reply);
}

/* False: it is still on. One that cannot be read is off: the GPU or its driver does not have it. */
static bool end_persistence(struct gpu_look *look, struct nvml_device *device)
{
	unsigned on = 0;

	if (!GPU_ASK(look, DeviceGetPersistenceMode, device, &on) || !on)
		return true;
	reply_state(look, "releasing", "persistence");
	if (!GPU_NEED(look, DeviceSetPersistenceMode, device, 0))
		return false;
	/* Only what it says afterwards counts. */
	if (GPU_ASK(look, DeviceGetPersistenceMode, device, &on) && on)
		(void)gpu_look_took(look, true, "DeviceSetPersistenceMode", NVML_IN_USE);
	return !on;
}

static void release(const struct nvml *nvml, const char *address, struct reply *reply)
{
	struct gpu_look look = { .nvml = nvml, .reply = reply, .address = address };
	struct gpu_look drain = look; /* needs no answer of the GPU */
	struct nvml_device *device = NULL;
	struct nvml_pci pci;
	unsigned on = 0;
	bool drained;

	reply_at(reply, address, 0);
	nvml_pci_of(address, &pci);
	if (GPU_ASK(&drain, DeviceQueryDrainState, &pci, &on) && on) {
		reply_state(&look, "released", NULL);
		return;
	}
	if (GPU_ASK(&look, DeviceGetHandleByPciBusId, address, &device) &&
	    !end_persistence(&look, device))
		return;
	drain.gone = false;
	drained = GPU_ASK(&drain, DeviceModifyDrainState, &pci, 1);
	if (drained || drain.code != NVML_IN_USE)
		reply_state(&look, "released", drained ? "drained" : NULL);
}

void release_reply(const struct nvml *nvml, const struct gpu_addresses *addresses,
		   struct reply *reply)
{
	for (size_t i = 0; i < addresses->len; i++)
		release(nvml, addresses->items[i], reply);
	reply_flush(reply);
}

/* It is out of the drain state then, or never was in it. */
static bool end_drain(const struct nvml *nvml, const char *address, struct reply *reply)
{
	struct gpu_look look = { .nvml = nvml, .reply = reply, .address = address };
	struct nvml_pci pci;
	unsigned on = 1;

	reply_at(reply, address, 0);
	nvml_pci_of(address, &pci);
	(void)NVML_CALL(nvml, DeviceQueryDrainState, &pci, &on);
	return !on || GPU_ASK(&look, DeviceModifyDrainState, &pci, 0) ||
	       look.code == NVML_NOT_SUPPORTED || look.code == NVML_NO_FUNCTION;
}

static void begin_persistence(const struct nvml *nvml, const char *address, struct reply *reply)
{
	struct gpu_look look = { .nvml = nvml, .reply = reply, .address = address };
	struct nvml_device *device = NULL;

	if (GPU_ASK(&look, DeviceGetHandleByPciBusId, address, &device))
		(void)GPU_ASK(&look, DeviceSetPersistenceMode, device, 1);
}

void attach_reply(const struct nvml *nvml, const struct gpu_addresses *addresses, bool persistence,
		  struct reply *reply)
{
	bool attached[NVML_GPUS_MAX] = { false };

	for (size_t i = 0; i < addresses->len; i++)
		attached[i] = end_drain(nvml, addresses->items[i], reply);
	/* The library lists what was there when it was initialized. */
	(void)nvml->Shutdown();
	if (nvml->Init() != NVML_SUCCESS)
		persistence = false;
	for (size_t i = 0; i < addresses->len; i++) {
		const struct gpu_look look = { .nvml = nvml,
					       .reply = reply,
					       .address = addresses->items[i] };

		if (!attached[i])
			continue;
		reply_at(reply, addresses->items[i], 0);
		if (persistence)
			begin_persistence(nvml, addresses->items[i], reply);
		reply_state(&look, "attached", NULL);
	}
	reply_flush(reply);
}
