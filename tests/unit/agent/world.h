/* world: the inventory of a made-up node, from the lines that the helper would print of it. */
#pragma once

#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/id_names.h"
#include "agent/inventory/inventory.h"
#include "base/err.h"
#include "unit/suite.h"

enum { WORLD_NOW = 1000000000 };

struct world {
	struct facts *facts;
	struct id_names *names;
	struct inventory *inventory;
};

static inline void world_add(struct world *world, const char *line)
{
	struct err err = { 0 };
	int r = facts_add_line(world->facts, line, strlen(line), &err);

	if (r == 0)
		r = id_names_add_line(world->names, line, strlen(line), &err);
	if (r < 0)
		fail_msg("%s: %s", line, err.msg);
}

static inline void world_open(struct world *world)
{
	*world = (struct world){ .facts = facts_new(), .names = id_names_new() };
}

static inline void world_look(struct world *world, const struct inventory_options *options)
{
	world->inventory = inventory_new(options, world->facts, world->names, WORLD_NOW);
}

/* Lines of facts and of names, NULL after the last but for @max of them. */
static inline void world_of(struct world *world, const char *const *lines, size_t max)
{
	world_open(world);
	for (size_t i = 0; i < max && lines[i]; i++)
		world_add(world, lines[i]);
	world_look(world, &(struct inventory_options){ .node_name = "node1" });
}

static inline void world_close(struct world *world)
{
	inventory_free(world->inventory);
	id_names_free(world->names);
}

SUITE_CLOSING(world, struct world, world_close);
