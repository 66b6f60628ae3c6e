/* native_driver: is a driver the device's own, or a passthrough driver? */
#pragma once

#include <stdbool.h>

/* Does @driver (NULL: none) hold devices for others: vfio-pci, its variants by their names,
 * pci-stub? */
bool native_driver_is_passthrough(const char *driver);

/* Can the untrusted @text be the name of the native driver that a device returns to? */
bool native_driver_valid(const char *text);
