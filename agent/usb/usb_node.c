#include "agent/usb/usb_node.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

static const char prefix[] = "/dev/bus/usb/";

enum {
	USB_MAJOR = 189, /* Documentation/admin-guide/devices.txt */
	DEVICES_PER_BUS = 128,
	DIGITS = 3,
	DIGITS_MAX = 5,
};

int usb_node_numbers(const char *device_path, unsigned *ret_bus, unsigned *ret_device)
{
	const char *bus = device_path + sizeof(prefix) - 1;
	const char *slash;
	auto_free char *bus_text = NULL;
	uint64_t numbers[2];

	if (strncmp(device_path, prefix, sizeof(prefix) - 1) != 0)
		return -EINVAL;
	slash = strchr(bus, '/');
	if (!slash || slash - bus < DIGITS || slash - bus > DIGITS_MAX ||
	    strlen(slash + 1) != DIGITS)
		return -EINVAL;
	bus_text = xstrndup(bus, (size_t)(slash - bus));
	if (!str_to_u64(bus_text, &numbers[0]) || !str_to_u64(slash + 1, &numbers[1]) ||
	    numbers[0] == 0 || numbers[1] == 0 || numbers[1] >= DEVICES_PER_BUS)
		return -EINVAL;
	*ret_bus = (unsigned)numbers[0];
	*ret_device = (unsigned)numbers[1];
	return 0;
}

static int kernel_stat(int fd, struct stat *ret_stat)
{
	return fstat(fd, ret_stat);
}

static int kernel_chown(int fd, uid_t uid, gid_t gid)
{
	return fchownat(fd, "", uid, gid, AT_EMPTY_PATH);
}

/* A container has the capabilities that its pod's security context leaves it, and mounts of /dev of
 * its own. What cannot be found out is tried. */
static bool kernel_may_chown(int fd)
{
	struct __user_cap_header_struct self = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };
	struct statvfs fs;

	if (syscall(SYS_capget, &self, caps) == 0 &&
	    !(caps[CAP_TO_INDEX(CAP_CHOWN)].effective & CAP_TO_MASK(CAP_CHOWN)))
		return false;
	return fstatvfs(fd, &fs) < 0 || !(fs.f_flag & ST_RDONLY);
}

static const struct usb_node_calls kernel = { kernel_stat, kernel_chown, kernel_may_chown };

static const struct usb_node_calls *calls_of(const struct usb_node_at *at)
{
	return at->calls ? at->calls : &kernel;
}

/* Below @dev_root only, and through no link. */
static int open_path(const struct usb_node_at *at, struct err *err)
{
	const char *root = at->dev_root ? at->dev_root : "/dev";
	auto_close int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	long fd;

	if (dir < 0)
		return err_set(err, ERR_RETRY, -errno, "open '%s': %s", root, strerror(errno));
	fd = syscall(SYS_openat2, dir, at->device_path + strlen("/dev/"), &how, sizeof(how));
	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_RETRY, -ENOENT, "%s is not there", at->device_path);
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open '%s': %s", at->device_path,
			       strerror(errno));
	return (int)fd;
}

static int check(const struct usb_node_at *at, int fd, struct usb_node *ret_node, struct err *err)
{
	unsigned bus = 0;
	unsigned device = 0;
	struct stat st;

	(void)usb_node_numbers(at->device_path, &bus, &device);
	if (calls_of(at)->stat(fd, &st) < 0)
		return err_set(err, ERR_RETRY, -errno, "read '%s': %s", at->device_path,
			       strerror(errno));
	if (!S_ISCHR(st.st_mode) ||
	    st.st_rdev != makedev(USB_MAJOR, (bus - 1) * DEVICES_PER_BUS + device - 1))
		return err_set(err, ERR_INVALID, -ENODEV,
			       "%s is not the node of USB device %u:%u: leave it to the kernel",
			       at->device_path, bus, device);
	*ret_node =
		(struct usb_node){ st.st_ino, st.st_uid, st.st_gid, !calls_of(at)->may_chown(fd) };
	return 0;
}

static int open_node(const struct usb_node_at *at, struct usb_node *ret_node, struct err *err)
{
	unsigned bus;
	unsigned device;
	int fd;
	int r;

	if (usb_node_numbers(at->device_path, &bus, &device) < 0)
		return err_set(err, ERR_INVALID, -EINVAL, "'%s' is no node of a USB device",
			       at->device_path);
	fd = open_path(at, err);
	if (fd < 0)
		return fd;
	r = check(at, fd, ret_node, err);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

bool usb_node_is_for_qemu(const struct usb_node *node)
{
	return node->uid == USB_NODE_UID && node->gid == USB_NODE_GID;
}

bool usb_node_is_out_of_reach(const struct usb_node *node)
{
	return node->fixed && !usb_node_is_for_qemu(node);
}

char *usb_node_advice(const char *device_path)
{
	return xasprintf(
		"its node %s cannot be given to QEMU: the agent needs the capability "
		"CHOWN and a writable /dev (manifests/components/usb), or a udev rule must set "
		"the owner of the node to %d:%d",
		device_path, USB_NODE_UID, USB_NODE_GID);
}

int usb_node_read(const struct usb_node_at *at, struct usb_node *ret_node, struct err *err)
{
	auto_close int fd = open_node(at, ret_node, err);

	return fd < 0 ? fd : 0;
}

int usb_node_set_owner(const struct usb_node_at *at, const struct usb_node *owner, struct err *err)
{
	struct usb_node node = { 0 };
	auto_close int fd = open_node(at, &node, err);

	if (fd < 0)
		return fd;
	if (node.inode != owner->inode)
		return err_set(err, ERR_RETRY, -ESTALE,
			       "%s is the node of another device than a moment ago",
			       at->device_path);
	if (node.uid == owner->uid && node.gid == owner->gid)
		return 0;
	if (calls_of(at)->chown(fd, owner->uid, owner->gid) < 0)
		return err_set(err, ERR_RETRY, -errno, "change the owner of '%s': %s",
			       at->device_path, strerror(errno));
	return 0;
}
