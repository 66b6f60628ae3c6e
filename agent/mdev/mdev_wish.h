/* mdev_wish: which types of mediated devices this node is to have, by the config. Pure. */
#pragma once

#include <stdbool.h>

#include "api/json_values.h"

struct config;

struct mdev_wish {
	bool enabled;           /* false: nothing is created and nothing removed    */
	struct json_strs types; /* wanted, names or ids, in the user's order        */
	struct json_strs kept;  /* not wanted, but another plugin's: never removed  */
};

/*
 * Of @config, for a node with @labels; NULL for either: not known yet, then nothing is done. The types of
 * all entries whose nodeSelector takes the node, in their order, stand in for the cluster's list; where
 * they are none, that counts.
 */
void mdev_wish_make(const struct config *config, const struct json_pairs *labels,
		    struct mdev_wish *ret_wish);
void mdev_wish_done(struct mdev_wish *wish);

bool mdev_wish_equal(const struct mdev_wish *a, const struct mdev_wish *b);
