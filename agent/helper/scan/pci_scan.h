/* pci_scan: all PCI functions of the machine. */
#pragma once

#include <stddef.h>

#include "agent/helper/scan/pci.h"

struct report;

struct pci_functions {
	struct pci_function *items; /* sorted by address */
	size_t len;
	size_t cap;
};

/* Read all functions below @sysfs_fd, noting what is wrong with them in @report. No /sys/bus/pci is
 * an empty list. */
void pci_scan(int sysfs_fd, struct report *report, struct pci_functions *ret_functions);
void pci_functions_done(struct pci_functions *functions);

/* The function at @address, NULL if there is none. */
struct pci_function *pci_functions_find(const struct pci_functions *functions, const char *address);
