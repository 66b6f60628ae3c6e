#include "agent/dra/slices.h"

#include <jansson.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/dra/dra_devices.h"
#include "agent/dra/runtime_cdi.h"
#include "agent/node/node_reconcile.h"
#include "agent/node/this_node.h"
#include "api/json_map.h"
#include "api/json_map_read.h"
#include "api/node.h"
#include "api/resourceslice.h"
#include "base/json_read.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "kube/reconcile.h"
#include "kube/store.h"

/* Changes of several devices within this time, such as those of a card, make one write. */
enum { UPDATE_MS = 100 };

/* A slice when it was last up to date. */
struct record {
	char *uid;
	int64_t generation; /* the API server counts changes of the spec */
	char *wanted;       /* the desired object, as text               */
	char *difference;   /* which field the API server does not keep; NULL: none */
};

struct slices {
	const struct this_node *node;
	const struct dra_devices *devices;
	bool (*is_held)(void *arg, const char *id);
	void *arg;
	bool untainted;      /* the API server does not keep taints */
	struct map *records; /* of struct record, by name */
	struct map *leaving; /* names of slices that are being deleted */
	struct map *applied; /* text of the last apply, by name        */
	struct reconcile *reconcile;
	struct metric *withheld;
	bool started;
};

static const struct metric_desc withheld_desc = {
	.name = "hostdev_dra_withheld",
	.help = "1 while nothing is offered by DRA, though the HostDeviceConfig asks for it, "
		"because the container runtime is not known to have CDI.",
	.type = METRIC_GAUGE,
};

/* --- what is wanted --------------------------------------------------------------------------- */

static const struct node *own_node(const struct slices *slices)
{
	const struct informer *self = slices->node->self;
	const struct node *node =
		self ? store_object(informer_store(self), slices->node->name) : NULL;

	return node && node->meta.uid ? node : NULL;
}

static json_t *metadata_of(const struct node *node)
{
	json_t *metadata = json_object();
	json_t *owner = json_object();

	json_put_text(owner, "apiVersion", node_kind.version);
	json_put_text(owner, "kind", node_kind.kind);
	json_put_text(owner, "name", node->meta.name);
	json_put_text(owner, "uid", node->meta.uid);
	json_put(owner, "controller", json_true());
	json_put(metadata, "ownerReferences", json_array());
	json_add(json_object_get(metadata, "ownerReferences"), owner);
	return metadata;
}

/* A device in the slice of a pool that may have taints. */
static bool is_listed(const struct slices *slices, const struct dra_device *device)
{
	return !device->trouble || slices->is_held(slices->arg, device->id);
}

static bool may_taint(const struct slices *slices, const char *pool)
{
	size_t len = 0;

	for (size_t i = 0; i < dra_devices_len(slices->devices); i++) {
		const struct dra_device *device = dra_devices_at(slices->devices, i);

		len += strcmp(device->pool, pool) == 0 && is_listed(slices, device);
	}
	return !slices->untainted && len <= SLICES_TAINTED_MAX;
}

static json_t *taints(void)
{
	json_t *list = json_array();
	json_t *taint = json_object();

	json_put_text(taint, "key", SLICES_TAINT);
	json_put_text(taint, "effect", "NoSchedule");
	json_add(list, taint);
	return list;
}

/* The devices in the slice of the pool. */
static json_t *devices_of(const struct slices *slices, const char *pool)
{
	json_t *list = json_array();
	bool tainted = may_taint(slices, pool);

	for (size_t i = 0; i < dra_devices_len(slices->devices); i++) {
		const struct dra_device *device = dra_devices_at(slices->devices, i);
		json_t *attributes = NULL;
		json_t *json;

		if (strcmp(device->pool, pool) != 0 ||
		    (device->trouble && !(tainted && is_listed(slices, device))))
			continue;
		json = json_object();
		json_put_text(json, "name", device->name);
		(void)json_map_load(device->attributes, strlen(device->attributes), &attributes,
				    NULL);
		json_put(json, "attributes", attributes);
		if (device->trouble)
			json_put(json, "taints", taints());
		json_add(list, json);
	}
	return list;
}

static json_t *spec_of(const struct slices *slices, const char *pool)
{
	json_t *spec = json_object();
	json_t *of = json_object();

	json_put_text(of, "name", pool);
	json_put(of, "generation", json_integer(1));
	json_put(of, "resourceSliceCount", json_integer(1));
	json_put_text(spec, "driver", DRA_DRIVER);
	json_put_text(spec, "nodeName", slices->node->name);
	json_put(spec, "pool", of);
	json_put(spec, "devices", devices_of(slices, pool));
	return spec;
}

