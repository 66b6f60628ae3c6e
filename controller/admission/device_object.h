/*
 * device_object: rules for PCIDevices and USBDevices: the annotations of a PCIDevice, and
 * deletion, which also deletes the claims. Pure.
 */
#pragma once

#include <stdbool.h>

struct api_meta;
struct rule_case;

/* Refuse a resource annotation of a PCIDevice or its claim that the kubelet would not accept. An
 * annotation that was already on @old (NULL: none) is not refused; the claim's condition Offered
 * reports it. */
bool resource_misnamed(const struct rule_case *c, const struct api_meta *meta,
		       const struct api_meta *old);
/* Also warns about annotations that have no effect on a PCIDevice. */
void pci_device_write(const struct rule_case *c);

void pci_device_delete(const struct rule_case *c);
void usb_device_delete(const struct rule_case *c);
