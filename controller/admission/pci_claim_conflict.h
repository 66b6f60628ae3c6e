/* pci_claim_conflict: does what others have claimed or switched on forbid this claim? Pure. */
#pragma once

#include <stdbool.h>

struct view;
struct pcideviceclaim;
struct rule_case;

/* True if it was refused. */
bool pci_claim_conflict(const struct rule_case *c, const struct pcideviceclaim *claim,
			const struct view *device);
