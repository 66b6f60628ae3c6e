/* narrow: removes devices from a cluster. Pure. */
#pragma once

#include <stdbool.h>

struct cluster;
struct cluster_device;

/* Keep only devices that a pod of the namespace @ns has. */
void narrow_to_namespace(struct cluster *cluster, const char *ns);

/* Drop claims whose devices were not listed, because it is unknown whether the selector matches
 * these devices. */
void narrow_to_listed(struct cluster *cluster);

/* Does a pod or a ResourceClaim of the namespace @ns have it? NULL: of any namespace. */
bool narrow_has_pod(const struct cluster_device *device, const char *ns);
