#include "agent/helper/sys/bind_state.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/helper/sys/sysfs.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

enum { CLASS_BRIDGE_PCI = 0x0604, CLASS_BRIDGE_CARDBUS = 0x0607, DEVICE_PATH_SIZE = 64 };

static int open_function(int sysfs_fd, const char *address)
{
	char path[DEVICE_PATH_SIZE];

	(void)snprintf(path, sizeof(path), "bus/pci/devices/%s", address);
	return sysfs_open_dir(sysfs_fd, path);
}

static void take_name(char ret_text[BIND_NAME_SIZE], const char *text)
{
	size_t len = strnlen(text, BIND_NAME_SIZE - 1);

	memcpy(ret_text, text, len);
	ret_text[len] = '\0';
}

/* The last part of the link @name; "" if there is none. */
static int read_link(int dir_fd, const char *name, char ret_text[BIND_NAME_SIZE], struct err *err)
{
	char target[SYSFS_LINK_MAX + 1] = "";
	int r = sysfs_link(dir_fd, name, target, err);

	if (r < 0)
		return r;
	take_name(ret_text, r == 0 ? str_base_name(target) : "");
	return 0;
}

/* -1: there is no such number. */
static int read_hex(int dir_fd, const char *name, unsigned max)
{
	struct sysfs_attr attr;
	uint64_t number;

	if (sysfs_read(dir_fd, name, &attr, NULL) != 0 || !str_to_hex(attr.text, &number) ||
	    number > max)
		return -1;
	return (int)number;
}

static int read_group(int dir_fd, int *ret_group, struct err *err)
{
	char name[BIND_NAME_SIZE];
	uint64_t group;
	int r = read_link(dir_fd, "iommu_group", name, err);

	if (r < 0)
		return r;
	*ret_group = str_to_u64(name, &group) && group <= INT32_MAX ? (int)group : -1;
	return 0;
}

/* driver_override_show() writes "(null)" for none (drivers/pci/pci-sysfs.c). */
static int read_override(int dir_fd, char ret_text[BIND_NAME_SIZE], struct err *err)
{
	struct sysfs_attr attr;
	int r = sysfs_read(dir_fd, "driver_override", &attr, err);

	if (r < 0)
		return r;
	if (r == SYSFS_ABSENT || strcmp(attr.text, "(null)") == 0)
		attr.text[0] = '\0';
	take_name(ret_text, attr.text);
	return 0;
}

/* With drivers_autoprobe of the physical function off, binding a driver returns ENODEV unless an
 * override names it (pci_device_can_probe() of drivers/pci/pci-driver.c). */
static bool has_no_autoprobe(int dir_fd)
{
	struct sysfs_attr attr;

	return sysfs_read(dir_fd, "physfn/sriov_drivers_autoprobe", &attr, NULL) == 0 &&
	       strcmp(attr.text, "0") == 0;
}

/* A file that cannot be read is an error and not absent: callers treat absent as gone or
 * harmless. */
static int check_reads(struct err *err)
{
	const struct err *failure = sysfs_failure();

	if (failure->code < 0 && err)
		*err = *failure;
	return failure->code;
}

int bind_state_read(int sysfs_fd, const char *address, struct bind_state *ret_seen, struct err *err)
{
	auto_close int dir_fd = -1;
	struct bind_state seen = { .group = -1 };
	int vendor;
	int device;

	sysfs_forget_failure();
	dir_fd = open_function(sysfs_fd, address);
	vendor = dir_fd >= 0 ? read_hex(dir_fd, "vendor", 0xffff) : -1;
	device = dir_fd >= 0 ? read_hex(dir_fd, "device", 0xffff) : -1;
	if (vendor < 0 || device < 0) {
		*ret_seen = seen;
		return check_reads(err) < 0 ? err_wrap(err, "%s", address) : 0;
	}
	(void)snprintf(seen.id, sizeof(seen.id), "%04x:%04x", (unsigned)vendor & 0xffff,
		       (unsigned)device & 0xffff);
	if (read_override(dir_fd, seen.override, err) < 0 ||
	    read_link(dir_fd, "driver", seen.driver, err) < 0 ||
	    read_group(dir_fd, &seen.group, err) < 0)
		return err_wrap(err, "%s", address);
	seen.no_autoprobe = has_no_autoprobe(dir_fd);
	if (check_reads(err) < 0)
		return err_wrap(err, "%s", address);
	seen.present = true;
	*ret_seen = seen;
	return 0;
}

