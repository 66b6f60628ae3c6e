#include "agent/plugin/gpu_bind.h"

#include "base/mem.h"

const char gpu_still_offered[] = "containers can still get the GPU from the kubelet";
const char gpu_use_unknown[] = "it is not known yet whether a container has the GPU";

char *gpu_unit_bind_trouble(gpu_is_free_fn *is_free, void *arg, const char *id)
{
	auto_free char *holder = NULL;

	if (is_free(arg, id, &holder))
		return NULL;
	if (!holder)
		return xstrdup(gpu_use_unknown);
	return xasprintf("%s has the GPU as '%s': the card is bound when no container has it",
			 holder, id);
}
