/*
 * config_tell: bodies of status writes that report which parts of a HostDeviceConfig have no effect.
 *
 * Errors of the spec are the same on every node: the first agent that sees a new generation writes
 * them once. What only this node cannot do is in its own item of status.nodes.
 */
#pragma once

#include <jansson.h>

#include "agent/config/config.h"

struct hostdeviceconfig;

/* What is known; all borrowed. */
struct config_case {
	const struct hostdeviceconfig *object; /* as the API server has it             */
	const struct config *config;           /* of its spec                          */
	const struct config_troubles *here;    /* what this node alone cannot carry out */
	const char *node;
	int64_t now_wall_ms;
};

/* A merge patch of the status, made on exactly this state of the object; NULL: somebody has written
 * it for this generation. It empties status.nodes. */
json_t *config_tell_verdict(const struct config_case *c);

/* A server-side apply of the status by this node's field manager; NULL: nothing is to be written now.
 * Waits for the verdict of the generation, and for room in the list. */
json_t *config_tell_node(const struct config_case *c);

/* "genericDevices[2] (example.com/kvm): /dev/kvm is not there"; the caller frees. */
char *config_tell_text(const struct config_trouble *trouble);

/* All of them in one text, cut with a word of how many more there are; the caller frees. */
char *config_tell_all(const struct config_troubles *troubles);
