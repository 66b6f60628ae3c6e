#include "controller/pools/pools.h"

#include <stdlib.h>
#include <string.h>

#include "api/devicepool.h"
#include "api/json_map.h"
#include "api/patch.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/pools/pool_book.h"
#include "controller/pools/pool_share.h"
#include "controller/views/errand.h"
#include "kube/apply.h"
#include "kube/clock.h"
#include "kube/metrics.h"
#include "kube/store.h"
#include "kube/workq_run.h"

enum {
	QUIET_MS = 1000, /* from the first change to the write */
	WRITES_MAX = 4,  /* at a time                          */
};

struct pools {
	struct pools_deps deps;
	struct pool_book *book;
	struct workq_run *queue; /* of names of DevicePools */
	struct errands errands;
	struct metric *known;
	bool started;
};

static const struct metric_desc known_desc = {
	.name = "hostdev_controller_pools",
	.help = "Resource names that have devices.",
	.type = METRIC_GAUGE,
};

static void on_changed(void *arg, const char *pool)
{
	struct pools *pools = arg;

	if (pools->started)
		workq_run_add_after(pools->queue, pool, QUIET_MS);
}

static void work(void *arg, const char *name, work_end_fn *end, void *end_arg);

struct pools *pools_new(const struct pools_deps *deps)
{
	struct pools *pools = xcalloc(1, sizeof(*pools));

	pools->deps = *deps;
	pools->book = pool_book_new(on_changed, pools);
	pools->known = metrics_family(deps->metrics, &known_desc);
	pools->queue = workq_run_new(&(struct workq_run_spec){
		.name = "devicepools",
		.max_running = WRITES_MAX,
		.work = work,
		.arg = pools,
		.clock = deps->clock,
		.metrics = deps->metrics,
	});
	return pools;
}

struct pools *pools_free(struct pools *pools)
{
	if (!pools)
		return NULL;
	workq_run_free(pools->queue);
	errands_end(&pools->errands);
	pool_book_free(pools->book);
	free(pools);
	return NULL;
}

/* --- changes ------------------------------------------------------------------------------------ */

static const struct view *view_at(const struct pools *pools, enum view_kind kind, const char *name)
{
	return kind == VIEW_KINDS ? NULL : store_object(pools->deps.stores[kind], name);
}

static const void *object_of(const struct entry *entry)
{
	return entry ? entry->object : NULL;
}

/* Of each side what the device is, and what its claim. */
struct pool_sides {
	const struct view *device[2];
	const struct view *claim[2];
};

static void move(struct pools *pools, enum view_kind kind, const char *name,
		 const struct pool_sides *sides)
{
	auto_free char *before_text = NULL;
	auto_free char *after_text = NULL;
	struct pool_share before =
		pool_share_of(kind, name, sides->device[0], sides->claim[0], &before_text);
	struct pool_share after =
		pool_share_of(kind, name, sides->device[1], sides->claim[1], &after_text);

	pool_book_move(pools->book, &before, &after);
	metric_set(pools->known, (int64_t)pool_book_len(pools->book), NULL);
}

static void hear_device(struct pools *pools, enum view_kind kind, const char *name,
			const struct entry *before, const struct entry *after)
{
	const struct view *claim = view_at(pools, pool_share_claim_kind(kind), name);
	struct pool_sides sides = { { object_of(before), object_of(after) }, { claim, claim } };

	move(pools, kind, name, &sides);
}

static void hear_claim(struct pools *pools, enum view_kind kind, const char *name,
		       const struct entry *before, const struct entry *after)
{
	const struct view *device = view_at(pools, kind, name);
	struct pool_sides sides = { { device, device }, { object_of(before), object_of(after) } };

	move(pools, kind, name, &sides);
}

/* What nobody has counted yet needs no second to come to rest. */
static void hear_pool(struct pools *pools, const char *name, const struct entry *before)
{
	if (!pools->started)
		return;
	if (before)
		workq_run_add_after(pools->queue, name, QUIET_MS);
	else
		workq_run_add(pools->queue, name);
}

