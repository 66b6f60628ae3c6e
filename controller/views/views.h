/*
 * views: the informers of what the controller looks at, one per kind of view.h.
 *
 * Reads only. Every replica has them, so that one which takes over knows the cluster already.
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
	const char *agents_ns;       /* namespace of the agents' pods                       */
	const char *agents_selector; /* label selector of them; NULL: agents are not watched */
	bool machines;               /* virtual machines are watched too                    */
	void (*on_change)(void *arg, enum view_kind kind, const char *name,
			  const struct entry *before, const struct entry *after);
	/* Every kind but the virtual machines has had its list; called once, after all changes that the
	 * lists brought. */
	void (*on_synced)(void *arg);
	void *arg;
};

/* Nothing is called before this has returned. @spec and @deps are copied; what they point to is borrowed. */
struct views *views_new(const struct informer_deps *deps, const struct views_spec *spec);
/* Takes NULL, returns NULL. */
struct views *views_free(struct views *views);

/* One more that hears of changes, after spec.on_change and as that does; before the loop runs, so that
 * nothing is missed. At most VIEWS_LISTENERS_MAX. Nothing is told any more once the same is forgotten. */
enum { VIEWS_LISTENERS_MAX = 2 };
struct views_listener {
	void (*on_change)(void *arg, enum view_kind kind, const char *name,
			  const struct entry *before, const struct entry *after);
	void *arg;
};
void views_listen(struct views *views, const struct views_listener *listener);
void views_forget(struct views *views, const void *arg);

/* By enum view_kind; the stores are there as long as the views. */
const struct store *const *views_stores(const struct views *views);

/* Likewise. */
const struct informer *const *views_informers(const struct views *views);

/* Has @kind had its list? */
bool views_synced(const struct views *views, enum view_kind kind);
/* How far @kind is, as informer_text(). Valid until the next call. */
const char *views_line(const struct views *views, enum view_kind kind);

/* Does the API server know @kind, as far as was seen? A store of a kind that it does not know is empty. */
bool views_installed(const struct views *views, enum view_kind kind);

/* The line of the first kind but the virtual machines that has had no list; NULL: all have. Valid until
 * the next call. */
const char *views_waiting(const struct views *views);
