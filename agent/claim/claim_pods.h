/* claim_pods: does a pod stand in the way of a release, or of taking a USB controller? */
#pragma once

struct claims_deps;
struct inventory;
struct json_pairs;

/* A function of the IOMMU group of @address (NULL: none) that a pod was given, and which pod in
 * *@ret_holder, NULL if that is not known yet; NULL: no pod has any. The caller frees both. */
char *claim_pods_find(const struct claims_deps *deps, const struct inventory *inventory,
		      const char *address, char **ret_holder);

/* For each USB controller in the IOMMU group of @address (NULL: none) that pods have devices of, the first of
 * these: "pod default/vm has that in socket 1-2: ..." by the controller's address. The caller releases. */
void claim_pods_usb(const struct claims_deps *deps, const struct inventory *inventory,
		    const char *address, struct json_pairs *ret_pods);
