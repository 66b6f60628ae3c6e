/*
 * views: the controller's informers, one per kind of view.h.
 *
 * Reads only. Runs in every replica, so that a new leader has the data already.
 */
#pragma once

#include <stdbool.h>

#include "controller/views/view.h"

struct entry;
struct informer;
struct informer_deps;
struct store;
struct views;

struct views_spec {
	const char *agents_ns;       /* namespace of the agents' pods */
	const char *agents_selector; /* their label selector; NULL: agents are not watched */
	bool machines;               /* also watch virtual machines */
	void (*on_change)(void *arg, enum view_kind kind, const char *name,
			  const struct entry *before, const struct entry *after);
	/* Every kind except virtual machines has had its first list; called once, after all
	 * changes of those lists. */
	void (*on_synced)(void *arg);
	void *arg;
};

/* No callback runs before this has returned. @spec and @deps are copied; what they point to is
 * borrowed. */
struct views *views_new(const struct informer_deps *deps, const struct views_spec *spec);
/* Takes NULL, returns NULL. */
struct views *views_free(struct views *views);

/* Add another listener, called after spec.on_change with the same arguments; must be called
 * before the loop runs. At most VIEWS_LISTENERS_MAX. A removed listener is not called any more. */
enum { VIEWS_LISTENERS_MAX = 2 };
struct views_listener {
	void (*on_change)(void *arg, enum view_kind kind, const char *name,
			  const struct entry *before, const struct entry *after);
	void *arg;
};
void views_listen(struct views *views, const struct views_listener *listener);
void views_forget(struct views *views, const void *arg);

/* Indexed by enum view_kind; the stores exist as long as the views. */
const struct store *const *views_stores(const struct views *views);

/* Likewise. */
const struct informer *const *views_informers(const struct views *views);

/* True if @kind has had its first list. */
bool views_synced(const struct views *views, enum view_kind kind);
/* The state of @kind, as in informer_text(). Valid until the next call. */
const char *views_line(const struct views *views, enum view_kind kind);

/* True if the API server knows @kind, as last seen. The store of an unknown kind is empty. */
bool views_installed(const struct views *views, enum view_kind kind);

/* The state of the first kind without a list, ignoring virtual machines; NULL: all have one.
 * Valid until the next call. */
const char *views_waiting(const struct views *views);