void bind_read_serial(int sysfs_fd, const char *address, char ret_serial[PCI_SERIAL_SIZE])
{
	auto_free char *first = xstrdup(address);
	auto_close int own_fd = open_function(sysfs_fd, address);
	auto_close int first_fd = -1;
	bool denied = false;

	ret_serial[0] = '\0';
	/* A serial is the device's, and function 0 has it (see pci_scan.c); a virtual function's
	 * function 0 may be another device. */
	first[strlen(first) - 1] = '0';
	first_fd = open_function(sysfs_fd, first);
	if (own_fd < 0 || first_fd < 0)
		return;
	if (strcmp(first, address) != 0 && faccessat(own_fd, "physfn", F_OK, 0) == 0)
		return;
	if (!pci_serial_read(first_fd, &denied, ret_serial))
		ret_serial[0] = '\0';
}

static int read_member(int group_fd, const char *name, struct bind_member *ret_member,
		       struct err *err)
{
	auto_close int dir_fd = sysfs_open_dir(group_fd, name);
	int class_id;

	take_name(ret_member->name, name);
	if (dir_fd < 0)
		return 0; /* it has just gone */
	class_id = read_hex(dir_fd, "class", 0xffffff) >> 8;
	ret_member->port = class_id == CLASS_BRIDGE_PCI || class_id == CLASS_BRIDGE_CARDBUS;
	ret_member->vfio = faccessat(dir_fd, "vfio-dev", F_OK, 0) == 0;
	return read_link(dir_fd, "driver", ret_member->driver, err);
}

int bind_members_read(int sysfs_fd, int group, struct bind_members *ret_members, struct err *err)
{
	auto_members struct bind_members members = { 0 };
	auto_names struct sysfs_names names = { 0 };
	auto_close int group_fd = -1;
	char path[DEVICE_PATH_SIZE];
	int r;

	(void)snprintf(path, sizeof(path), "kernel/iommu_groups/%d/devices", group);
	sysfs_forget_failure();
	r = sysfs_list(sysfs_fd, path, &names, err);
	if (r < 0)
		return r;
	group_fd = sysfs_open_dir(sysfs_fd, path);
	for (size_t i = 0; i < names.len && group_fd >= 0; i++) {
		if (read_member(group_fd, names.items[i], array_add(&members), err) < 0)
			return err_wrap(err, "group %d", group);
	}
	if (check_reads(err) < 0)
		return err_wrap(err, "group %d", group);
	*ret_members = members;
	members = (struct bind_members){ 0 };
	return 0;
}

void bind_members_done(struct bind_members *members)
{
	array_done(members);
}

/* vfio_dev_driver_allowed() in drivers/vfio/vfio_main.c: pci-stub and bridges are let be. */
bool bind_member_blocks(const struct bind_member *member)
{
	return member->driver[0] && !member->port && !member->vfio &&
	       strcmp(member->driver, "vfio-pci") != 0 && strcmp(member->driver, "pci-stub") != 0;
}

bool bind_driver_is_for_programs(int sysfs_fd, const char *address, const char *driver)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s/vfio-dev", address);

	/* Kernels before 6.1 have no such folder, and none of these drivers. */
	return strstr(driver, "vfio") || strstr(driver, "uio") || strcmp(driver, "pci-stub") == 0 ||
	       faccessat(sysfs_fd, path, F_OK, 0) == 0;
}

bool bind_has_node(int sysfs_fd, int dev_fd, int group, const char *address)
{
	char path[DEVICE_PATH_SIZE + BIND_NAME_SIZE];
	auto_free char *device = NULL;

	(void)snprintf(path, sizeof(path), "vfio/%d", group);
	if (faccessat(dev_fd, path, F_OK, 0) == 0)
		return true;
	/* A kernel without VFIO groups has a node for each function. */
	(void)snprintf(path, sizeof(path), "bus/pci/devices/%s/vfio-dev", address);
	device = sysfs_any_entry(sysfs_fd, path);
	if (!device)
		return false;
	(void)snprintf(path, sizeof(path), "vfio/devices/%.*s", BIND_NAME_SIZE, device);
	return faccessat(dev_fd, path, F_OK, 0) == 0;
}

/* vfio_group_fops_open() in drivers/vfio/group.c: EBUSY while the group, or the character device of
 * one of its functions, is open. */
bool bind_group_is_free(int dev_fd, int group)
{
	auto_free char *path = xasprintf("vfio/%d", group);
	auto_close int fd = openat(dev_fd, path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode);
}
