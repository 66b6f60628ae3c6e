/*
 * pci_claim_advice: warnings about the effect of a claim, from the cached objects; corresponds to
 * `hostdev-agent plan` on a node. Pure.
 */
#pragma once

struct view;
struct pcideviceclaim;
struct rule_case;

/* Warn about what keeps an accepted claim waiting; in a dry run, also which device gets which
 * driver. */
void pci_claim_advise(const struct rule_case *c, const struct pcideviceclaim *claim,
		      const struct view *device);

/* The same for an existing claim, only in a dry run. */
void pci_claim_advise_update(const struct rule_case *c, const struct pcideviceclaim *claim,
			     const struct view *device);

/* The effect of deleting the claim, only in a dry run. */
void pci_claim_advise_release(const struct rule_case *c, const struct pcideviceclaim *claim,
			      const struct view *device);
