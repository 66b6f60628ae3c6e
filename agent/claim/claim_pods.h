/* claim_pods: does a pod stand in the way of a release? */
#pragma once

struct claims_deps;
struct inventory;

/* A function of the IOMMU group of @address (NULL: none) that a pod was given, and which pod in
 * *@ret_holder, NULL if that is not known yet; NULL: no pod has any. The caller frees both. */
char *claim_pods_find(const struct claims_deps *deps, const struct inventory *inventory,
		      const char *address, char **ret_holder);
