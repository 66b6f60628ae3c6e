#include "controller/pools/pools.h"

#include <stdlib.h>
#include <string.h>

#include "api/devicepool.h"
#include "api/json_map.h"
#include "api/patch.h"
#include "base/mem.h"
#include "controller/pools/pool_index.h"
#include "kube/metrics.h"
#include "kube/reconcile.h"
#include "kube/store.h"

enum {
	QUIET_MS = 1000, /* delay from the first change to the write */
	WRITES_MAX = 4,  /* concurrent writes */
};

struct pools {
	struct pools_deps deps;
	struct api_kind kind; /* for the digests */
	struct pool_index *index;
	struct reconcile *reconcile; /* of DevicePools, by name */
	struct metric *known;
	bool started;
};

static const struct metric_desc known_desc = {
	.name = "hostdev_controller_pools",
	.help = "Resource names that have devices.",
	.type = METRIC_GAUGE,
};

/* --- shares --- */

/* VIEW_KINDS: it has no claims. */
static enum view_kind claim_kind_of(enum view_kind kind)
{
	if (kind == VIEW_PCIDEVICE)
		return VIEW_PCICLAIM;
	return kind == VIEW_USBDEVICE ? VIEW_USBCLAIM : VIEW_KINDS;
}

/* A PCI device may be offered by a HostDeviceConfig, unless it is claimed. A mediated device has
 * a resource while it is offered. A USB device has its own resource, which counts only while the
 * device is claimed. */
struct pool_share pools_share(enum view_kind kind, const char *name, const struct view *device,
			      const struct view *claim, char **ret_text)
{
	bool mediated = kind == VIEW_MEDIATEDDEVICE;
	struct pool_share share = { 0 };

	*ret_text = NULL;
	if (!device || (kind == VIEW_USBDEVICE && !claim))
		return share;
	*ret_text = view_resource(name, device, kind == VIEW_PCIDEVICE ? claim : NULL);
	share.resource = *ret_text;
	share.node = device->node;
	share.claimed = mediated || claim || device->offered;
	share.ready = mediated ||
		      (claim ? claim->ready && !claim->deleting : device->offered && device->ready);
	share.allocated = device->allocated;
	return share;
}

static const struct view *view_at(const struct pools *pools, enum view_kind kind, const char *name)
{
	return kind == VIEW_KINDS ? NULL : store_object(pools->deps.stores[kind], name);
}

static const void *object_of(const struct entry *entry)
{
	return entry ? entry->object : NULL;
}

/* Device and claim, before and after a change. */
struct pool_sides {
	const struct view *device[2];
	const struct view *claim[2];
};

static void move_share(struct pools *pools, enum view_kind kind, const char *name,
		       const struct pool_sides *sides)
{
	auto_free char *before_text = NULL;
	auto_free char *after_text = NULL;
	struct pool_share before =
		pools_share(kind, name, sides->device[0], sides->claim[0], &before_text);
	struct pool_share after =
		pools_share(kind, name, sides->device[1], sides->claim[1], &after_text);

	pool_index_move(pools->index, &before, &after);
	metric_set(pools->known, (int64_t)pool_index_len(pools->index), NULL);
}

static void move_device(struct pools *pools, enum view_kind kind, const char *name,
			const struct entry *before, const struct entry *after)
{
	const struct view *claim = view_at(pools, claim_kind_of(kind), name);
	struct pool_sides sides = { { object_of(before), object_of(after) }, { claim, claim } };

	move_share(pools, kind, name, &sides);
}

static void move_claim(struct pools *pools, enum view_kind kind, const char *name,
		       const struct entry *before, const struct entry *after)
{
	const struct view *device = view_at(pools, kind, name);
	struct pool_sides sides = { { device, device }, { object_of(before), object_of(after) } };

	move_share(pools, kind, name, &sides);
}

/* --- callbacks of struct reconcile_spec --- */

static bool is_started(void *arg)
{
	const struct pools *pools = arg;

	return pools->started;
}

static bool is_pool(void *arg, const char *name, const void *object)
{
	const struct pools *pools = arg;

	return object || pool_index_resource(pools->index, name);
}

static void plan_status(const struct pools *pools, const struct reconcile_view *view,
			struct decision *ret_decision)
{
	const struct view_pool *pool = view->object;
	struct devicepool_status status;

	pool_index_status(pools->index, view->key, &status);
	if (pool->hash != view_status_hash(&status)) {
		ret_decision->step = STEP_PATCH_STATUS;
		ret_decision->body = patch_new_at(view->uid, view->version);
		json_object_set_new(ret_decision->body, "status",
				    json_map_encode(devicepool_status_map, &status));
	}
	json_map_done(devicepool_status_map, &status);
}

static void plan_pool(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	const struct pools *pools = arg;
	const struct view_pool *pool = view->object;
	const char *resource = pool_index_resource(pools->index, view->key);

	if (!pool) {
		ret_decision->step = STEP_CREATE;
		ret_decision->body = json_pack("{s:{s:s}}", "spec", "resourceName", resource);
	} else if (pool->deleting) {
		ret_decision->step = STEP_REST; /* until others have removed their finalizers */
	} else if (!resource || strcmp(pool->resource, resource) != 0) {
		ret_decision->step = STEP_DELETE;
	} else {
		plan_status(pools, view, ret_decision);
	}
}

/* --- the module's functions --- */

static void on_count(void *arg, const char *pool)
{
	const struct pools *pools = arg;

	reconcile_enqueue_after(pools->reconcile, pool, QUIET_MS);
}

void pools_on_change(struct pools *pools, enum view_kind kind, const char *name,
		     const struct entry *before, const struct entry *after)
{
	if (kind == VIEW_POOL)
		reconcile_changed(pools->reconcile, name);
	else if (kind == VIEW_PCICLAIM)
		move_claim(pools, VIEW_PCIDEVICE, name, before, after);
	else if (kind == VIEW_USBCLAIM)
		move_claim(pools, VIEW_USBDEVICE, name, before, after);
	else if (view_is_device(kind))
		move_device(pools, kind, name, before, after);
}

void pools_set_reachable(struct pools *pools, const char *node, bool reachable)
{
	pool_index_reach(pools->index, node, reachable);
}

void pools_enqueue_all(struct pools *pools)
{
	const char *name;
	size_t cursor = 0;

	pools->started = true;
	while ((name = pool_index_next(pools->index, &cursor)))
		reconcile_enqueue(pools->reconcile, name);
	reconcile_enqueue_all(pools->reconcile);
}

struct pools *pools_new(const struct pools_deps *deps)
{
	struct pools *pools = xcalloc(1, sizeof(*pools));

	pools->deps = *deps;
	pools->kind = view_kind(VIEW_POOL);
	pools->index = pool_index_new(on_count, pools);
	pools->known = metrics_family(deps->metrics, &known_desc);
	pools->reconcile = reconcile_new(&(struct reconcile_spec){
		.name = "devicepools",
		.kind = &pools->kind,
		.objects = deps->pools,
		.field_manager = "hostdev-controller",
		.max_running = WRITES_MAX,
		.quiet_ms = QUIET_MS,
		.is_ready = is_started,
		.leads = deps->leads,
		.leads_arg = deps->arg,
		.is_ours = is_pool,
		.plan = plan_pool,
		.arg = pools,
		.client = deps->client,
		.clock = deps->clock,
		.metrics = deps->metrics,
	});
	return pools;
}

struct pools *pools_free(struct pools *pools)
{
	if (!pools)
		return NULL;
	reconcile_free(pools->reconcile);
	pool_index_free(pools->index);
	free(pools);
	return NULL;
}
