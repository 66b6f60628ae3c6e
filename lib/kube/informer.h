/*
 * informer: keeps a store equal to a collection at the API server, and tells of its changes.
 *
 * Ties reflector and store to a client. Reads only.
 */
#pragma once

#include <stdbool.h>

struct api_kind;
struct clock;
struct entry;
struct kube_client;
struct metrics;
struct store;

/* Borrowed: all of it outlives the informer. */
struct informer_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics; /* may be NULL */
};

struct informer_handlers {
	/*
	 * @name changed: @before is NULL for an addition, @after for a deletion, and an entry's object
	 * is NULL if it could not be decoded. The store has the new state already. Both are valid
	 * during the call. Never called before informer_start() has returned.
	 */
	void (*on_change)(void *arg, const char *name, const struct entry *before,
			  const struct entry *after);
	/* The first list is in the store; called once. May be NULL. */
	void (*on_synced)(void *arg);
	/* informer_denied() says something else than before. As on_change; may be NULL. */
	void (*on_denied)(void *arg);
};

/* Copied, but for the kind. */
struct informer_spec {
	const struct api_kind *kind;
	const char *label_selector; /* NULL: none */
	const char *field_selector; /* NULL: none */
	bool optional;              /* many clusters do not have the kind: no warning then */
	struct informer_handlers handlers;
	void *arg;
};

struct informer;

struct informer *informer_new(const struct informer_deps *deps, const struct informer_spec *spec);
/* Safe at any time, also from a handler: no handler runs any more. Takes NULL, returns NULL. */
struct informer *informer_free(struct informer *informer);

void informer_start(struct informer *informer);
/* Cancel what is under way; the store stays as it is. May be started again. Called by a handler, the
 * other changes of the same list are still told, so that handlers always know what the store has. */
void informer_stop(struct informer *informer);

const struct store *informer_store(const struct informer *informer);

/* True once a list has been in the store, also that of a kind which is not installed. */
bool informer_synced(const struct informer *informer);

/* False while the API server says that it does not know the kind: writes of it would fail. */
bool informer_installed(const struct informer *informer);

/* Does the API server refuse to let it read (401, 403)? Then informer_error() says what it answers. */
bool informer_denied(const struct informer *informer);

/* One line for readyz and people: "pcidevices: listing (gone)". Valid until the next call. A watch that
 * the API server answers ends the trouble, even if it has brought nothing yet. */
const char *informer_text(struct informer *informer);

/* What went wrong, as long as informer_text() tells of it; "": nothing. Valid until the loop turns. */
const char *informer_error(const struct informer *informer);
