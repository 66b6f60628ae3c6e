/* pci_claim: rules for PCIDeviceClaims. Pure. */
#pragma once

struct rule_case;

void pci_claim_create(const struct rule_case *c);
void pci_claim_update(const struct rule_case *c);
void pci_claim_delete(const struct rule_case *c);
