/*
 * claim_foreign: unclaimed devices that another program has bound to a passthrough driver.
 *
 * The agent does not change them. It reports each of them once in its life, in the log and as an
 * event.
 */
#pragma once

struct claim_foreign;
struct claim_attempts;
struct this_node;

/* Both are borrowed. */
struct claim_foreign *claim_foreign_new(const struct this_node *node,
					const struct claim_attempts *attempts);
/* Takes NULL, returns NULL. */
struct claim_foreign *claim_foreign_free(struct claim_foreign *foreign);

/* Check all devices. The inventory and the lists of claims and devices must be there. Devices that
 * hostdev moves now, or has moved since the scan began, are skipped. */
void claim_foreign_look(struct claim_foreign *foreign);

/* The PCIDevice @name is there, or has changed. */
void claim_foreign_hear(struct claim_foreign *foreign, const char *name);
