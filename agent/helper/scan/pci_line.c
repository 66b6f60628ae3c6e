#include "agent/helper/scan/pci_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/scan/pci.h"
#include "agent/helper/sys/report.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"

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

/* A bridge without the capability, or a vendor who left it out, reads as 0000:0000. */
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

void pci_line_write(const struct pci_function *function, struct str *lines)
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