/* Does the pool get a slice? It does if it has any device, healthy or not, or if it is the first of
 * a selected kind. */
static bool is_wanted(const struct slices *slices, enum dra_kind kind, size_t i)
{
	auto_free char *pool = dra_pool_name(slices->node->name, kind, i);
	auto_free char *trouble = NULL;

	if (!own_node(slices) || !runtime_cdi_known(slices->node, &trouble) || trouble)
		return false;
	for (size_t at = 0; at < dra_devices_len(slices->devices); at++) {
		if (strcmp(dra_devices_at(slices->devices, at)->pool, pool) == 0)
			return true;
	}
	return i == 0 && dra_devices_selects(slices->devices, kind);
}

/* The name of the pool whose slice has this name, for the caller to free; NULL: no pool gets a slice
 * of this name. */
static char *pool_of(const struct slices *slices, const char *name)
{
	for (int kind = 0; kind < DRA_KINDS; kind++) {
		for (size_t i = 0; i < DRA_POOLS_MAX; i++) {
			auto_free char *of =
				dra_slice_name(slices->node->name, (enum dra_kind)kind, i);

			if (strcmp(of, name) == 0)
				return is_wanted(slices, (enum dra_kind)kind, i)
					       ? dra_pool_name(slices->node->name,
							       (enum dra_kind)kind, i)
					       : NULL;
		}
	}
	return NULL;
}

/* The desired slice of this name; NULL: there should be none. */
static json_t *wanted_of(const struct slices *slices, const char *name)
{
	auto_free char *pool = pool_of(slices, name);
	json_t *slice;

	if (!pool)
		return NULL;
	slice = json_object();
	json_put(slice, "metadata", metadata_of(own_node(slices)));
	json_put(slice, "spec", spec_of(slices, pool));
	return slice;
}

/* --- what is there ---------------------------------------------------------------------------- */

/* An API server shows an empty list as null. */
static bool is_nothing(const json_t *json)
{
	return !json || json_is_null(json) || (json_is_array(json) && json_array_size(json) == 0);
}

static char *find_difference(const char *path, json_t *want, json_t *have);

static char *difference_of_objects(const char *path, json_t *want, json_t *have)
{
	char *difference = NULL;
	const char *key;
	json_t *value;

	json_object_foreach (want, key, value) {
		auto_free char *at = xasprintf("%s.%s", path, key);

		if (!difference)
			difference = find_difference(at, value, json_object_get(have, key));
	}
	json_object_foreach (have, key, value) {
		/* Of a taint, by the API server. */
		if (strcmp(key, "timeAdded") == 0)
			continue;
		if (!difference && !json_object_get(want, key))
			difference = xasprintf("%s.%s is added", path, key);
	}
	return difference;
}

static char *difference_of_arrays(const char *path, json_t *want, json_t *have)
{
	char *difference = NULL;

	if (json_array_size(want) != json_array_size(have))
		return xasprintf("%s has %zu items in place of %zu", path, json_array_size(have),
				 json_array_size(want));
	for (size_t i = 0; i < json_array_size(want) && !difference; i++) {
		auto_free char *at = xasprintf("%s[%zu]", path, i);

		difference = find_difference(at, json_array_get(want, i), json_array_get(have, i));
	}
	return difference;
}

/* A field in which @have differs from @want, for the caller to free; NULL: none. Recurses no deeper
 * than @want does. */
static char *find_difference(const char *path, json_t *want, json_t *have)
{
	if (is_nothing(want) && is_nothing(have))
		return NULL;
	if (!have)
		return xasprintf("%s is missing", path);
	if (json_is_object(want) && json_is_object(have))
		return difference_of_objects(path, want, have);
	if (json_is_array(want) && json_is_array(have))
		return difference_of_arrays(path, want, have);
	return json_equal(want, have) ? NULL : xasprintf("%s is different", path);
}

/* The same for @text, the object as read from the API server. */
static char *difference_from(const json_t *wanted, const struct json_text *text)
{
	auto_json json_t *have = NULL;

	if (json_map_load(text->text, text->len, &have, NULL) < 0)
		return xstrdup("it cannot be read");
	return find_difference("spec", json_object_get(wanted, "spec"),
			       json_object_get(have, "spec"));
}

static const json_t *find_device(const json_t *slice, const char *name)
{
	const json_t *devices = json_object_get(json_object_get(slice, "spec"), "devices");
	const json_t *device;
	size_t i;

	json_array_foreach (devices, i, device) {
		if (str_match(json_string_value(json_object_get(device, "name")), name))
			return device;
	}
	return NULL;
}

