/*
 * pci: what the kernel knows of every PCI function, read without waking or disturbing a device.
 *
 * Never opens `driver_override` or `sriov_numvfs` of a device: even reading them takes the device's
 * lock, which a stuck unbind holds (drivers/pci/pci-sysfs.c, drivers/pci/iov.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/helper/scan/vf_state.h"
#include "agent/helper/sys/devpath.h"

struct report;

/* Numbers are -1 and texts NULL or "" where the kernel has none or it could not be read. */
struct pci_function {
	uint64_t key; /* pci_address_key() */
	char address[PCI_ADDRESS_SIZE];
	char physical_function[PCI_ADDRESS_SIZE]; /* of a virtual function */
	char serial[24];                          /* "xx-xx-xx-xx-xx-xx-xx-xx" */
	int vendor;
	int device;
	int class_id; /* class, subclass and programming interface */
	int revision;
	int subsystem_vendor;
	int subsystem_device;
	int numa_node;
	int iommu_group;
	int total_vfs; /* >= 0: a physical function */
	int num_vfs;
	int boot_vga;
	char *driver;
	bool driver_unread;  /* whether it has one could not be read */
	char *reset_methods; /* separated by blanks; NULL: the kernel does not show them */
	char *path;          /* the device's place in the kernel's tree */
	char *slot;
	char *identity;      /* base/device_identity.h */
	struct vf_state vfs; /* of a physical function */
};

/* What a scan knows before it reads a function, and what it collects. */
struct pci_context {
	bool has_numa;      /* then every function must have `numa_node` */
	bool config_denied; /* the kernel shows extended config space to CAP_SYS_ADMIN only */
	struct report *report;
};

/* Outcome of pci_function_read(): the device was removed meanwhile. */
enum { PCI_GONE = 1 };

/* Read the function @address in the folder @bus_fd (/sys/bus/pci/devices), open as @dir_fd. 0 or
 * PCI_GONE; the caller calls pci_function_done() in either case. */
int pci_function_read(struct pci_context *context, int bus_fd, int dir_fd,
		      struct pci_function *function);
/* Find out which physical function @function is a virtual one of, if it is. */
void pci_function_read_physical(struct report *report, int bus_fd, struct pci_function *function);

void pci_function_done(struct pci_function *function);

/* Start of a function: the address, and everything else unknown. @address is valid. */
void pci_function_init(struct pci_function *function, const char *address);
