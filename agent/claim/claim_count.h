/* claim_count: how many claims of this node are in which state, as a metric. */
#pragma once

struct claim_count;
struct metrics;
struct pcideviceclaim;

/* @metrics may be NULL. */
struct claim_count *claim_count_new(struct metrics *metrics);
/* Takes NULL, returns NULL. */
struct claim_count *claim_count_free(struct claim_count *count);

/* The claim @name is as its conditions say; NULL: it is gone, or not of this node. */
void claim_count_set(struct claim_count *count, const char *name,
		     const struct pcideviceclaim *claim);
