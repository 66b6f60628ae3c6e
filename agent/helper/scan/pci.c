#include "agent/helper/scan/pci.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/scan/vf_state.h"
#include "agent/helper/sys/pci_identity.h"
#include "agent/helper/sys/pci_serial.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/sys/uevent_file.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "base/utf8.h"

enum {
	CLASS_BRIDGE = 0x06,
	CLASS_VGA = 0x0300,
	CLASS_VGA_OLD = 0x0001,
	NUMA_NODE_MAX = 4095,
	VFS_MAX = 65535,
};

/* One function while it is read. */
struct reading {
	struct pci_context *context;
	int dir_fd;
	struct pci_function *function;
	bool missing; /* something was absent that every function has */
	struct sysfs_attr attr;
};

#define problem(reading, attribute, ...)                                                    \
	report_problem((reading)->context->report, (reading)->function->address, attribute, \
		       __VA_ARGS__)

/* Read @name into reading->attr; an attribute that @must be there is a problem when it is not. */
static bool read_attr(struct reading *reading, const char *name, bool must)
{
	struct err err = { 0 };
	int r = sysfs_read(reading->dir_fd, name, &reading->attr, &err);

	if (r < 0)
		problem(reading, name, "%s", err.msg);
	if (r == SYSFS_ABSENT && must) {
		reading->missing = true;
		problem(reading, name, "missing");
	}
	return r == 0;
}

/* - means that it is not a number from 0 to @max. */
static int read_number(struct reading *reading, const char *name, int max, bool must)
{
	int64_t number;

	if (!read_attr(reading, name, must))
		return -1;
	if (str_to_i64(reading->attr.text, &number) && number >= -1 && number <= max)
		return (int)number;
	problem(reading, name, "'%.32s' is not a number up to %d", reading->attr.text, max);
	return -1;
}

static void read_hex(struct reading *reading, const char *name, unsigned max, int *ret_number)
{
	uint64_t number;

	if (!read_attr(reading, name, true))
		return;
	if (str_to_hex(reading->attr.text, &number) && number <= max)
		*ret_number = (int)number;
	else
		problem(reading, name, "'%.32s' is not a hexadecimal number up to %x",
			reading->attr.text, max);
}

static char *driver_name(struct reading *reading, const char *name, size_t len)
{
	if (!utf8_valid(name, len))
		problem(reading, "driver", "the driver's name is not UTF-8");
	return xstrndup(name, len);
}

/* clang-format off */
static const struct {
	const char *key;
	struct uevent_numbers form;
	size_t offset;
} uevent_rows[] = {
	{ "PCI_CLASS",     { 16, 0,   1, 0xffffff }, offsetof(struct pci_function, class_id) },
	{ "PCI_ID",        { 16, ':', 2, 0xffff },   offsetof(struct pci_function, vendor) },
	{ "PCI_SUBSYS_ID", { 16, ':', 2, 0xffff },
	  offsetof(struct pci_function, subsystem_vendor) },
};

/* Replaces the uevent's lines when they cannot be used. */
static const struct {
	const char *attr;
	unsigned max;
	size_t offset;
} attr_rows[] = {
	{ "vendor",           0xffff,   offsetof(struct pci_function, vendor) },
	{ "device",           0xffff,   offsetof(struct pci_function, device) },
	{ "class",            0xffffff, offsetof(struct pci_function, class_id) },
	{ "subsystem_vendor", 0xffff,   offsetof(struct pci_function, subsystem_vendor) },
	{ "subsystem_device", 0xffff,   offsetof(struct pci_function, subsystem_device) },
};
/* clang-format on */

/* Pairs of numbers are read into two members at once. */
_Static_assert(offsetof(struct pci_function, device) ==
		       offsetof(struct pci_function, vendor) + sizeof(int),
	       "vendor and device stand together");
_Static_assert(offsetof(struct pci_function, subsystem_device) ==
		       offsetof(struct pci_function, subsystem_vendor) + sizeof(int),
	       "subsystem_vendor and subsystem_device stand together");