/* Has a device taints in @wanted, and none in @text? */
static bool lacks_taints(const json_t *wanted, const struct json_text *text)
{
	const json_t *devices = json_object_get(json_object_get(wanted, "spec"), "devices");
	auto_json json_t *have = NULL;
	const json_t *device;
	size_t i;

	if (json_map_load(text->text, text->len, &have, NULL) < 0)
		return false;
	json_array_foreach (devices, i, device) {
		const char *name = json_string_value(json_object_get(device, "name"));
		const json_t *kept = name ? find_device(have, name) : NULL;

		if (json_object_get(device, "taints") && kept &&
		    is_nothing(json_object_get(kept, "taints")))
			return true;
	}
	return false;
}

static bool has_owner(const struct slices *slices, const struct resourceslice *slice)
{
	const struct node *node = own_node(slices);

	for (size_t i = 0; node && i < slice->meta.owner_refs.len; i++) {
		const struct api_owner_ref *owner = &slice->meta.owner_refs.items[i];

		if (str_match(owner->uid, node->meta.uid) && owner->controller)
			return true;
	}
	return false;
}

/* Was the slice up to date before, with the same spec and the same @wanted? */
static bool is_recorded(const struct slices *slices, const struct resourceslice *slice,
			const json_t *wanted)
{
	const struct record *record = map_get(slices->records, slice->meta.name);
	auto_free char *text = NULL;

	if (!record || record->generation != slice->meta.generation ||
	    !str_equal(record->uid, slice->meta.uid))
		return false;
	text = json_map_text(wanted);
	return strcmp(record->wanted, text) == 0;
}

static void *record_free(struct record *record)
{
	if (!record)
		return NULL;
	free(record->uid);
	free(record->wanted);
	free(record->difference);
	free(record);
	return NULL;
}

/* All desired slices, and all that exist, which may have to be removed. */
static void enqueue_all(struct slices *slices, uint64_t delay_ms)
{
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(reconcile_store(slices->reconcile), &cursor)))
		reconcile_enqueue_after(slices->reconcile, entry->name, delay_ms);
	for (int kind = 0; kind < DRA_KINDS; kind++) {
		for (size_t i = 0; i < DRA_POOLS_MAX; i++) {
			auto_free char *name =
				dra_slice_name(slices->node->name, (enum dra_kind)kind, i);

			reconcile_enqueue_after(slices->reconcile, name, delay_ms);
		}
	}
}

/* --- as struct reconcile_spec has them -------------------------------------------------------- */

enum { LACKS_TAINTS = 1 }; /* decision.detail of a REST: the API server has dropped them */

/* When an agent starts, it must not empty the slices before it has seen the devices. */
static bool is_ready(void *arg)
{
	const struct slices *slices = arg;

	return slices->node->inventory && own_node(slices);
}

/* The list is selected by driver and node, so every slice in it is ours. */
static bool is_ours(void *arg, const char *name, const void *object)
{
	const struct slices *slices = arg;
	auto_free char *pool = pool_of(slices, name);

	return object || (pool && !map_get(slices->leaving, name));
}

/* Remember deletions and applies. A deleted slice is created again only after the cache shows that
 * it is gone. */
static void before(void *arg, const struct reconcile_view *view, const struct decision *decision)
{
	static char is_leaving[] = "";
	const struct slices *slices = arg;

	if (decision->step == STEP_DELETE)
		map_set(slices->leaving, view->key, is_leaving);
	if (decision->step == STEP_APPLY)
		free(map_set(slices->applied, view->key, json_map_text(decision->body)));
}

/* Has this run applied @wanted? The devices may have changed during an apply. */
static bool is_applied(const struct slices *slices, const struct reconcile_view *view,
		       const json_t *wanted)
{
	const char *last = map_get(slices->applied, view->key);
	auto_free char *text = json_map_text(wanted);

	return view->last == STEP_APPLY && last && strcmp(last, text) == 0;
}

/*
 * A slice is read before its first write, so that a new agent does not write what is there already;
 * after that, its generation shows whether the spec has changed. If a difference remains after an
 * apply, another apply would not remove it.
 */
static void plan(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	const struct slices *slices = arg;
	const struct resourceslice *slice = view->object;
	auto_json json_t *wanted = wanted_of(slices, view->key);
	bool applied;

	if (slice && slice->meta.deletion_timestamp)
		return; /* a finalizer keeps it; it is created again when it is gone */
	if (!wanted) {
		if (slice)
			ret_decision->step = STEP_DELETE;
		return;
	}
	if (slice && has_owner(slices, slice) && is_recorded(slices, slice, wanted))
		return;
	if (slice && !view->text && !map_get(slices->records, view->key)) {
		ret_decision->step = STEP_READ;
		return;
	}
	applied = is_applied(slices, view, wanted);
	if (slice && view->text && (applied || has_owner(slices, slice))) {
		ret_decision->job = difference_from(wanted, view->text);
		ret_decision->job_free = free;
		if (ret_decision->job && applied && lacks_taints(wanted, view->text))
			ret_decision->detail = LACKS_TAINTS;
		if (!ret_decision->job || applied)
			return;
	}
	ret_decision->step = STEP_APPLY;
	ret_decision->body = json_incref(wanted);
}

