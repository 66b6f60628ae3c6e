#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/pci.h"
#include "agent/helper/report.h"
#include "agent/helper/sysfs.h"
#include "base/array.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

enum { SLOT_ADDRESS_LEN = 10 }; /* "0000:01:00", a slot without its functions */

static int by_address(const void *a, const void *b)
{
	uint64_t left = pci_address_key(((const struct pci_function *)a)->address);
	uint64_t right = pci_address_key(((const struct pci_function *)b)->address);

	return (left > right) - (left < right);
}

struct pci_function *pci_functions_find(const struct pci_functions *functions, const char *address)
{
	struct pci_function key;

	if (functions->len == 0 || strlen(address) >= sizeof(key.address))
		return NULL;
	memcpy(key.address, address, strlen(address) + 1);
	return bsearch(&key, functions->items, functions->len, sizeof(key), by_address);
}

static void read_one(struct pci_scan *scan, int bus_fd, const char *name,
		     struct pci_functions *functions)
{
	auto_close int dir_fd = -1;
	struct pci_function function;

	if (!pci_address_valid(name, strlen(name))) {
		report_problem(scan->report, name, "address", "the name is not a PCI address");
		return;
	}
	pci_function_init(&function, name);
	dir_fd = sysfs_open_dir(bus_fd, name);
	if (dir_fd >= 0 && pci_function_read(scan, bus_fd, dir_fd, &function) == 0) {
		*array_add(functions) = function;
		return;
	}
	log_debug("device vanished while it was read", log_str("device", name));
	pci_function_done(&function);
}

/* Virtual functions are counted from their side, so that the device's files stay closed. */
static void count_virtual_functions(struct pci_functions *functions)
{
	for (size_t i = 0; i < functions->len; i++) {
		const char *address = functions->items[i].physical_function;
		struct pci_function *physical =
			address[0] ? pci_functions_find(functions, address) : NULL;

		if (physical)
			physical->num_vfs++;
	}
}

static void name_slot(struct pci_functions *functions, const char *address, const char *slot)
{
	for (size_t i = 0; i < functions->len; i++) {
		struct pci_function *function = &functions->items[i];
		size_t stem = strlen(function->address) - 2;

		if (strlen(address) != stem || strncmp(function->address, address, stem) != 0)
			continue;
		free(function->slot);
		function->slot = xstrdup(slot);
	}
}

static void name_slots(int sysfs_fd, struct pci_functions *functions)
{
	auto_names struct sysfs_names slots = { 0 };
	auto_close int fd = sysfs_open_dir(sysfs_fd, "bus/pci/slots");
	struct sysfs_attr address;

	if (fd < 0 || sysfs_list(fd, ".", &slots, NULL) != 0)
		return;
	for (size_t i = 0; i < slots.len; i++) {
		auto_free char *path = xasprintf("%s/address", slots.items[i]);

		if (sysfs_read(fd, path, &address, NULL) == 0 && address.len >= SLOT_ADDRESS_LEN)
			name_slot(functions, address.text, slots.items[i]);
	}
}

void pci_scan(int sysfs_fd, struct report *report, struct pci_functions *ret_functions)
{
	auto_names struct sysfs_names names = { 0 };
	auto_close int bus_fd = sysfs_open_dir(sysfs_fd, "bus/pci/devices");
	struct pci_scan scan = { .sysfs_fd = sysfs_fd, .report = report };
	struct pci_functions functions = { 0 };
	struct err err = { 0 };

	scan.has_numa = faccessat(sysfs_fd, "devices/system/node/online", F_OK, 0) == 0;
	if (bus_fd >= 0 && sysfs_list(bus_fd, ".", &names, &err) < 0)
		report_problem(report, "", "bus/pci/devices", "%s", err.msg);
	for (size_t i = 0; i < names.len; i++)
		read_one(&scan, bus_fd, names.items[i], &functions);
	if (functions.len > 0)
		qsort(functions.items, functions.len, sizeof(functions.items[0]), by_address);
	count_virtual_functions(&functions);
	name_slots(sysfs_fd, &functions);
	*ret_functions = functions;
}

void pci_functions_done(struct pci_functions *functions)
{
	for (size_t i = 0; i < functions->len; i++)
		pci_function_done(&functions->items[i]);
	array_done(functions);
}

/* Identifiers as lspci writes them: lower case, all digits. */
static void write_hex(struct str *lines, const char *key, int number, int digits)
{
	char text[16];

	if (number < 0)
		return;
	(void)snprintf(text, sizeof(text), "%0*x", digits, (unsigned)number);
	json_write_str(lines, key, text);
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

void pci_function_write(const struct pci_function *function, struct str *lines)
{
	char group[16];

	report_open(lines, "pci");
	json_write_str(lines, "address", function->address);
	write_hex(lines, "vendor", function->vendor, 4);
	write_hex(lines, "device", function->device, 4);
	write_hex(lines, "class", function->class_id, 6);
	write_hex(lines, "revision", function->revision, 2);
	write_hex(lines, "subsystemVendor", function->subsystem_vendor, 4);
	write_hex(lines, "subsystemDevice", function->subsystem_device, 4);
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
	if (function->reset_methods)
		write_reset_methods(function->reset_methods, lines);
	if (function->boot_vga >= 0)
		json_write_bool(lines, "bootVGA", function->boot_vga == 1);
	if (function->slot)
		json_write_str(lines, "slot", function->slot);
	write_parents(function, lines);
	report_close(lines);
}
