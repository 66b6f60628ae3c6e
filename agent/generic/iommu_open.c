#include "agent/generic/iommu_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

/* Of linux/iommufd.h, which is newer than the headers that this builds with. */
struct iommu_option {
	uint32_t size;
	uint32_t option_id;
	uint16_t op;
	uint16_t reserved;
	uint32_t object_id;
	uint64_t val64 __attribute__((aligned(8)));
};

enum {
	IOMMU_OPTION_IOCTL = 0x3b87,
	OPTION_RLIMIT_MODE = 0, /* its value 1: by process, as vfio does it, not by user */
	OPTION_OP_SET = 0,
};

_Static_assert(sizeof(struct iommu_option) == 24, "the kernel knows it by its size");

int iommu_open(const char *dev_root, int *ret_fd, struct err *err)
{
	auto_free char *path = xasprintf("%s/iommu", dev_root ? dev_root : "/dev");
	auto_close int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	struct iommu_option option = { .size = sizeof(option),
				       .option_id = OPTION_RLIMIT_MODE,
				       .op = OPTION_OP_SET,
				       .val64 = 1 };

	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open '%s': %s", path, strerror(errno));
	if (ioctl(fd, IOMMU_OPTION_IOCTL, &option) < 0)
		return err_set(err, ERR_RETRY, -errno, "set how '%s' counts pinned memory: %s",
			       path, strerror(errno));
	*ret_fd = take_fd(fd);
	return 0;
}
