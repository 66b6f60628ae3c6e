#include "agent/nvidia/nvidia_nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/nvidia/nvidia_devices.h"
#include "agent/nvidia/nvidia_gpus.h"
#include "agent/plugin/device_type.h"
#include "agent/process/helper_place.h"
#include "base/array.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

enum { MINORS_MAX = 256 << 10 }; /* bytes of mig-minors: some 9,000 lines of 25 */

static const char permissions[] = "rw";

#define IMEX_CHANNEL "nvidia-caps-imex-channels/channel0"

static bool has_node(const struct helper_place *place, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", place->dev_root ? place->dev_root : "/dev", name);

	return access(path, F_OK) == 0;
}

bool nvidia_nodes_have_imex(const struct helper_place *place)
{
	return has_node(place, IMEX_CHANNEL);
}

void nvidia_nodes_add_imex(struct allocation *allocation)
{
	allocation_add_device(allocation, "/dev/" IMEX_CHANNEL, permissions);
}

void nvidia_nodes_add_shared(const struct helper_place *place, struct allocation *allocation)
{
	static const char *const names[] = { "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools",
					     "nvidia-modeset" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		auto_free char *path = xasprintf("/dev/%s", names[i]);

		if (has_node(place, names[i]))
			allocation_add_device(allocation, path, permissions);
	}
}

/* The number after @key at the begin of a line of @text. */
static int find_minor(const char *text, const char *key, uint64_t *ret_minor)
{
	size_t len = strlen(key);
	const char *line = text;

	while (line) {
		const char *end = strchrnul(line, '\n');

		if (strncmp(line, key, len) == 0 && line[len] == ' ') {
			auto_free char *number =
				xstrndup(line + len + 1, (size_t)(end - line) - len - 1);

			return str_to_u64(number, ret_minor) ? 0 : -EINVAL;
		}
		line = *end ? end + 1 : NULL;
	}
	return -ENODEV;
}

static int add_cap(const char *text, const char *key, struct allocation *allocation,
		   struct err *err)
{
	auto_free char *path = NULL;
	uint64_t minor;

	if (find_minor(text, key, &minor) < 0)
		return err_set(err, ERR_INVALID, -ENODEV,
			       "NVIDIA's driver does not tell the device node of %s", key);
	path = xasprintf("/dev/nvidia-caps/nvidia-cap%llu", (unsigned long long)minor);
	allocation_add_device(allocation, path, permissions);
	return 0;
}

static int add_caps(const struct helper_place *place, const struct nvidia_device *device,
		    struct allocation *allocation, struct err *err)
{
	int minor = device->gpu->minor;
	auto_free char *file = xasprintf("%s/driver/nvidia-caps/mig-minors",
					 place->proc_root ? place->proc_root : "/proc");
	auto_free char *gi = xasprintf("gpu%d/gi%d/access", minor, device->mig->gi);
	auto_free char *ci =
		xasprintf("gpu%d/gi%d/ci%d/access", minor, device->mig->gi, device->mig->ci);
	auto_free char *text = NULL;
	int r = file_read(AT_FDCWD, file, MINORS_MAX, &text, NULL, err);

	if (r < 0)
		return r;
	r = add_cap(text, gi, allocation, err);
	return r < 0 ? r : add_cap(text, ci, allocation, err);
}

int nvidia_nodes_add(const struct helper_place *place, const struct nvidia_device *device,
		     struct allocation *allocation, struct err *err)
{
	auto_free char *path = xasprintf("/dev/nvidia%d", device->gpu->minor);

	if (device->gpu->minor < 0)
		return err_set(err, ERR_INVALID, -ENODEV,
			       "NVIDIA's library does not tell the device node of '%s'",
			       device->uuid);
	allocation_add_device(allocation, path, permissions);
	return device->mig ? add_caps(place, device, allocation, err) : 0;
}