static int *number_at(struct pci_function *function, size_t offset)
{
	return (int *)(void *)((char *)function + offset);
}

static void take_uevent_field(struct reading *reading, const struct uevent_field *field)
{
	if (uevent_is(field, "DRIVER")) {
		free(reading->function->driver);
		reading->function->driver = driver_name(reading, field->value, field->value_len);
	}
	for (size_t i = 0; i < ARRAY_LEN(uevent_rows); i++) {
		if (!uevent_is(field, uevent_rows[i].key))
			continue;
		if (!uevent_numbers(field, &uevent_rows[i].form,
				    number_at(reading->function, uevent_rows[i].offset)))
			problem(reading, "uevent", "'%s=%.*s' is not what it should be",
				uevent_rows[i].key,
				(int)(field->value_len < 32 ? field->value_len : 32), field->value);
	}
}

static void read_driver_link(struct reading *reading)
{
	char target[SYSFS_LINK_MAX + 1];
	const char *name;
	struct err err = { 0 };
	int r = sysfs_link(reading->dir_fd, "driver", target, &err);

	if (r < 0)
		problem(reading, "driver", "%s", err.msg);
	reading->function->driver_unread = r < 0;
	if (r != 0)
		return;
	name = str_base_name(target);
	reading->function->driver = driver_name(reading, name, strlen(name));
}

/* While an unbind waits for the device's users, the link is gone, but the uevent still names the
 * driver. */
static void drop_driver_that_lets_go(struct reading *reading)
{
	char target[SYSFS_LINK_MAX + 1];

	if (sysfs_link(reading->dir_fd, "driver", target, NULL) == SYSFS_ABSENT)
		free(take_ptr(reading->function->driver));
}

static void read_identity(struct reading *reading)
{
	struct pci_function *function = reading->function;
	struct uevent_cursor cursor;
	struct uevent_field field;

	if (read_attr(reading, "uevent", true)) {
		if (reading->attr.len == 0)
			problem(reading, "uevent", "empty");
		cursor = (struct uevent_cursor){ reading->attr.text,
						 reading->attr.text + reading->attr.len };
		while (uevent_next(&cursor, &field))
			take_uevent_field(reading, &field);
	}
	if (function->driver)
		drop_driver_that_lets_go(reading);
	else if (function->vendor < 0)
		read_driver_link(reading);
	for (size_t i = 0; i < ARRAY_LEN(attr_rows); i++) {
		int *number = number_at(function, attr_rows[i].offset);

		if (*number < 0)
			read_hex(reading, attr_rows[i].attr, attr_rows[i].max, number);
	}
	read_hex(reading, "revision", 0xff, &function->revision);
}

static void read_iommu_group(struct reading *reading)
{
	char target[SYSFS_LINK_MAX + 1];
	const char *name;
	uint64_t group;
	struct err err = { 0 };
	int r = sysfs_link(reading->dir_fd, "iommu_group", target, &err);

	if (r < 0)
		problem(reading, "iommu_group", "%s", err.msg);
	if (r != 0)
		return;
	name = str_base_name(target);
	if (str_to_u64(name, &group) && group <= INT32_MAX)
		reading->function->iommu_group = (int)group;
	else
		problem(reading, "iommu_group", "'%.32s' is not a group's number", name);
}

void pci_function_read_physical(struct report *report, int bus_fd, struct pci_function *function)
{
	char path[PCI_ADDRESS_SIZE + sizeof("/physfn")];
	char target[SYSFS_LINK_MAX + 1];
	struct err err = { 0 };
	const char *name;
	int r;

	(void)snprintf(path, sizeof(path), "%s/physfn", function->address);
	r = sysfs_link(bus_fd, path, target, &err);
	if (r < 0)
		report_problem(report, function->address, "physfn", "%s", err.msg);
	if (r != 0)
		return;
	name = str_base_name(target);
	if (pci_address_valid(name, strlen(name)))
		memcpy(function->physical_function, name, strlen(name) + 1);
	else
		report_problem(report, function->address, "physfn", "'%.32s' is not a PCI address",
			       name);
}

