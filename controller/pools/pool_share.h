/* pool_share: what a device adds to a pool, from the views of it and of its claim. Pure. */
#pragma once

#include "controller/pools/pool_book.h"
#include "controller/views/view.h"

/* Is @kind one that pools count? */
bool pool_share_counts(enum view_kind kind);
/* The kind of the claims of @kind; VIEW_KINDS: it has none. */
enum view_kind pool_share_claim_kind(enum view_kind kind);

/* The share of the device @name; @device and @claim may be NULL. What the share's resource borrows from is in
 * *@ret_text, which the caller frees. */
struct pool_share pool_share_of(enum view_kind kind, const char *name, const struct view *device,
				const struct view *claim, char **ret_text);
