/* pci_now: what the kernel says of a function and its IOMMU group at this moment, whatever the last scan saw. */
#pragma once

struct pci_view;
struct pcidevice;

/*
 * Why @device cannot be handed out, for the caller to free; NULL: it is there, in its group and on the driver that
 * @device names, and the group's others have drivers that the kernel lets beside it. Reads links, which asks no driver.
 */
char *pci_now_trouble(const struct pci_view *view, const struct pcidevice *device);