static bool is_first_function(const struct pci_function *function)
{
	return function->address[strlen(function->address) - 1] == '0';
}

static void read_model_identity(struct reading *reading)
{
	auto_str struct str identity = STR_INIT;

	pci_identity_read(reading->dir_fd, &identity);
	if (identity.len > 0)
		reading->function->identity = str_detach(&identity);
}

/*
 * During a reset the kernel blocks reads of the config space (pci_cfg_access_lock() in
 * drivers/pci/access.c), for up to a minute if the device does not come back, and no signal ends
 * the wait. A program that has the device through VFIO may reset it at any time, and one scan
 * covers all devices of the node. So the scan does not read devices on VFIO; the record of a
 * claimed device has its serial number. A helper that binds or releases reads them: only its own
 * group waits for that.
 */
static bool may_be_reset(const struct reading *reading)
{
	const struct pci_function *function = reading->function;

	return function->driver_unread ||
	       (function->driver && (strstr(function->driver, "vfio") ||
				     faccessat(reading->dir_fd, "vfio-dev", F_OK, 0) == 0));
}

static void read_details(struct reading *reading)
{
	struct pci_function *function = reading->function;
	bool bridge = function->class_id >> 16 == CLASS_BRIDGE;
	int base = function->class_id >> 8;

	/* Shown without a lock, and for physical functions only. */
	if (!bridge)
		function->total_vfs = read_number(reading, "sriov_totalvfs", VFS_MAX, false);
	if (function->total_vfs > 0)
		vf_state_read(reading->dir_fd, &function->vfs);
	function->numa_node =
		read_number(reading, "numa_node", NUMA_NODE_MAX, reading->context->has_numa);
	/* Empty means that there is no way to reset it. */
	if (!bridge && read_attr(reading, "reset_method", false))
		function->reset_methods = xstrndup(reading->attr.text, reading->attr.len);
	if (base == CLASS_VGA || base == CLASS_VGA_OLD)
		function->boot_vga = read_number(reading, "boot_vga", 1, false);
	/* Other functions of a device may only repeat function 0's serial (PCIe 6.0, 7.9.3), so
	 * read it there. */
	if (!bridge && is_first_function(function) && !may_be_reset(reading))
		(void)pci_serial_read(reading->dir_fd, &reading->context->config_denied,
				      function->serial);
	if (!bridge)
		read_model_identity(reading);
}

void pci_function_init(struct pci_function *function, const char *address)
{
	*function = (struct pci_function){
		.key = pci_address_key(address),
		.vendor = -1,
		.device = -1,
		.class_id = -1,
		.revision = -1,
		.subsystem_vendor = -1,
		.subsystem_device = -1,
		.numa_node = -1,
		.iommu_group = -1,
		.total_vfs = -1,
		.boot_vga = -1,
	};
	memcpy(function->address, address, strlen(address) + 1);
}

int pci_function_read(struct pci_context *context, int bus_fd, int dir_fd,
		      struct pci_function *function)
{
	struct reading reading = { .context = context, .dir_fd = dir_fd, .function = function };
	size_t mark = context->report->problems.len;
	char target[SYSFS_LINK_MAX + 1];

	if (sysfs_link(bus_fd, function->address, target, NULL) == 0)
		function->path = xstrdup(target);
	read_identity(&reading);
	read_iommu_group(&reading);
	read_details(&reading);

	/* The kernel removes attributes first and the link on the bus after them. */
	if (!reading.missing || faccessat(bus_fd, function->address, F_OK, 0) == 0 ||
	    errno != ENOENT)
		return 0;
	report_rewind(context->report, mark);
	return PCI_GONE;
}

void pci_function_done(struct pci_function *function)
{
	free(function->driver);
	free(function->reset_methods);
	free(function->path);
	free(function->slot);
	free(function->identity);
	vf_state_done(&function->vfs);
}
