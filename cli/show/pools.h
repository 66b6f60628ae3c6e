/* pools: how many devices of each resource name there are. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cluster;
struct out;

struct pools_look {
	bool nodes;   /* a row for each node                                              */
	bool devices; /* devices and claims are in the cluster: how many are claimable is known */
	int64_t now_wall_ms;
};

/* Append the DevicePools of @cluster to out->text, as out->format says. In tables, devices of a node whose
 * Node says that it is not well are not healthy. */
void pools_print(struct cluster *cluster, const struct pools_look *look, struct out *out);
