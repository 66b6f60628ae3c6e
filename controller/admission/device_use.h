/*
 * device_use: who uses a device, and who requests it. Pure.
 *
 * The kubelet allocates devices by resource and reports the pods. The device names in a virtual
 * machine have no effect and may be anything, so they only cause warnings.
 */
#pragma once

#include <stdbool.h>

struct known;
struct virtualmachine;

/* "pod default/launcher has it" for messages; NULL: not in use. The caller frees it. @name is
 * the name of the PCIDevice or USBDevice, and of its claim. */
char *device_use(const struct known *known, const char *name);

/* "virtual machine default/web names it", likewise. */
char *device_use_request(const struct known *known, const char *name);

/* A virtual machine other than @vm that requests the device by name; NULL: none. *@ret_excludes:
 * it may run, and it has the device or is in the namespace of @vm. Such machines are returned
 * first. */
const struct virtualmachine *device_use_rival(const struct known *known, const char *name,
					      const struct virtualmachine *vm, bool *ret_excludes);
