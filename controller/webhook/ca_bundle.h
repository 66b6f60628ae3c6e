/*
 * ca_bundle: keeps caBundle of both webhook configurations equal to the webhook's CAs. The leader
 * writes only this field; missing configurations are not created.
 */
#pragma once

#include <stdbool.h>

struct ca_bundle;
struct clock;
struct kube_client;
struct metrics;

/* Name of both configurations. */
#define CA_BUNDLE_CONFIGURATION "hostdev-webhook"

/* Borrowed. */
struct ca_bundle_options {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;       /* may be NULL */
	bool (*leads)(void *arg);      /* checked before each write */
	void (*on_trusted)(void *arg); /* ca_bundle_trusted() has become true */
	void *arg;
};

struct ca_bundle *ca_bundle_new(const struct ca_bundle_options *options);
/* Takes NULL, returns NULL. */
struct ca_bundle *ca_bundle_free(struct ca_bundle *bundle);

void ca_bundle_start(struct ca_bundle *bundle);

/* Set the desired CAs (PEM, copied); NULL: unknown, change nothing. */
void ca_bundle_set(struct ca_bundle *bundle, const char *pem);

/* Enqueue both configurations: this replica leads now. */
void ca_bundle_enqueue(struct ca_bundle *bundle);

/* True while all existing configurations have the CAs. */
bool ca_bundle_trusted(const struct ca_bundle *bundle);
