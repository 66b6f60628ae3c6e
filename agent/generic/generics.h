/*
 * generics: what the HostDeviceConfig makes of the host's device nodes, sockets and /dev/iommu:
 * resources that many pods share.
 *
 * Owns the three device types, the watch on what they need, and the sockets handed to containers.
 */
#pragma once

struct config;
struct config_troubles;
struct generics;
struct json_pairs;
struct plugins;
struct this_node;

/*
 * @touch: something changed, have generics_offer() called soon. @report: all that this node cannot
 * carry out of what it was asked for. @node and @arg are borrowed.
 */
struct generics *generics_new(const struct this_node *node, void (*touch)(void *arg),
			      void (*report)(void *arg, const struct config_troubles *troubles),
			      void *arg);
/* After the plugins. Takes NULL, returns NULL. The loop must run once more. */
struct generics *generics_free(struct generics *generics);

/* What is asked for; borrowed until the next call or the end. Nothing is offered before. */
void generics_set_config(struct generics *generics, const struct config *config);

/* The labels of the node; copied. Until they are known, entries with a nodeSelector wait. */
void generics_set_labels(struct generics *generics, const struct json_pairs *labels);

/* Make what @plugins offer what there is: a offers_type's offer(). */
void generics_offer(void *arg, struct plugins *plugins);
