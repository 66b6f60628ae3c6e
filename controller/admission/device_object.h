/*
 * device_object: what may be done to PCIDevices and USBDevices: how a PCIDevice names its resource, and when they
 * may be deleted, as their claims go with them. Pure.
 */
#pragma once

#include <stdbool.h>

struct api_meta;
struct rule_case;

/* Refuse an annotation of a PCIDevice or its claim that names a resource as no kubelet takes it; not one that was on @old
 * (NULL: there was none), which the claim's condition Offered tells. */
bool resource_misnamed(const struct rule_case *c, const struct api_meta *meta,
		       const struct api_meta *old);
void pci_device_write(const struct rule_case *c);

void pci_device_delete(const struct rule_case *c);
void usb_device_delete(const struct rule_case *c);
