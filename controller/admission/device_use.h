/*
 * device_use: who has a device, and who would like to? Pure.
 *
 * The kubelet gives devices by their resource, and says who has them. What a virtual machine names decides
 * nothing, and anybody may write it: it is worth a warning.
 */
#pragma once

#include <stdbool.h>

struct known;
struct virtualmachine;

/* "pod default/launcher has it", for people; NULL: nobody. The caller frees. @name is that of the PCIDevice
 * or USBDevice, and of its claim. */
char *device_use(const struct known *known, const char *name);

/* "virtual machine default/web names it", likewise. */
char *device_use_wish(const struct known *known, const char *name);

/* A virtual machine other than @vm that asks for the device by its name; NULL: none. *@ret_excludes: it may
 * run, and it has the device, or is in the namespace of @vm. Such a one is found before others. */
const struct virtualmachine *device_use_rival(const struct known *known, const char *name,
					      const struct virtualmachine *vm, bool *ret_excludes);
