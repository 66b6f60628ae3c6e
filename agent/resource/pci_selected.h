/*
 * pci_selected: PCI functions that are offered because the HostDeviceConfig selects them: bound to
 * a VFIO driver by another program, and without a claim.
 */
#pragma once

#include <stdbool.h>

struct config;
struct config_troubles;
struct pci_view;
struct pcidevice;
struct plugins;

/* The resource under which @device is offered; NULL: the config does not select it, or only for
 * DRA, it is on no VFIO driver, or it has a claim. Valid as long as the view's config. */
const char *pci_selected_resource(const struct pci_view *view, const struct pcidevice *device);

/* Does an entry of the config have DRA offer @device, once a claim has bound it? */
bool pci_selected_for_dra(const struct pci_view *view, const struct pcidevice *device);

/*
 * The resource with which DRA offers @device on demand; NULL: it does not. It has no claim, and is
 * on a VFIO driver only if we have bound it; while it is bound for a ResourceClaim, neither a
 * claim, which waits for it, nor the mode of the entry matters. Valid as long as the view's config.
 */
const char *pci_selected_on_demand(const struct pci_view *view, const struct pcidevice *device);

/* Why its IOMMU group prevents an offer; NULL: it does not. The caller frees. */
char *pci_selected_trouble(const struct pci_view *view, const struct pcidevice *device);

/* Does the function at @address, which is on @driver (NULL: on none), keep the kernel from opening
 * its IOMMU group? */
bool pci_selected_hinders(const struct pci_view *view, const char *address, const char *driver);

/* Add to @troubles the entries of @config, of PCI, USB and mediated devices, whose resource is
 * offered for devices of another kind. */
void pci_selected_collisions(const struct config *config, const struct plugins *plugins,
			     struct config_troubles *troubles);
