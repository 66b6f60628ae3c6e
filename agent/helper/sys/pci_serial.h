/*
 * pci_serial: the Device Serial Number of a PCI Express function (PCIe 6.0, 7.9.3).
 *
 * Read only where that has no side effect: reading config space through sysfs would wake a
 * suspended device, so the device must be awake already. While the kernel resets the device the
 * read waits, and no signal ends that.
 */
#pragma once

#include <stdbool.h>

enum { PCI_SERIAL_SIZE = 24 };

/*
 * Write the serial of the function open as @dir_fd into @ret_serial, as lspci shows it; false where
 * it has none or it is out of reach. *@config_denied is set when the kernel refuses extended config
 * space to this process, and is then believed for other functions as well.
 */
bool pci_serial_read(int dir_fd, bool *config_denied, char ret_serial[PCI_SERIAL_SIZE]);
