/*
 * pci_identity: what distinguishes a PCI function from others of its model
 * (base/device_identity.h), as far as sysfs shows it to everybody: the serial number of an NVMe
 * controller, the permanent address of a network card, the name of its slot, and the firmware's
 * index and label.
 *
 * Wakes no device. A virtual function is identified by its physical function.
 */
#pragma once

#include <stdbool.h>

struct str;
struct sysfs_names;

/* Append the identity of the function whose folder is open as @dir_fd. */
void pci_identity_read(int dir_fd, struct str *out);

/* Append the slot @name, one of @slots. The kernel numbers slots to which the firmware gives one
 * name ("3", "3-1") in the order in which it finds them, so such a name identifies no place. */
void pci_identity_add_slot(const struct sysfs_names *slots, const char *name, struct str *out);

/* Append all of it for the function @address. */
void pci_identity_read_at(int sysfs_fd, const char *address, struct str *out);
