#include "agent/nvml/topology.h"

#include "agent/nvml/gpus.h"
#include "agent/nvml/nvml.h"
#include "agent/nvml/reply.h"
#include "base/json_write.h"

/* NVLinks of one GPU: to each other one, and to what is none. */
struct nvlinks {
	unsigned to[NVML_GPUS_MAX];
	unsigned to_switch;
};

static void count_link(const struct gpus *gpus, const struct nvml_pci *remote,
		       struct nvlinks *links)
{
	char address[NVML_ADDRESS_SIZE];
	const struct gpu *peer;

	nvml_address(remote, address);
	peer = gpus_at(gpus, address);
	if (peer)
		links->to[peer - gpus->items]++;
	else if (address[0])
		links->to_switch++;
}

static void count_links(struct gpu_look *look, const struct gpus *gpus, const struct gpu *gpu,
			struct nvlinks *links)
{
	for (unsigned i = 0; i < NVML_NVLINKS_MAX && !look->gone; i++) {
		struct nvml_pci remote = { 0 };
		unsigned on = 0;
		int code = NVML_CALL(look->nvml, DeviceGetNvLinkState, gpu->device, i, &on);

		/* The GPU has no more links. */
		if (code == NVML_INVALID_ARGUMENT)
			return;
		if (!gpu_look_took(look, false, "DeviceGetNvLinkState", code) || !on)
			continue;
		if (GPU_ASK(look, DeviceGetNvLinkRemotePciInfo, gpu->device, i, &remote))
			count_link(gpus, &remote, links);
	}
}

static void reply_pair(const struct gpu_look *look, const struct gpu *gpu, const struct gpu *peer,
		       unsigned nvlinks)
{
	struct str *out = &look->reply->out;
	/* A copy: if only the peer is gone, the other pairs are still reported. */
	struct gpu_look pair = *look;
	unsigned level = 0;
	bool has_level =
		GPU_ASK(&pair, DeviceGetTopologyCommonAncestor, gpu->device, peer->device, &level);

	reply_open(look->reply, out, "pair");
	json_write_str(out, "address", gpu->address);
	json_write_str(out, "peer", peer->address);
	if (has_level)
		json_write_int(out, "level", level);
	json_write_int(out, "nvlinks", nvlinks);
	reply_close(out);
}

void topology_reply(const struct nvml *nvml, const struct gpu_addresses *addresses,
		    struct reply *reply)
{
	struct gpus gpus;

	gpus_open(nvml, addresses, reply, &gpus);
	for (size_t i = 0; i < gpus.len; i++) {
		const struct gpu *gpu = &gpus.items[i];
		struct gpu_look look = { .nvml = nvml, .reply = reply, .address = gpu->address };
		struct nvlinks links = { 0 };

		reply_at(reply, gpu->address, 0);
		count_links(&look, &gpus, gpu, &links);
		/* Report a pair once, with the links as its first GPU sees them. */
		for (size_t j = i + 1; j < gpus.len && !look.gone; j++)
			reply_pair(&look, gpu, &gpus.items[j], links.to[j]);
		if (links.to_switch > 0) {
			reply_open(reply, &reply->out, "switch");
			json_write_str(&reply->out, "address", gpu->address);
			json_write_int(&reply->out, "nvlinks", links.to_switch);
			reply_close(&reply->out);
		}
		reply_flush(reply);
	}
}
