/* sriov_use: who stands in the way of removing the virtual functions of a card. */
#pragma once

#include <stdbool.h>

struct inventory;
struct pci_facts;
struct sriov_deps;

struct sriov_use {
	char *text;   /* "0000:03:10.0 is claimed by vm1-000003100"; NULL: nobody */
	bool unknown; /* whether a pod has one will be known in a moment          */
};

/* Claims and records of claims, pods, and the node itself. The caller releases *@ret_use. */
void sriov_use_find(const struct sriov_deps *deps, const struct inventory *inventory,
		    const struct pci_facts *pf, struct sriov_use *ret_use);
void sriov_use_done(struct sriov_use *use);

/* The claim of the function at @address; NULL: none. The caller frees. */
char *sriov_use_claim(const struct sriov_deps *deps, const struct inventory *inventory,
		      const char *address);
