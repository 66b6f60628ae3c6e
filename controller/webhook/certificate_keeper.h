/*
 * certificate_keeper: the Secret that all replicas take the webhook's certificate from. Every
 * replica watches it; the one that leads makes what is missing and renews what grows old, each time
 * from the state that it saw and no other (resourceVersion).
 *
 * A Secret that cert-manager keeps is used as it is, and never written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/json_values.h"

struct certificate_keeper;
struct certificate_set;
struct clock;
struct err;
struct kube_client;
struct metrics;

#define CERTIFICATE_KEEPER_SECRET "hostdev-webhook-tls"

/* Borrowed, but for the texts. */
struct certificate_keeper_options {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;  /* may be NULL      */
	const char *ns;           /* of the Secret    */
	struct json_strs hosts;   /* what the certificate is to be good for: DNS names, addresses */
	bool (*leads)(void *arg); /* asked before each write */
	bool (*trusted)(void *arg); /* certificate_plan.h */
	/* The Secret has another set: @serves says whether it is good to be used. */
	void (*on_set)(void *arg, const struct certificate_set *set, bool serves);
	void *arg;
};

struct certificate_keeper *certificate_keeper_new(const struct certificate_keeper_options *options);
/* Takes NULL, returns NULL. */
struct certificate_keeper *certificate_keeper_free(struct certificate_keeper *keeper);

void certificate_keeper_start(struct certificate_keeper *keeper);

/* Run it: this replica leads now, or more is trusted. */
void certificate_keeper_enqueue(struct certificate_keeper *keeper);

/* One line about the Secret's informer, for readyz. Valid until the next call. */
const char *certificate_keeper_text(struct certificate_keeper *keeper);