/* The slice is as close to what is wanted as it gets. False: that was known already. */
static bool remember(struct slices *slices, const char *name, const struct resourceslice *slice,
		     const struct decision *decision)
{
	auto_json json_t *wanted = wanted_of(slices, name);
	const struct record *last = map_get(slices->records, name);
	bool left = map_remove(slices->leaving, name);
	struct record *record;

	free(map_remove(slices->applied, name));
	if (left && !slice && wanted)
		reconcile_enqueue(slices->reconcile, name);
	if (!slice || !wanted) {
		record_free(map_remove(slices->records, name));
		return false;
	}
	if (slice->meta.deletion_timestamp || is_recorded(slices, slice, wanted))
		return false;
	record = xcalloc(1, sizeof(*record));
	record->uid = xstrdup_or_null(slice->meta.uid);
	record->generation = slice->meta.generation;
	record->wanted = json_map_text(wanted);
	record->difference = xstrdup_or_null(decision->job);
	if (record->difference && !(last && str_equal(last->difference, record->difference)))
		log_warn("the API server does not keep a ResourceSlice as it was written: is a "
			 "feature gate of it off?",
			 log_str("slice", name), log_str("field", record->difference));
	record_free(map_set(slices->records, name, record));
	/* Without its taint, an unhealthy device would look healthy. */
	if (decision->detail == LACKS_TAINTS && !slices->untainted) {
		slices->untainted = true;
		enqueue_all(slices, 0);
	}
	return true;
}

/* A megabyte of JSON was needed for a moment to write or compare a slice with 64 devices, and glibc
 * keeps what is not at the end of the heap. */
static void rested(void *arg, const char *name, const void *object, const struct decision *decision)
{
	if (remember(arg, name, object, decision))
		(void)malloc_trim(0);
}

/* --- life ------------------------------------------------------------------------------------- */

static void on_synced(void *arg)
{
	enqueue_all(arg, 0);
}

struct slices *slices_new(const struct this_node *node, const struct dra_devices *devices,
			  bool (*is_held)(void *arg, const char *id), void *arg)
{
	struct slices *slices = xcalloc(1, sizeof(*slices));
	auto_free char *selector =
		xasprintf("spec.driver=" DRA_DRIVER ",spec.nodeName=%s", node->name);
	const struct reconcile_spec spec = {
		.name = "resourceslices",
		.kind = &resourceslice_kind,
		.field_selector = selector,
		.on_synced = on_synced,
		.max_running = DRA_KINDS,
		.is_ready = is_ready,
		.is_ours = is_ours,
		.plan = plan,
		.before = before,
		.rested = rested,
		.arg = slices,
	};

	slices->node = node;
	slices->devices = devices;
	slices->is_held = is_held;
	slices->arg = arg;
	slices->records = map_new();
	slices->leaving = map_new();
	slices->applied = map_new();
	slices->withheld = metrics_family(node->metrics, &withheld_desc);
	slices->reconcile = node_reconcile_new(node, &spec);
	return slices;
}

struct slices *slices_free(struct slices *slices)
{
	size_t cursor = 0;
	void *record = NULL;

	if (!slices)
		return NULL;
	reconcile_free(slices->reconcile);
	while (map_next(slices->records, &cursor, NULL, &record))
		record_free(record);
	map_free(slices->records);
	map_free(slices->leaving);
	map_free_with(slices->applied, free);
	free(slices);
	return NULL;
}

void slices_start(struct slices *slices)
{
	if (slices->started)
		return;
	slices->started = true;
	reconcile_start(slices->reconcile);
}

static bool is_withheld(const struct slices *slices)
{
	bool selected = dra_devices_len(slices->devices) > 0;
	auto_free char *trouble = NULL;

	for (int kind = 0; kind < DRA_KINDS; kind++)
		selected = selected || dra_devices_selects(slices->devices, (enum dra_kind)kind);
	return selected && runtime_cdi_known(slices->node, &trouble) && trouble;
}

void slices_update(struct slices *slices)
{
	metric_set(slices->withheld, is_withheld(slices), NULL);
	if (slices->started)
		enqueue_all(slices, UPDATE_MS);
}
