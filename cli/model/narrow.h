/* narrow: fewer devices in a cluster than were listed. Pure. */
#pragma once

#include <stdbool.h>

struct cluster;
struct cluster_device;

/* Keep only devices that a pod of the namespace @ns has. */
void narrow_to_namespace(struct cluster *cluster, const char *ns);

/* Drop claims whose devices were not listed: whether a selector is about these, nobody can tell. */
void narrow_to_listed(struct cluster *cluster);

/* Is one of the pods that have it in @ns? NULL: in any. */
bool narrow_has_pod(const struct cluster_device *device, const char *ns);
