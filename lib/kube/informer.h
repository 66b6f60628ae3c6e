/*
 * informer: keeps a store equal to a collection at the API server and reports its changes.
 *
 * Connects reflector and store to a client. Never writes.
 */
#pragma once

#include <stdbool.h>

struct api_kind;
struct clock;
struct entry;
struct kube_client;
struct metrics;
struct store;

/* Borrowed; everything must outlive the informer. */
struct informer_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics; /* may be NULL */
};

struct informer_handlers {
	/*
	 * @name changed: @before is NULL for an addition, @after for a deletion; an entry's object
	 * is NULL if it could not be decoded. The store already has the new state. Both are valid
	 * during the call. Never called before informer_start() has returned.
	 */
	void (*on_change)(void *arg, const char *name, const struct entry *before,
			  const struct entry *after);
	/* The first list is in the store. Called once; may be NULL. */
	void (*on_synced)(void *arg);
	/* The result of informer_denied() changed. Same rules as on_change; may be NULL. */
	void (*on_denied)(void *arg);
};

/* Copied, except for the kind. */
struct informer_spec {
	const struct api_kind *kind;
	const char *label_selector; /* NULL: none */
	const char *field_selector; /* NULL: none */
	bool optional;              /* many clusters do not have the kind: do not warn */
	struct informer_handlers handlers;
	void *arg;
};

struct informer;

struct informer *informer_new(const struct informer_deps *deps, const struct informer_spec *spec);
/* Safe at any time, also from a handler; no handler runs afterwards. Takes NULL, returns NULL. */
struct informer *informer_free(struct informer *informer);

void informer_start(struct informer *informer);
/* Cancel requests in flight; the store keeps its content. May be started again. If a handler
 * calls this, the other changes of the same list are still reported, so that handlers always
 * know the store's content. */
void informer_stop(struct informer *informer);

const struct store *informer_store(const struct informer *informer);

/* True once the store was filled by a list; also true if the kind is not installed. */
bool informer_synced(const struct informer *informer);

/* False while the API server does not know the kind: writes of it would fail. */
bool informer_installed(const struct informer *informer);

/* True if the API server denies access (401, 403); informer_error() has its message. */
bool informer_denied(const struct informer *informer);

/* One line for readyz and people: "pcidevices: listing (gone)". Valid until the next call. A
 * failure is over as soon as the API server answers the watch, even if there are no events yet. */
const char *informer_text(struct informer *informer);

/* The last error, as long as informer_text() shows a failure; else "". Valid until the next loop
 * iteration. */
const char *informer_error(const struct informer *informer);
