/*
 * config_watch: follows the HostDeviceConfig, hands it to the parts that carry it out, and writes back
 * what they cannot.
 *
 * Owns the informer, the config as it is now, and the writes of its status.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/config/config.h"

struct config_watch;
struct str;
struct this_node;

/* The current config: called when it is known first, then at each change. @config is valid until
 * the next call has returned, so an owner that keeps it replaces it during the call. Never before
 * config_watch_start() has returned. */
typedef void config_changed_fn(void *arg, const struct config *config);

/* @parts is how many parts report: what this node cannot carry out is written when each has said
 * something of the config of now, or has long been silent. @node and @arg are borrowed. */
struct config_watch *config_watch_new(const struct this_node *node, size_t parts,
				      config_changed_fn *changed, void *arg);
/* Takes NULL, returns NULL. Free first all that keep the config. */
struct config_watch *config_watch_free(struct config_watch *watch);

void config_watch_start(struct config_watch *watch);

/* These are all entries that the part @name ("generic", static) cannot carry out on this node, right though
 * they are. Copied; the same as before costs nothing. */
void config_watch_report(struct config_watch *watch, const char *name,
			 const struct config_troubles *troubles);

/* The config, or that there is none, is known. When not, the reason is appended to @reason (may be
 * NULL). */
bool config_watch_ready(struct config_watch *watch, struct str *reason);
