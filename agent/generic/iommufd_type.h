/*
 * iommufd_type: /dev/iommu, offered to pods through the kubelet, with a descriptor of it that the
 * agent opened for them.
 *
 * A container gets the node, and the socket of one handover at IOMMUFD_SOCKET, however many units
 * it asks for. Healthy while the node is there and could be opened.
 */
#pragma once

#define IOMMUFD_SOCKET "/var/run/kubevirt/iommufd.sock" /* where KubeVirt's launcher looks */

struct config;
struct config_troubles;
struct device_type;
struct handovers;
struct iommufd_type;
struct json_strs;
struct plugins;
struct pre_open;

/* Borrowed; @dev_root NULL: /dev. */
struct iommufd_type *iommufd_type_new(const char *dev_root, struct pre_open *opens,
				      struct handovers *handovers);
/* Takes NULL, returns NULL. */
struct iommufd_type *iommufd_type_free(struct iommufd_type *type);

/* As those of generic_type. */
void iommufd_type_set(struct iommufd_type *type, const struct config *config);
void iommufd_type_paths(const struct iommufd_type *type, struct json_strs *paths);
void iommufd_type_offer(struct iommufd_type *type, struct plugins *plugins,
			struct config_troubles *troubles);

/* Its `arg` is the struct iommufd_type. */
extern const struct device_type iommufd_device_type;
