/* device_use: who has a device, or is to have it? Pure. */
#pragma once

struct known;
struct virtualmachine;

/* "pod default/launcher has it" or "virtual machine default/web names it", for people; NULL: nobody. The
 * caller frees. @name is that of the PCIDevice or USBDevice, and of its claim. */
char *device_use(const struct known *known, const char *name);

/* A virtual machine other than @except (NULL: any) that asks for the device by its name: one that may run
 * before one that is halted; NULL: none. */
const struct virtualmachine *device_use_vm(const struct known *known, const char *name,
					   const struct virtualmachine *except);
