/* pools: the number of devices of each resource name. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cluster;
struct out;

struct pools_look {
	bool nodes;   /* a row for each node                                              */
	bool devices; /* the cluster has devices and claims, so claimable ones can be counted */
	int64_t now_wall_ms;
};

/* Append the DevicePools of @cluster to out->text, as out->format says. In tables, devices of a
 * node with a problem do not count as healthy. */
void pools_print(struct cluster *cluster, const struct pools_look *look, struct out *out);
