#include "agent/helper/sys/devpath.h"

#include <ctype.h>
#include <string.h>

#include "agent/helper/sys/sysfs.h"
#include "base/ascii.h"

/* Does @text have the form of @pattern, where 'x' stands for a hexadecimal digit? */
static bool has_form(const char *text, const char *pattern)
{
	for (; *pattern; pattern++, text++) {
		if (*pattern == 'x' ? !ascii_is_lower_hex(*text) : *text != *pattern)
			return false;
	}
	return true;
}

bool pci_address_valid(const char *name, size_t len)
{
	static const char tail[] = ":xx:xx.x";
	size_t domain = len - (sizeof(tail) - 1);

	if (len < 12 || len >= PCI_ADDRESS_SIZE)
		return false;
	for (size_t i = 0; i < domain; i++) {
		if (!ascii_is_lower_hex(name[i]))
			return false;
	}
	return has_form(name + domain, tail) && name[len - 1] <= '7';
}

uint64_t pci_address_key(const char *address)
{
	uint64_t key = 0;

	for (; *address; address++) {
		if (ascii_is_lower_hex(*address))
			key = key << 4 | (uint64_t)ascii_hex_value(*address);
	}
	return key;
}

bool usb_name_valid(const char *name, size_t len)
{
	bool dash = false;

	if (len == 0 || len >= USB_NAME_SIZE || !isdigit((unsigned char)name[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++) {
		bool separator = name[i] == (dash ? '.' : '-');

		if (separator && (i == 0 || !isdigit((unsigned char)name[i - 1])))
			return false;
		if (!separator && !isdigit((unsigned char)name[i]))
			return false;
		dash = dash || separator;
	}
	return dash;
}

bool devpath_next(const char **path, const char **ret_part, size_t *ret_len)
{
	const char *part = *path + strspn(*path, "/");
	size_t len = strcspn(part, "/");

	if (len == 0)
		return false;
	*path = part + len;
	*ret_part = part;
	*ret_len = len;
	return true;
}

static bool is_root_hub(const char *name, size_t len)
{
	return len > 3 && memcmp(name, "usb", 3) == 0 && isdigit((unsigned char)name[3]);
}

void devpath_parse(const char *path, struct devpath *ret_devpath)
{
	struct devpath found = { "", "" };
	bool on_usb = false; /* "1-50" elsewhere is an I2C device */
	const char *part;
	size_t len;

	while (devpath_next(&path, &part, &len)) {
		on_usb = on_usb || is_root_hub(part, len);
		if (pci_address_valid(part, len)) {
			memcpy(found.pci, part, len);
			found.pci[len] = '\0';
		} else if (on_usb && usb_name_valid(part, len)) {
			memcpy(found.usb, part, len);
			found.usb[len] = '\0';
		}
	}
	*ret_devpath = found;
}

bool devpath_found(const struct devpath *devpath)
{
	return devpath->pci[0] || devpath->usb[0];
}

bool devpath_of_link(int dir_fd, const char *path, struct devpath *ret_devpath)
{
	char target[SYSFS_LINK_MAX + 1];
	struct devpath found;

	if (sysfs_link(dir_fd, path, target, NULL) != 0)
		return false;
	devpath_parse(target, &found);
	if (!devpath_found(&found))
		return false;
	*ret_devpath = found;
	return true;
}
