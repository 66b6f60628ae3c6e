/*
 * pci_identity: what tells a PCI function from others of its model (base/device_identity.h), of
 * what sysfs shows to everybody: the serial number of an NVMe controller, the permanent address of
 * a network card, the name of its slot, and the firmware's index and label.
 *
 * Wakes no device. A virtual function is known by its physical one.
 */
#pragma once

#include <stdbool.h>

struct str;
struct sysfs_names;

/* Append what the folder of the function tells, open as @dir_fd. */
void pci_identity_read(int dir_fd, struct str *out);

/* Append the slot @name, one of @slots. The kernel numbers those that the firmware calls the same
 * ("3", "3-1"), in the order in which it finds them: such a name stands for no place. */
void pci_identity_add_slot(const struct sysfs_names *slots, const char *name, struct str *out);

/* Append all of it for the function @address. */
void pci_identity_read_at(int sysfs_fd, const char *address, struct str *out);
