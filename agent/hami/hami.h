/*
 * hami: the node side of HAMi, in place of HAMi's device plugin: divides NVIDIA's GPUs (agent/nvidia)
 * among containers as HAMi's scheduler decides, in MiB and percent.
 *
 * It tells the scheduler of the GPUs (hami_node.h), offers the kubelet units of them
 * (hami_units.h), and gives a container what the scheduler has chosen (hami_serve.h) together with
 * HAMi-core (hami_hook.h). That library limits programs that let it: it isolates nothing from one
 * that does not.
 */
#pragma once

#include <stdbool.h>

#include "agent/hami/hami_register.h"

struct hami;
struct nvidia;
struct plugins;
struct this_node;

enum { HAMI_LOOK_MS = 5000 }; /* at the configuration and HAMi-core */

/* The texts are borrowed. */
struct hami_options {
	bool on;
	enum hami_form form;
	const char *config_file;      /* HAMi's device-config.yaml; NULL: none */
	const char *node_config_file; /* HAMi's config.json; NULL: none        */
	const char *hook;             /* where HAMi-core is on the node        */
};

/* Borrowed. */
struct hami_deps {
	const struct nvidia *nvidia;
	/* What is offered changed: have hami_offer() called soon. */
	void (*changed)(void *arg);
	void *arg;
};

/* @node and what @deps names are borrowed. Does nothing if the options say so. */
struct hami *hami_new(const struct this_node *node, const struct hami_options *options,
		      const struct hami_deps *deps);
/* After the plugins. Takes NULL, returns NULL. The loop must run once more. */
struct hami *hami_free(struct hami *hami);

/* The Node changed in the cache, or its list is there. */
void hami_node_seen(struct hami *hami);

/* Why containers can get no GPU: HAMi-core is missing. NULL: they can. Valid until `changed`. */
const char *hami_trouble(const struct hami *hami);

/* Make what @plugins offer, and what the Node says, what there is: an offers_type's offer(). */
void hami_offer(void *arg, struct plugins *plugins);
