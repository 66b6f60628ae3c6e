/*
 * config_parts: what the parts of the agent cannot carry out of a HostDeviceConfig on this node, right though
 * it is. Pure. Private to the folder.
 *
 * Each part tells all of its own again and again. What it said of the config before counts until then, but is not
 * to be told of the config of now: config_parts_ask() and config_parts_heard() are for that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct config_part;
struct config_trouble;
struct config_troubles;

/* Zero at first. */
struct config_parts {
	struct config_part *items;
	size_t len, cap;
};

/* These are all troubles of the part @name (static), copied; @news is told those that it did not have before, if
 * not NULL. True if anything is not as it was, or if it is the part's first word since config_parts_ask(). */
bool config_parts_set(struct config_parts *parts, const char *name,
		      const struct config_troubles *troubles,
		      void (*news)(void *arg, const struct config_trouble *trouble), void *arg);

/* There is another config: nothing has been heard of it. */
void config_parts_ask(struct config_parts *parts);
/* How many parts have told something of it. */
size_t config_parts_heard(const struct config_parts *parts);

/* Append all troubles of all parts, always in the same order. */
void config_parts_all(const struct config_parts *parts, struct config_troubles *troubles);

/* Release; there are none again. */
void config_parts_done(struct config_parts *parts);
