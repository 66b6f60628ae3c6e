#include "agent/helper/scan/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/record/record.h"
#include "agent/helper/scan/mdev_scan.h"
#include "agent/helper/scan/pci.h"
#include "agent/helper/scan/pci_scan.h"
#include "agent/helper/scan/usb.h"
#include "agent/helper/scan/use_scan.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"

enum { IRQS_TRIED = 64 };

/* A group made by VFIO's no-IOMMU mode carries this name and isolates nothing. */
static bool has_iommu(int sysfs_fd)
{
	/* Nearly always there is a group 0, and the long list of them need not be read. */
	bool first = faccessat(sysfs_fd, "kernel/iommu_groups/0", F_OK, 0) == 0;
	auto_free char *group =
		first ? xstrdup("0") : sysfs_any_entry(sysfs_fd, "kernel/iommu_groups");
	auto_free char *path = NULL;
	struct sysfs_attr name;

	if (!group)
		return false;
	path = xasprintf("kernel/iommu_groups/%s/name", group);
	return sysfs_read(sysfs_fd, path, &name, NULL) != 0 ||
	       strcmp(name.text, "vfio-noiommu") != 0;
}

static int count_numa_nodes(int sysfs_fd)
{
	auto_names struct sysfs_names names = { 0 };
	int nodes = 0;

	if (sysfs_list(sysfs_fd, "devices/system/node", &names, NULL) != 0)
		return 1;
	for (size_t i = 0; i < names.len; i++) {
		const char *name = names.items[i];

		nodes += strncmp(name, "node", 4) == 0 && name[4] >= '0' && name[4] <= '9';
	}
	return nodes > 0 ? nodes : 1;
}

/*
 * Only on x86 the kernel shows it, in the names of interrupt chips: "IR-PCI-MSI" and "IR-IO-APIC"
 * with remapping, "PCI-MSI" and "IO-APIC" without. On other machines the fact is omitted.
 */
static void write_interrupt_remapping(int sysfs_fd, struct str *lines)
{
	auto_close int fd = sysfs_open_dir(sysfs_fd, "kernel/irq");
	struct sysfs_attr chip;
	bool known = false;
	bool remapped = false;

	for (int i = 0; fd >= 0 && i < IRQS_TRIED && !remapped; i++) {
		auto_free char *path = xasprintf("%d/chip_name", i);

		if (sysfs_read(fd, path, &chip, NULL) != 0)
			continue;
		known = known || strstr(chip.text, "IO-APIC") || strstr(chip.text, "PCI-MSI");
		remapped = strncmp(chip.text, "IR-", 3) == 0;
	}
	if (known)
		json_write_bool(lines, "interruptRemapping", remapped);
}

static void host_scan(int sysfs_fd, struct report *report)
{
	report_open(&report->lines, "host");
	json_write_bool(&report->lines, "iommu", has_iommu(sysfs_fd));
	json_write_int(&report->lines, "numaNodes", count_numa_nodes(sysfs_fd));
	write_interrupt_remapping(sysfs_fd, &report->lines);
	report_close(&report->lines);
}

/* Identifiers as lspci writes them: lower case, all digits. */
static void write_hex(struct str *lines, const char *key, int number, int digits)
{
	char text[8] = "";

	if (number < 0)
		return;
	for (int i = digits; i-- > 0; number >>= 4)
		text[i] = "0123456789abcdef"[number & 0xf];
	json_write_str(lines, key, text);
}

/* A bridge without the capability, or without a vendor in it, reads as 0000:0000. */
static void write_subsystem(const struct pci_function *function, struct str *lines)
{
	if (function->subsystem_vendor == 0)
		return;
	write_hex(lines, "subsystemVendor", function->subsystem_vendor, 4);
	write_hex(lines, "subsystemDevice", function->subsystem_device, 4);
}

static void write_role(const struct pci_function *function, struct str *lines)
{
	if (function->physical_function[0]) {
		json_write_str(lines, "role", "VirtualFunction");
		json_write_str(lines, "physicalFunction", function->physical_function);
		return;
	}
	json_write_str(lines, "role", function->total_vfs >= 0 ? "PhysicalFunction" : "Function");
	if (function->total_vfs < 0)
		return;
	json_write_int(lines, "totalVFs", function->total_vfs);
	json_write_int(lines, "numVFs", function->num_vfs);
	if (function->vfs.device > 0)
		write_hex(lines, "vfDevice", function->vfs.device, 4);
	if (function->vfs.interface[0])
		json_write_str(lines, "interface", function->vfs.interface);
	if (function->vfs.functions.len == 0)
		return;
	json_write_open(lines, "virtualFunctions", '[');
	for (size_t i = 0; i < function->vfs.functions.len; i++)
		json_write_str(lines, NULL, function->vfs.functions.items[i]);
	json_write_close(lines, ']');
}

