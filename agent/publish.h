/*
 * publish: keeps the API server's objects of this node equal to the inventory.
 *
 * Owns the inventory that it was given last. Reads the informers' stores, writes by server-side
 * apply; one key (kind and name) at a time, several keys side by side. Touches only objects that
 * carry this node's label, because its informers see no others.
 */
#pragma once

#include <stdbool.h>

#include "agent/inventory.h"

struct clock;
struct informer;
struct kube_client;
struct metrics;
struct publish;

/* Borrowed. */
struct publish_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;
	const struct informer *devices[INVENTORY_KINDS]; /* with the label of this node */
	const struct informer *claims[INVENTORY_KINDS];
};

struct publish *publish_new(const struct publish_deps *deps);
/* Takes NULL, returns NULL. */
struct publish *publish_free(struct publish *publish);

/* What the node has now. Takes @inventory. */
void publish_set(struct publish *publish, struct inventory *inventory);

/* Something was heard of @name at the API server: the object or a claim of it changed. */
void publish_touch(struct publish *publish, enum inventory_kind kind, const char *name);

/* A list of objects or claims is there: look at everything again. */
void publish_synced(struct publish *publish);

/* True when an inventory is there and every object is as it should be, as far as is known. */
bool publish_settled(const struct publish *publish);
