#include "agent/helper/scan/vf_state.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/helper/sys/devpath.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

/* The kernel accepts any name without blanks and slashes; a name that is not plain ASCII is
 * ignored. */
static bool is_plain(const char *name)
{
	for (const char *c = name; *c; c++) {
		if (*c <= ' ' || *c > '~')
			return false;
	}
	return strlen(name) < VF_INTERFACE_SIZE;
}

static void read_interface(int dir_fd, struct vf_state *seen)
{
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list(dir_fd, "net", &names, NULL) != 0)
		return;
	/* A card that is a switch has one for each virtual function too; its own comes first. */
	if (names.len > 0 && is_plain(names.items[0]))
		memcpy(seen->interface, names.items[0], strlen(names.items[0]) + 1);
}

/* Shown without a lock, in hexadecimal without "0x". */
static int read_device(int dir_fd)
{
	struct sysfs_attr attr;
	uint64_t value;

	if (sysfs_read(dir_fd, "sriov_vf_device", &attr, NULL) != 0)
		return 0;
	return str_to_hex(attr.text, &value) && value <= UINT16_MAX ? (int)value : 0;
}

void vf_state_read(int dir_fd, struct vf_state *ret_seen)
{
	struct vf_state seen = { 0 };

	for (int i = 0; i < VF_LISTED_MAX; i++) {
		char target[SYSFS_LINK_MAX + 1];
		const char *address;
		char name[16];

		(void)snprintf(name, sizeof(name), "virtfn%d", i);
		if (sysfs_link(dir_fd, name, target, NULL) != 0)
			break;
		address = str_base_name(target);
		if (!pci_address_valid(address, strlen(address)))
			break;
		*array_add(&seen.functions) = xstrdup(address);
	}
	read_interface(dir_fd, &seen);
	seen.device = read_device(dir_fd);
	*ret_seen = seen;
}

void vf_state_done(struct vf_state *seen)
{
	sysfs_names_done(&seen->functions);
	seen->interface[0] = '\0';
}
