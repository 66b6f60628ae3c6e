#include "agent/inventory/native_driver.h"

#include <stddef.h>
#include <string.h>

enum { DRIVER_MAX = 63 };

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text);
	size_t end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

bool native_driver_is_passthrough(const char *driver)
{
	return driver && (ends_in(driver, "vfio-pci") || ends_in(driver, "vfio_pci") ||
			  strcmp(driver, "pci-stub") == 0);
}

bool native_driver_valid(const char *text)
{
	static const char chars[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
	size_t len = text ? strlen(text) : 0;

	return len > 0 && len <= DRIVER_MAX && strspn(text, chars) == len &&
	       !native_driver_is_passthrough(text);
}
