/*
 * cache: the controller's informers, one per kind of view.h.
 *
 * Reads only. Runs in every replica, so that a new leader has the data already.
 */
#pragma once

#include <stdbool.h>

#include "controller/cache/view.h"

struct cache;
struct entry;
struct informer;
struct informer_deps;
struct metric;
struct metrics;
struct store;

struct cache_spec {
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
struct cache *cache_new(const struct informer_deps *deps, const struct cache_spec *spec);
/* Takes NULL, returns NULL. */
struct cache *cache_free(struct cache *cache);

/* Add another listener, called after spec.on_change with the same arguments; must be called
 * before the loop runs. At most CACHE_LISTENERS_MAX. A removed listener is not called any more. */
enum { CACHE_LISTENERS_MAX = 2 };
struct cache_listener {
	void (*on_change)(void *arg, enum view_kind kind, const char *name,
			  const struct entry *before, const struct entry *after);
	void *arg;
};
void cache_listen(struct cache *cache, const struct cache_listener *listener);
void cache_forget(struct cache *cache, const void *arg);

/* Indexed by enum view_kind; the stores exist as long as the cache. */
const struct store *const *cache_stores(const struct cache *cache);

/* Likewise. */
const struct informer *const *cache_informers(const struct cache *cache);

/* True if @kind has had its first list. */
bool cache_synced(const struct cache *cache, enum view_kind kind);
/* The state of @kind, as in informer_text(). Valid until the next call. */
const char *cache_line(const struct cache *cache, enum view_kind kind);

/* True if the API server knows @kind, as last seen. The store of an unknown kind is empty. */
bool cache_installed(const struct cache *cache, enum view_kind kind);

/* The state of the first kind without a list, ignoring virtual machines; NULL: all have one.
 * Valid until the next call. */
const char *cache_waiting(const struct cache *cache);

/*
 * --- metrics of the cluster ---
 *
 * Devices, allocated devices and claims by state. Counted in every replica.
 */

struct view_count {
	struct metric *devices;
	struct metric *claims;
};

/* All series are shown as 0 from now on. @metrics may be NULL. */
void view_count_init(struct view_count *count, struct metrics *metrics);

/* An object of @kind changed from @before to @after; NULL: it did not exist, or is gone. */
void view_count_on_change(const struct view_count *count, enum view_kind kind,
			  const struct entry *before, const struct entry *after);
