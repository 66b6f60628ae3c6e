/* pools: how many devices of each resource name there are. Pure. */
#pragma once

#include <stdbool.h>

struct cluster;
struct out;

/* Append the DevicePools of @cluster to out->text, as out->format says; with @nodes, a row for each
 * node. */
void pools_print(const struct cluster *cluster, bool nodes, struct out *out);
