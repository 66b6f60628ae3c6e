/*
 * hami: the node side of HAMi, in place of HAMi's device plugin: divides NVIDIA's GPUs among
 * containers by memory (MiB) and compute (percent), as HAMi's scheduler decides.
 *
 * It lists the GPUs for the scheduler (hami_node.h), offers several units of each to the kubelet,
 * and allocates to each container what the scheduler chose (hami_serve.h), together with HAMi-core
 * (hami_hook.h). HAMi-core limits only programs that load it: it is not a security boundary.
 */
#pragma once

#include <stdbool.h>

#include "agent/hami/hami_register.h"

struct hami;
struct nvidia;
struct plugins;
struct this_node;

enum { HAMI_LOOK_MS = 5000 }; /* between checks of the configuration and of HAMi-core */

/* The strings are borrowed. */
struct hami_options {
	bool on;
	enum hami_form form;
	const char *config_file;      /* HAMi's device-config.yaml; NULL: none */
	const char *node_config_file; /* HAMi's config.json; NULL: none        */
	const char *hook;             /* the folder of HAMi-core on the node   */
};

/* Borrowed. */
struct hami_deps {
	const struct nvidia *nvidia;
	/* The offer has changed: call hami_offer() soon. */
	void (*changed)(void *arg);
	void *arg;
};

/* @node and everything in @deps are borrowed. Does nothing unless options->on is set. */
struct hami *hami_new(const struct this_node *node, const struct hami_options *options,
		      const struct hami_deps *deps);
/* Free the plugins first. Takes NULL, returns NULL. The loop must run once more. */
struct hami *hami_free(struct hami *hami);

/* Call it when the Node changes in the cache, and when the cache is first complete. */
void hami_node_seen(struct hami *hami);

/* Why no container can get a GPU: HAMi-core is missing. NULL if nothing prevents it. Valid until
 * the next `changed`. */
const char *hami_trouble(const struct hami *hami);

/* Bring the offer of @plugins and the Node's annotations in line with the GPUs: the offer() of an
 * offers_type. */
void hami_offer(void *arg, struct plugins *plugins);
