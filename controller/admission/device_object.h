/* device_object: when PCIDevices and USBDevices may be deleted: their claims go with them. Pure. */
#pragma once

struct rule_case;

void pci_device_delete(const struct rule_case *c);
void usb_device_delete(const struct rule_case *c);