static void write_reset_methods(const char *methods, struct str *lines)
{
	json_write_open(lines, "resetMethods", '[');
	while (*(methods += strspn(methods, " \n"))) {
		size_t len = strcspn(methods, " \n");
		auto_free char *method = xstrndup(methods, len);

		json_write_str(lines, NULL, method);
		methods += len;
	}
	json_write_close(lines, ']');
}

/* Every function above this one, outermost first. */
static void write_parents(const struct pci_function *function, struct str *lines)
{
	const char *path = function->path ? function->path : "";
	const char *part;
	size_t len;

	json_write_open(lines, "parents", '[');
	while (devpath_next(&path, &part, &len)) {
		char address[PCI_ADDRESS_SIZE];

		if (!pci_address_valid(part, len))
			continue;
		memcpy(address, part, len);
		address[len] = '\0';
		if (strcmp(address, function->address) != 0)
			json_write_str(lines, NULL, address);
	}
	json_write_close(lines, ']');
}

/* Append the line of @function to @lines. */
static void pci_line_write(const struct pci_function *function, struct str *lines)
{
	char group[16];

	report_open(lines, "pci");
	json_write_str(lines, "address", function->address);
	write_hex(lines, "vendor", function->vendor, 4);
	write_hex(lines, "device", function->device, 4);
	write_hex(lines, "class", function->class_id, 6);
	write_hex(lines, "revision", function->revision, 2);
	write_subsystem(function, lines);
	if (function->driver && function->driver[0])
		json_write_str(lines, "driver", function->driver);
	if (function->iommu_group >= 0) {
		(void)snprintf(group, sizeof(group), "%d", function->iommu_group);
		json_write_str(lines, "iommuGroup", group);
	}
	if (function->numa_node >= 0)
		json_write_int(lines, "numaNode", function->numa_node);
	write_role(function, lines);
	if (function->serial[0])
		json_write_str(lines, "serial", function->serial);
	if (function->identity)
		json_write_str(lines, "identity", function->identity);
	if (function->reset_methods)
		write_reset_methods(function->reset_methods, lines);
	if (function->boot_vga >= 0)
		json_write_bool(lines, "bootVGA", function->boot_vga == 1);
	if (function->slot)
		json_write_str(lines, "slot", function->slot);
	write_parents(function, lines);
	report_close(lines);
}

/* Every kernel's tree has these. Without them an empty list of devices would pass for the
 * machine's. */
static void check_tree(int sysfs_fd, struct report *report)
{
	static const char *const folders[] = { "bus", "class" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		struct err err = { 0 };

		if (faccessat(sysfs_fd, folders[i], F_OK, 0) == 0)
			continue;
		(void)err_set(&err, ERR_RETRY, -errno,
			      "the sysfs tree has no folder '%s' (%s): mount the node's /sys, or "
			      "correct --sysfs-root",
			      folders[i], strerror(errno));
		report_fail(report, &err);
		return;
	}
}

void scan_run(const struct scan_options *options, struct report *report)
{
	struct pci_functions functions = { 0 };
	struct err err = { 0 };
	size_t usb_len;

	check_tree(options->sysfs_fd, report);
	host_scan(options->sysfs_fd, report);
	pci_scan(options->sysfs_fd, report, &functions);
	for (size_t i = 0; i < functions.len; i++)
		pci_line_write(&functions.items[i], &report->lines);
	usb_len = usb_scan(options->sysfs_fd, report);
	mdev_scan(options->sysfs_fd, options->proc_fd, options->state_fd, report);
	use_scan(options, &functions, report);
	if (options->state_fd >= 0) {
		records_write_lines(&device_records, options->state_fd, options->proc_fd, report);
		records_write_lines(&autoprobe_records, options->state_fd, options->proc_fd,
				    report);
	}

	if (sysfs_shortage() < 0)
		(void)err_set(&err, ERR_RETRY, sysfs_shortage(), "the scan is not complete: %s",
			      strerror(-sysfs_shortage()));
	if (err.code < 0)
		report_fail(report, &err);
	str_add_mem(&report->lines, str_cstr(&report->problems), report->problems.len);
	str_clear(&report->problems);
	report_open(&report->lines, "end");
	json_write_int(&report->lines, "pci", (int64_t)functions.len);
	json_write_int(&report->lines, "usb", (int64_t)usb_len);
	report_close(&report->lines);
	pci_functions_done(&functions);
}
