/*
 * certificate_keeper: the Secret with the webhook's certificate, shared by all replicas. Every
 * replica watches it; the leader creates what is missing and renews certificates before they
 * expire, with the resourceVersion as precondition.
 *
 * A Secret managed by cert-manager is used as it is and never written.
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

/* Borrowed, except for the strings. */
struct certificate_keeper_options {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;    /* may be NULL */
	const char *ns;             /* namespace of the Secret */
	struct json_strs hosts;     /* DNS names and addresses of the certificate */
	bool (*leads)(void *arg);   /* checked before each write */
	bool (*trusted)(void *arg); /* see certificate_plan() */
	/* The Secret's content has changed; @serves is true if it can be used for serving. */
	void (*on_set)(void *arg, const struct certificate_set *set, bool serves);
	void *arg;
};

struct certificate_keeper *certificate_keeper_new(const struct certificate_keeper_options *options);
/* Takes NULL, returns NULL. */
struct certificate_keeper *certificate_keeper_free(struct certificate_keeper *keeper);

void certificate_keeper_start(struct certificate_keeper *keeper);

/* Enqueue it: this replica leads now, or the configurations trust the CAs now. */
void certificate_keeper_enqueue(struct certificate_keeper *keeper);

/* One line about the Secret's informer, for readyz. Valid until the next call. */
const char *certificate_keeper_text(struct certificate_keeper *keeper);
