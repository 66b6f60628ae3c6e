#include "agent/helper/sys/pci_identity.h"

#include <string.h>
#include <unistd.h>

#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/sysfs.h"
#include "base/device_identity.h"
#include "base/mem.h"
#include "base/str.h"

enum { MAC_LEN = 17 };

static void add_attr(int dir_fd, const char *path, const char *key, struct str *out)
{
	struct sysfs_attr attr;

	if (sysfs_read(dir_fd, path, &attr, NULL) == 0)
		device_identity_add(out, key, attr.text);
}

static void add_nvme(int dir_fd, struct str *out)
{
	auto_free char *name = sysfs_any_entry(dir_fd, "nvme");
	auto_free char *path = name ? xasprintf("nvme/%s/serial", name) : NULL;

	if (path)
		add_attr(dir_fd, path, "nvme", out);
}

/* NET_ADDR_PERM of include/uapi/linux/netdevice.h: a bond or an administrator sets other types. */
static bool is_permanent(int dir_fd, const char *interface)
{
	auto_free char *path = xasprintf("net/%s/addr_assign_type", interface);
	struct sysfs_attr attr;

	return sysfs_read(dir_fd, path, &attr, NULL) == 0 && strcmp(attr.text, "0") == 0;
}

/* Of several ports of one function the lowest: names may change with every boot. */
static void add_mac(int dir_fd, struct str *out)
{
	auto_names struct sysfs_names names = { 0 };
	char lowest[MAC_LEN + 1] = "";

	if (sysfs_list(dir_fd, "net", &names, NULL) != 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *path = xasprintf("net/%s/address", names.items[i]);
		struct sysfs_attr attr;

		if (!is_permanent(dir_fd, names.items[i]) ||
		    sysfs_read(dir_fd, path, &attr, NULL) != 0 || attr.len != MAC_LEN ||
		    strcmp(attr.text, "00:00:00:00:00:00") == 0)
			continue;
		if (!lowest[0] || strcmp(attr.text, lowest) < 0)
			memcpy(lowest, attr.text, sizeof(lowest));
	}
	device_identity_add(out, "mac", lowest);
}

void pci_identity_read(int dir_fd, struct str *out)
{
	size_t before;

	add_nvme(dir_fd, out);
	add_mac(dir_fd, out);
	before = out->len;
	add_attr(dir_fd, "acpi_index", "index", out);
	if (out->len == before)
		add_attr(dir_fd, "index", "index", out);
	add_attr(dir_fd, "label", "label", out);
}

void pci_identity_add_slot(const struct sysfs_names *slots, const char *name, struct str *out)
{
	auto_free char *second = xasprintf("%s-1", name);

	if (strchr(name, '-'))
		return;
	for (size_t i = 0; i < slots->len; i++) {
		if (strcmp(slots->items[i], second) == 0)
			return;
	}
	device_identity_add(out, "slot", name);
}

/* The slot's address is "0000:01:00" for all functions of a device. */
static void add_slot(int sysfs_fd, const char *address, struct str *out)
{
	auto_names struct sysfs_names slots = { 0 };
	size_t stem = strlen(address) - 2;

	if (sysfs_list(sysfs_fd, "bus/pci/slots", &slots, NULL) != 0)
		return;
	for (size_t i = 0; i < slots.len; i++) {
		auto_free char *path = xasprintf("bus/pci/slots/%s/address", slots.items[i]);
		struct sysfs_attr attr;

		if (sysfs_read(sysfs_fd, path, &attr, NULL) == 0 && attr.len == stem &&
		    strncmp(attr.text, address, stem) == 0)
			pci_identity_add_slot(&slots, slots.items[i], out);
	}
}

void pci_identity_read_at(int sysfs_fd, const char *address, struct str *out)
{
	auto_free char *link = xasprintf("bus/pci/devices/%s/physfn", address);
	char target[SYSFS_LINK_MAX + 1] = "";
	auto_free char *path = NULL;
	auto_close int dir_fd = -1;

	if (sysfs_link(sysfs_fd, link, target, NULL) == 0) {
		address = str_base_name(target);
		if (!pci_address_valid(address, strlen(address)))
			return;
	}
	path = xasprintf("bus/pci/devices/%s", address);
	dir_fd = sysfs_open_dir(sysfs_fd, path);
	if (dir_fd < 0)
		return;
	pci_identity_read(dir_fd, out);
	add_slot(sysfs_fd, address, out);
}