void pools_hear(struct pools *pools, enum view_kind kind, const char *name,
		const struct entry *before, const struct entry *after)
{
	if (kind == VIEW_POOL)
		hear_pool(pools, name, before);
	else if (kind == VIEW_PCICLAIM)
		hear_claim(pools, VIEW_PCIDEVICE, name, before, after);
	else if (kind == VIEW_USBCLAIM)
		hear_claim(pools, VIEW_USBDEVICE, name, before, after);
	else if (pool_share_counts(kind))
		hear_device(pools, kind, name, before, after);
}

void pools_reach(struct pools *pools, const char *node, bool reachable)
{
	pool_book_reach(pools->book, node, reachable);
}

void pools_look(struct pools *pools)
{
	const struct entry *entry;
	const char *name;
	size_t cursor = 0;

	pools->started = true;
	while ((name = pool_book_next(pools->book, &cursor)))
		workq_run_add(pools->queue, name);
	cursor = 0;
	while ((entry = store_next(pools->deps.stores[VIEW_POOL], &cursor)))
		workq_run_add(pools->queue, entry->name);
}

/* --- writes ------------------------------------------------------------------------------------- */

/* The watch tells what comes of it, so that somebody else's deletion is no trouble. */
static void on_written(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	(void)response;
	errand_end(arg, result, err);
}

static void send_create(struct pools *pools, const char *name, struct errand *errand)
{
	const char *resource = pool_book_resource(pools->book, name);
	auto_json json_t *body = json_pack("{s:{s:s}}", "spec", "resourceName", resource);

	errand->call = apply_create(pools->deps.client,
				    &(struct apply_request){
					    .kind = &devicepool_kind,
					    .name = name,
					    .field_manager = "hostdev-controller",
					    .object = body,
				    },
				    on_written, errand);
}

/* Only if it is as we have seen it: a leader that was stopped for a while changes nothing that another one
 * has written since. */
static void send_status(struct pools *pools, const struct entry *entry, json_t *status,
			struct errand *errand)
{
	auto_json json_t *body = patch_new_at(entry->uid, entry->version);

	json_object_set_new(body, "status", status);
	errand->call = apply_merge(pools->deps.client,
				   &(struct apply_request){
					   .kind = &devicepool_kind,
					   .name = entry->name,
					   .subresource = "status",
					   .field_manager = "hostdev-controller",
					   .object = body,
				   },
				   on_written, errand);
}

static void send_delete(struct pools *pools, const struct entry *entry, struct errand *errand)
{
	errand->call = apply_delete(pools->deps.client,
				    &(struct delete_request){
					    .kind = &devicepool_kind,
					    .name = entry->name,
					    .uid = entry->uid,
					    .version = entry->version,
				    },
				    on_written, errand);
}

/* Does @entry say @status, and of this resource? */
static bool is_told(const struct entry *entry, const struct devicepool_status *status)
{
	const struct view_pool *view = entry->object;

	return view && view->hash == view_status_hash(status);
}

static bool is_of(const struct entry *entry, const char *resource)
{
	const struct view_pool *view = entry->object;

	return view && strcmp(view->resource, resource) == 0;
}

static void update(struct pools *pools, const struct entry *entry, work_end_fn *end, void *end_arg)
{
	struct devicepool_status status;

	pool_book_status(pools->book, entry->name, &status);
	if (is_told(entry, &status))
		end(end_arg, 0, NULL);
	else
		send_status(pools, entry, json_map_encode(devicepool_status_map, &status),
			    errand_new(&pools->errands, pools, entry->name, end, end_arg));
	json_map_done(devicepool_status_map, &status);
}

static void work(void *arg, const char *name, work_end_fn *end, void *end_arg)
{
	struct pools *pools = arg;
	const struct entry *entry = store_get(pools->deps.stores[VIEW_POOL], name);
	const char *resource = pool_book_resource(pools->book, name);

	if (!pools->deps.leads(pools->deps.arg) || (!entry && !resource))
		end(end_arg, 0, NULL);
	else if (!entry)
		send_create(pools, name, errand_new(&pools->errands, pools, name, end, end_arg));
	else if (!resource || !is_of(entry, resource))
		send_delete(pools, entry, errand_new(&pools->errands, pools, name, end, end_arg));
	else
		update(pools, entry, end, end_arg);
}
