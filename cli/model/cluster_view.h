/* cluster_view: makes the view of a cluster from its objects. Only for cluster.c. */
#pragma once

#include "cli/model/cluster.h"

struct map;

struct cluster_made {
	struct cluster_view view;
	struct map *by_name;    /* type and name -> device  */
	struct map *by_address; /* node and address -> device */
};

/* Fill @made, which holds nothing, from the objects of @cluster. */
void cluster_made_init(struct cluster_made *made, const struct cluster *cluster);

/* Release; it holds nothing again. */
void cluster_made_done(struct cluster_made *made);

/* NULL: there is none. */
struct cluster_device *cluster_made_named(const struct cluster_made *made, enum device_type type,
					  const char *name);
struct cluster_device *cluster_made_at(const struct cluster_made *made, const char *node,
				       const char *address);
