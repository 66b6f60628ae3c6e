/* pools: the number of devices of each resource name. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster;
struct out;
struct str;

enum { POOLS_FAULTS_MAX = 3 };

struct pools_look {
	bool nodes;   /* a row for each node                                              */
	bool devices; /* the cluster has devices and claims, so claimable ones can be counted */
	int64_t now_wall_ms;
	bool all; /* also rows in which nothing is claimable, claimed, available or allocated */
	bool selected; /* the cluster has only some of the DevicePools */
};

/* Returns how many rows are left out. Append the DevicePools of @cluster to out->text, as
 * out->format says. In tables, devices of a node with a problem do not count as healthy, and USB
 * devices without a claim, which no pool counts, are counted from the devices. */
size_t pools_print(struct cluster *cluster, const struct pools_look *look, struct out *out);

/* Append "vm1 (NotReady for 60m: KubeletNotReady), vm2 (gone)": the nodes whose devices are not
 * counted because the node has a problem; at most POOLS_FAULTS_MAX, then how many more. Appends
 * nothing if there are none. Pure. */
void pools_faults(struct cluster *cluster, int64_t now_wall_ms, struct str *to);
