#include "controller/cache/cache.h"

#include <assert.h>
#include <stdlib.h>

#include "api/hostdeviceconfig.h"
#include "base/mem.h"
#include "kube/informer.h"

/* A watched kind. */
struct watched {
	struct cache *cache;
	enum view_kind kind;
	struct api_kind api;
	struct informer *informer;
};

struct cache {
	struct cache_spec spec;
	struct cache_listener listeners[CACHE_LISTENERS_MAX]; /* on_change NULL: unused */
	struct watched watched[VIEW_KINDS];
	const struct store *stores[VIEW_KINDS];
	const struct informer *informers[VIEW_KINDS];
	bool synced_reported; /* on_synced was called */
};

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct watched *watched = arg;
	const struct cache *cache = watched->cache;

	cache->spec.on_change(cache->spec.arg, watched->kind, name, before, after);
	for (size_t i = 0; i < CACHE_LISTENERS_MAX; i++) {
		const struct cache_listener *listener = &cache->listeners[i];

		if (listener->on_change)
			listener->on_change(listener->arg, watched->kind, name, before, after);
	}
}

static void on_synced(void *arg)
{
	struct watched *watched = arg;
	struct cache *cache = watched->cache;

	if (cache->synced_reported || cache_waiting(cache))
		return;
	cache->synced_reported = true;
	cache->spec.on_synced(cache->spec.arg);
}

#define CONFIG_ALONE "metadata.name=" HOSTDEVICECONFIG_NAME

static void watch(struct cache *cache, enum view_kind kind, const struct informer_deps *deps)
{
	struct watched *watched = &cache->watched[kind];
	bool agents = kind == VIEW_AGENT;

	*watched = (struct watched){ .cache = cache, .kind = kind, .api = view_kind(kind) };
	if (agents)
		watched->api.ns = cache->spec.agents_ns;
	watched->informer = informer_new(
		deps, &(struct informer_spec){
			      .kind = &watched->api,
			      .label_selector = agents ? cache->spec.agents_selector : NULL,
			      .field_selector = kind == VIEW_CONFIG ? CONFIG_ALONE : NULL,
			      .optional = kind == VIEW_VM,
			      .handlers = { .on_change = on_change, .on_synced = on_synced },
			      .arg = watched,
		      });
	cache->stores[kind] = informer_store(watched->informer);
	cache->informers[kind] = watched->informer;
}

static bool is_watched(const struct cache *cache, enum view_kind kind)
{
	if (kind == VIEW_AGENT)
		return cache->spec.agents_selector != NULL;
	return kind != VIEW_VM || cache->spec.machines;
}

struct cache *cache_new(const struct informer_deps *deps, const struct cache_spec *spec)
{
	struct cache *cache = xcalloc(1, sizeof(*cache));

	cache->spec = *spec;
	for (int i = 0; i < VIEW_KINDS; i++)
		watch(cache, (enum view_kind)i, deps);
	for (int i = 0; i < VIEW_KINDS; i++) {
		if (is_watched(cache, (enum view_kind)i))
			informer_start(cache->watched[i].informer);
	}
	return cache;
}

struct cache *cache_free(struct cache *cache)
{
	if (!cache)
		return NULL;
	for (int i = 0; i < VIEW_KINDS; i++)
		informer_free(cache->watched[i].informer);
	free(cache);
	return NULL;
}

void cache_listen(struct cache *cache, const struct cache_listener *listener)
{
	size_t i = 0;

	while (i < CACHE_LISTENERS_MAX && cache->listeners[i].on_change)
		i++;
	assert(i < CACHE_LISTENERS_MAX);
	cache->listeners[i] = *listener;
}

void cache_forget(struct cache *cache, const void *arg)
{
	for (size_t i = 0; i < CACHE_LISTENERS_MAX; i++) {
		if (cache->listeners[i].arg == arg)
			cache->listeners[i] = (struct cache_listener){ 0 };
	}
}

const struct store *const *cache_stores(const struct cache *cache)
{
	return cache->stores;
}

const struct informer *const *cache_informers(const struct cache *cache)
{
	return cache->informers;
}

bool cache_synced(const struct cache *cache, enum view_kind kind)
{
	return informer_synced(cache->watched[kind].informer);
}

const char *cache_line(const struct cache *cache, enum view_kind kind)
{
	return informer_text(cache->watched[kind].informer);
}

bool cache_installed(const struct cache *cache, enum view_kind kind)
{
	return informer_installed(cache->watched[kind].informer);
}

/* The parts that read virtual machines check for them separately: nothing else must wait for
 * KubeVirt. */
const char *cache_waiting(const struct cache *cache)
{
	for (int i = 0; i < VIEW_KINDS; i++) {
		enum view_kind kind = (enum view_kind)i;

		if (kind != VIEW_VM && is_watched(cache, kind) && !cache_synced(cache, kind))
			return cache_line(cache, kind);
	}
	return NULL;
}
