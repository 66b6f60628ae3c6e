#include "agent/gpu/gpu_keys.h"

#include "api/migconfiguration.h"
#include "api/sriovgpudevice.h"
#include "api/vgpudevice.h"
#include "base/mem.h"

static const struct {
	char letter;
	const struct api_kind *api;
} kinds[GPU_KINDS] = {
	[GPU_KIND_CARD] = { 'c', &sriovgpudevice_kind },
	[GPU_KIND_VGPU] = { 'v', &vgpudevice_kind },
	[GPU_KIND_MIG] = { 'm', &migconfiguration_kind },
};

const struct api_kind *gpu_kind_api(enum gpu_kind kind)
{
	return kinds[kind].api;
}

char *gpu_key(enum gpu_kind kind, const char *name)
{
	return xasprintf("%c/%s", kinds[kind].letter, name);
}

enum gpu_kind gpu_key_kind(const char *key)
{
	int kind = 0;

	while (kind + 1 < GPU_KINDS && kinds[kind].letter != key[0])
		kind++;
	return (enum gpu_kind)kind;
}
