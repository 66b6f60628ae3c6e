/*
 * pci_selected: PCI functions that are lent because the HostDeviceConfig selects them: bound to a VFIO
 * driver by somebody else, and claimed by nobody.
 */
#pragma once

#include <stdbool.h>

struct config;
struct config_troubles;
struct pci_view;
struct pcidevice;
struct plugins;

/* The resource that @device is lent as; NULL: the config does not select it, it is on no VFIO driver,
 * or there is a claim for it. Valid as long as the view's config. */
const char *pci_selected_resource(const struct pci_view *view, const struct pcidevice *device);

/* Why it cannot be lent, as far as its IOMMU group says; NULL: it can. The caller frees. */
char *pci_selected_trouble(const struct pci_view *view, const struct pcidevice *device);

/* Does the function at @address, which is on @driver (NULL: on none), keep the kernel from opening its IOMMU group? */
bool pci_selected_hinders(const struct pci_view *view, const char *address, const char *driver);

/* Add to @troubles the entries of @config, of PCI, USB and mediated devices, whose resource is offered for devices of another kind. */
void pci_selected_collisions(const struct config *config, const struct plugins *plugins,
			     struct config_troubles *troubles);
