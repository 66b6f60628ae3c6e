#include "agent/inventory/native_driver.h"

#include <stddef.h>
#include <string.h>

#include "base/str.h"

enum { DRIVER_MAX = 63 };

bool native_driver_is_passthrough(const char *driver)
{
	return driver && (str_ends_in(driver, "vfio-pci") || str_ends_in(driver, "vfio_pci") ||
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
