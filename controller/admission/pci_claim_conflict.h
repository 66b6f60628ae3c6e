/* pci_claim_conflict: refuses a claim that conflicts with other claims or enabled features.
 * Pure. */
#pragma once

#include <stdbool.h>

struct view;
struct pcideviceclaim;
struct rule_case;

/* True if refused. */
bool pci_claim_conflict(const struct rule_case *c, const struct pcideviceclaim *claim,
			const struct view *device);
