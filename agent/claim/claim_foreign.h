/*
 * claim_foreign: unclaimed devices that another program has bound to a passthrough driver.
 *
 * The agent does not change them. It reports each of them once in its life, in the log and as an event.
 */
#pragma once

struct claim_foreign;
struct this_node;

/* @node is borrowed. */
struct claim_foreign *claim_foreign_new(const struct this_node *node);
/* Takes NULL, returns NULL. */
struct claim_foreign *claim_foreign_free(struct claim_foreign *foreign);

/* Look at all devices. The inventory and the lists of claims and devices must be there. */
void claim_foreign_look(struct claim_foreign *foreign);

/* The PCIDevice @name is there, or has changed. */
void claim_foreign_hear(struct claim_foreign *foreign, const char *name);
