/*
 * pci_claim_advice: what a claim would do, as warnings, as far as the objects tell: what
 * `hostdev-agent plan` says of a node. Pure.
 */
#pragma once

struct view;
struct pcideviceclaim;
struct rule_case;

/* What keeps an accepted claim waiting; in a dry run, what would be moved to which driver too. */
void pci_claim_advise(const struct rule_case *c, const struct pcideviceclaim *claim,
		      const struct view *device);

/* The same of a claim that is there, and in a dry run only. */
void pci_claim_advise_update(const struct rule_case *c, const struct pcideviceclaim *claim,
			     const struct view *device);

/* What its deletion would do, in a dry run only. */
void pci_claim_advise_release(const struct rule_case *c, const struct pcideviceclaim *claim,
			      const struct view *device);
