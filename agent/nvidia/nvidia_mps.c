#include "agent/nvidia/nvidia_mps.h"

#include <sys/stat.h>

#include "agent/plugin/device_type.h"
#include "base/mem.h"

bool nvidia_mps_is_served(const char *host_root, const char *mps_root, const char *resource)
{
	auto_free char *path =
		xasprintf("%s%s/%s/pipe/control", host_root ? host_root : "", mps_root, resource);
	struct stat st;

	return stat(path, &st) == 0;
}

void nvidia_mps_add(const char *mps_root, const char *resource, struct allocation *allocation)
{
	auto_free char *pipes = xasprintf("/mps/%s/pipe", resource);
	auto_free char *host_pipes = xasprintf("%s/%s/pipe", mps_root, resource);
	auto_free char *host_shm = xasprintf("%s/shm", mps_root);

	(void)json_pairs_set(&allocation->envs, "CUDA_MPS_PIPE_DIRECTORY", pipes);
	allocation_add_mount(allocation, pipes, host_pipes, false);
	allocation_add_mount(allocation, "/dev/shm", host_shm, false);
}
