/*
 * config_watch: follows the HostDeviceConfig, hands it to the parts that carry it out, and writes
 * back what they cannot.
 *
 * Owns the informer, the config as it is now, and the writes of its status.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/config/config.h"

struct hostdeviceconfig;
struct config_watch;
struct str;
struct this_node;

/* What is known; all borrowed. */
struct config_case {
	const struct hostdeviceconfig *object; /* as the API server has it             */
	const struct config *config;           /* of its spec                          */
	const struct config_troubles *here;    /* what this node alone cannot carry out */
	const char *node;
	int64_t now_wall_ms;
};

/* The current config: called when it is known first, then at each change. @config is valid until
 * the next call has returned, so an owner that keeps it replaces it during the call. Never before
 * config_watch_start() has returned. */
typedef void config_changed_fn(void *arg, const struct config *config);

/* @parts is the number of parts that report. The entries that this node cannot carry out are
 * written when each part has reported on the current config, or after a timeout. @node and @arg are
 * borrowed. */
struct config_watch *config_watch_new(const struct this_node *node, size_t parts,
				      config_changed_fn *changed, void *arg);
/* Takes NULL, returns NULL. Free first all that keep the config. */
struct config_watch *config_watch_free(struct config_watch *watch);

void config_watch_start(struct config_watch *watch);

/* These are all entries that the part @name ("generic", static) cannot carry out on this node,
 * right though they are. Copied; the same as before costs nothing. */
void config_watch_report(struct config_watch *watch, const char *name,
			 const struct config_troubles *troubles);

/* The config, or that there is none, is known. When not, the reason is appended to @reason (may be
 * NULL). */
bool config_watch_ready(struct config_watch *watch, struct str *reason);

/* A merge patch of the status for exactly this version of the object; NULL: another agent has
 * written it for this generation. It empties status.nodes. */
json_t *config_verdict_body(const struct config_case *c);

/* A server-side apply of the status by this node's field manager; NULL: nothing is to be written
 * now. Waits for the verdict of the generation, and for room in the list. */
json_t *config_node_body(const struct config_case *c);
