/*
 * ca_bundle: keeps the CAs that API servers trust equal to the webhook's, in both of its webhook
 * configurations. The leader writes, and only the field caBundle; a configuration that is not there
 * is not made.
 */
#pragma once

#include <stdbool.h>

struct ca_bundle;
struct clock;
struct kube_client;
struct metrics;

/* What both configurations are called. */
#define CA_BUNDLE_CONFIGURATION "hostdev-webhook"

/* Borrowed. */
struct ca_bundle_options {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;       /* may be NULL             */
	bool (*leads)(void *arg);      /* asked before each write */
	void (*on_trusted)(void *arg); /* ca_bundle_trusted() has become true */
	void *arg;
};

struct ca_bundle *ca_bundle_new(const struct ca_bundle_options *options);
/* Takes NULL, returns NULL. */
struct ca_bundle *ca_bundle_free(struct ca_bundle *bundle);

void ca_bundle_start(struct ca_bundle *bundle);

/* What it is to be (PEM, copied); NULL: unknown, leave all as it is. */
void ca_bundle_set(struct ca_bundle *bundle, const char *pem);

/* Run both: this replica leads now. */
void ca_bundle_enqueue(struct ca_bundle *bundle);

/* True while all configurations that there are have it. */
bool ca_bundle_trusted(const struct ca_bundle *bundle);
