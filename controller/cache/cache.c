#include "controller/cache/cache.h"

#include <assert.h>
#include <stdlib.h>

#include "api/hostdeviceconfig.h"
#include "base/mem.h"
#include "controller/cache/reach.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "kube/store.h"

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

/* --- metrics of the cluster --- */

static const struct metric_desc devices_desc = {
	.name = "hostdev_cluster_devices",
	.help = "Devices of all nodes by kind and whether they are allocated to containers.",
	.type = METRIC_GAUGE,
	.labels = { "kind", "state" },
};

static const struct metric_desc claims_desc = {
	.name = "hostdev_cluster_claims",
	.help = "Claims of all nodes by kind, condition Ready and state of the node.",
	.type = METRIC_GAUGE,
	.labels = { "kind", "ready", "reach" },
};

static const char *const kind_texts[VIEW_KINDS] = {
	[VIEW_PCIDEVICE] = "PCIDevice",           [VIEW_USBDEVICE] = "USBDevice",
	[VIEW_MEDIATEDDEVICE] = "MediatedDevice", [VIEW_PCICLAIM] = "PCIDeviceClaim",
	[VIEW_USBCLAIM] = "USBDeviceClaim",
};

static const char *reach_text(enum reach reach)
{
	return reach == REACH_UNKNOWN || reach == REACH_OK ? "Reachable" : reach_reason(reach);
}

static void add_device(const struct view_count *count, enum view_kind kind, bool allocated,
		       int64_t amount)
{
	metric_add(count->devices, amount,
		   (const char *const[]){ kind_texts[kind], allocated ? "allocated" : "free" });
}

static void add_claim(const struct view_count *count, enum view_kind kind, bool ready,
		      enum reach reach, int64_t amount)
{
	metric_add(count->claims, amount,
		   (const char *const[]){ kind_texts[kind], ready ? "true" : "false",
					  reach_text(reach) });
}

void view_count_init(struct view_count *count, struct metrics *metrics)
{
	static const enum view_kind devices[] = { VIEW_PCIDEVICE, VIEW_USBDEVICE,
						  VIEW_MEDIATEDDEVICE };
	static const enum view_kind claims[] = { VIEW_PCICLAIM, VIEW_USBCLAIM };

	count->devices = metrics_family(metrics, &devices_desc);
	count->claims = metrics_family(metrics, &claims_desc);
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		add_device(count, devices[i], false, 0);
		add_device(count, devices[i], true, 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(claims); i++) {
		for (enum reach reach = REACH_OK; reach < REACH_LEN; reach++) {
			add_claim(count, claims[i], false, reach, 0);
			add_claim(count, claims[i], true, reach, 0);
		}
	}
}

static void count_add(const struct view_count *count, enum view_kind kind,
		      const struct entry *entry, int64_t amount)
{
	const struct view *view = entry->object;

	if (!view)
		return;
	if (kind == VIEW_PCICLAIM || kind == VIEW_USBCLAIM)
		add_claim(count, kind, view->ready, view->reach, amount);
	else
		add_device(count, kind, view->allocated, amount);
}

void view_count_on_change(const struct view_count *count, enum view_kind kind,
			  const struct entry *before, const struct entry *after)
{
	if (!kind_texts[kind])
		return;
	if (before)
		count_add(count, kind, before, -1);
	if (after)
		count_add(count, kind, after, 1);
}
