#include "agent/helper/sys/nvidia_node.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "agent/helper/sys/sysfs.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

#define NODE "/dev/nvidia"

/* Of nv.h and nv-chardev-numbers.h of the driver: 254 is nvidia-modeset and 255 nvidiactl. */
enum { NVIDIA_MAJOR = 195, CARD_MINOR_MAX = 247 };

/* A driver that cannot be read may be NVIDIA's. */
static bool may_be_driver(int sysfs_fd, const char *address)
{
	auto_free char *driver = xasprintf("bus/pci/devices/%s/driver", address);
	auto_free char *physical = xasprintf("bus/pci/devices/%s/physfn", address);
	char target[SYSFS_LINK_MAX + 1];
	int r = sysfs_link(sysfs_fd, driver, target, NULL);

	if (r == SYSFS_ABSENT || (r == 0 && strcmp(str_base_name(target), "nvidia") != 0))
		return false;
	return sysfs_link(sysfs_fd, physical, target, NULL) != 0;
}

/* nv_procfs_read_gpu_info() of the driver's nv-procfs.c: "Device Minor: \t 0". */
int nvidia_node_minor(int sysfs_fd, int proc_fd, const char *address)
{
	static const char key[] = "Device Minor:";
	auto_free char *path = xasprintf("driver/nvidia/gpus/%s/information", address);
	auto_free char *number = NULL;
	struct sysfs_attr text;
	const char *at;
	uint64_t minor;

	if (!may_be_driver(sysfs_fd, address))
		return NVIDIA_NODE_NONE;
	if (proc_fd < 0 || sysfs_read(proc_fd, path, &text, NULL) != 0)
		return NVIDIA_NODE_ANY;
	at = strstr(text.text, key);
	if (!at)
		return NVIDIA_NODE_ANY;
	at += sizeof(key) - 1;
	at += strspn(at, " \t");
	number = xstrndup(at, strcspn(at, " \t\n"));
	return str_to_u64(number, &minor) && minor <= INT_MAX ? (int)minor : NVIDIA_NODE_ANY;
}

bool nvidia_node_has_number(unsigned major, unsigned minor_number, int minor)
{
	if (minor == NVIDIA_NODE_NONE || major != NVIDIA_MAJOR || minor_number > CARD_MINOR_MAX)
		return false;
	return minor == NVIDIA_NODE_ANY || minor_number == (unsigned)minor;
}

bool nvidia_node_is(const char *path, int minor)
{
	auto_free char *number = NULL;
	uint64_t found;
	const char *end;

	if (minor == NVIDIA_NODE_NONE || strncmp(path, NODE, sizeof(NODE) - 1) != 0)
		return false;
	path += sizeof(NODE) - 1;
	end = path + strspn(path, "0123456789");
	if (*end && strcmp(end, " (deleted)") != 0)
		return false;
	number = xstrndup(path, (size_t)(end - path));
	return str_to_u64(number, &found) && (minor == NVIDIA_NODE_ANY || found == (uint64_t)minor);
}
