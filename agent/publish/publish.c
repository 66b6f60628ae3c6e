#include "agent/publish/publish.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "agent/node/node_reconcile.h"
#include "agent/node/this_node.h"
#include "agent/publish/publish_plan.h"
#include "api/json_map.h"
#include "api/kind.h"
#include "api/mediateddeviceparent.h"
#include "api/meta.h"
#include "api/patch.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/usbdeviceclaim.h"
#include "base/json_read.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/audit.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "kube/store.h"

enum { WRITES_AT_A_TIME = 16 }; /* of all kinds together */

static const char queue_name[] = "inventory";

/* The objects of one kind. */
struct objects {
	struct publish *publish;
	enum inventory_kind kind;
	const struct informer *needs[2];
	struct reconcile *reconcile; /* NULL: they are not published */
};

struct publish {
	const struct this_node *node;
	struct publish_deps deps;
	struct reconcile_queue *queue;
	struct objects objects[INVENTORY_KINDS];
};

/* What the queue's keys begin with. */
static const char *const prefixes[INVENTORY_KINDS] = {
	[INVENTORY_PCI] = "p/",
	[INVENTORY_USB] = "u/",
	[INVENTORY_MDEV] = "m/",
	[INVENTORY_MDEV_PARENT] = "d/",
};

/* --- what is known of an object --------------------------------------------------------------- */

static const struct pcidevice_allocations *
allocations_of(const struct publish_deps *deps, enum inventory_kind kind, const char *name)
{
	static const struct pcidevice_allocations none = { 0 };

	return deps->allocations ? deps->allocations(deps->arg, kind, name) : &none;
}

/* What others know of a mediated device, or of a parent of them. */
static void fill_mdev(const struct publish_deps *deps, struct publish_case *c)
{
	if (c->kind == INVENTORY_MDEV && c->wanted && deps->resource)
		c->resource = deps->resource(deps->arg, c->wanted);
	if (c->kind == INVENTORY_MDEV_PARENT && c->wanted && deps->condition) {
		const struct mediateddeviceparent *parent = c->wanted;

		c->condition = deps->condition(deps->arg, parent->status.parent);
	}
}

/* Borrowed, until the loop goes on. */
static struct publish_case case_of(const struct objects *objects, const struct reconcile_view *view)
{
	const struct publish_deps *deps = &objects->publish->deps;
	const struct this_node *node = objects->publish->node;
	enum inventory_kind kind = objects->kind;
	const struct informer *claims = node->claims[kind];
	const struct entry *claim = claims ? store_get(informer_store(claims), view->key) : NULL;
	struct publish_case c = {
		.kind = kind,
		.wanted = inventory_find(node->inventory, kind, view->key),
		.seen = view->object,
		.claimed = claim != NULL,
		.allocations = allocations_of(deps, kind, view->key),
		.now_wall_ms = view->now_wall_ms,
	};

	if (kind == INVENTORY_PCI && deps->parent)
		c.parent = deps->parent(deps->arg, view->key, &c.parent_key);
	if (kind == INVENTORY_PCI && deps->held_as)
		c.resource = deps->held_as(deps->arg, view->key);
	if ((kind == INVENTORY_PCI || kind == INVENTORY_USB) && deps->offer)
		deps->offer(deps->arg, kind, view->key, &c.offer);
	if (kind == INVENTORY_PCI)
		c.claim = claim ? claim->object : NULL;
	else if (kind == INVENTORY_USB)
		c.usb_claim = claim ? claim->object : NULL;
	fill_mdev(deps, &c);
	return c;
}

/* --- the audit trail of allocations ----------------------------------------------------------- */

/* The user whose claim has the device; NULL: none. */
static const char *user_of(const struct objects *objects, const char *name)
{
	const struct informer *claims = objects->publish->node->claims[objects->kind];
	const void *claim = claims ? store_object(informer_store(claims), name) : NULL;

	if (!claim)
		return NULL;
	return objects->kind == INVENTORY_PCI
		       ? ((const struct pcideviceclaim *)claim)->spec.user_name
		       : ((const struct usbdeviceclaim *)claim)->spec.user_name;
}

/* Borrowed. */
struct publish_audit {
	struct events *events; /* may be NULL */
	const struct api_kind *kind;
	const char *name;
	const struct api_meta *meta; /* of the object; NULL: it is not seen yet, or not any more */
	const char *node_name;
	const char *user; /* whose claim it is; NULL: none, or not known */
};

/* The list as JSON, [] for NULL, for the caller to json_decref(). */
static json_t *publish_audit_list(const struct pcidevice_allocations *list)
{
	json_t *json = json_array();

	for (size_t i = 0; list && i < list->len; i++)
		json_array_append_new(json,
				      json_map_encode(pcidevice_allocation_map, &list->items[i]));
	return json;
}

static bool has(const json_t *list, const json_t *item)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (json_equal(json_array_get(list, i), item))
			return true;
	}
	return false;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* The pod has its name in the line alone: see events.h. */
static void tell(const struct publish_audit *about, const json_t *item, const char *resource,
		 bool given)
{
	auto_free char *message = resource && given ? xasprintf("given to a pod as %s", resource)
						    : xstrdup("given to a pod");

	audit_record(
		about->events, &(struct events_about){ about->kind, about->meta },
		&(struct audit){
			.action = given ? "allocate" : "free",
			.result = "Done",
			.user = about->user,
			.kind = about->kind->kind,
			.device = about->name,
			.node = about->node_name,
			.ns = text_of(item, "namespace"),
			.pod = text_of(item, "pod"),
			.container = text_of(item, "container"),
			.resource = resource,
			.reason = given ? "Allocated" : "Freed",
			.message = given ? message : "the pod that had it has ended or was deleted",
		});
}

/* @before: as publish_audit_list(); @status: the status that was written, NULL: the object was
 * deleted. */
static void publish_audit_tell(const struct publish_audit *audit, const json_t *before,
			       const json_t *status)
{
	const json_t *after = json_object_get(status, "allocations");
	const char *resource = text_of(status, "resourceName");

	for (size_t i = 0; i < json_array_size(before); i++) {
		if (!has(after, json_array_get(before, i)))
			tell(audit, json_array_get(before, i), resource, false);
	}
	for (size_t i = 0; i < json_array_size(after); i++) {
		if (!has(before, json_array_get(after, i)))
			tell(audit, json_array_get(after, i), resource, true);
	}
}

/* --- as struct reconcile_spec has them -------------------------------------------------------- */

static bool has_inventory(void *arg)
{
	const struct objects *objects = arg;

	return objects->publish->node->inventory != NULL;
}

static bool is_ours(void *arg, const char *name, const void *object)
{
	const struct objects *objects = arg;

	return object || inventory_find(objects->publish->node->inventory, objects->kind, name);
}

static bool is_moving(const struct objects *objects, const char *name)
{
	const struct publish_deps *deps = &objects->publish->deps;

	return objects->kind == INVENTORY_PCI && deps->moving && deps->moving(deps->arg, name);
}

/* What the apply of @body has left of others, or the next look would apply it again; NULL:
 * nothing. */
static json_t *left_over(const struct objects *objects, const struct reconcile_view *view,
			 const json_t *body)
{
	auto_json json_t *answer = NULL;
	auto_json json_t *nulls = NULL;
	json_t *patch;

	if (json_map_load(view->text->text, view->text->len, &answer, NULL) == 0)
		nulls = publish_left_over(objects->kind, body, answer);
	if (!nulls)
		return NULL;
	patch = patch_new_at(view->uid, view->version);
	json_object_update(patch, nulls);
	return patch;
}

static bool is_being_deleted(const struct reconcile_view *view)
{
	const struct api_meta *meta = view->object;

	return meta->deletion_timestamp != NULL;
}

/* One write of a sort is all that a run does: what it has not changed, it will not change. */
static bool is_to_be_done(const struct reconcile_view *view, enum step step)
{
	if (step == STEP_DELETE && is_being_deleted(view))
		return false; /* until others have removed their finalizers */
	if (step == STEP_APPLY_STATUS && view->last == STEP_PATCH_STATUS)
		return false;
	return step != view->last;
}

static void plan_object(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	static const enum step steps[] = {
		[PUBLISH_NOTHING] = STEP_REST,
		[PUBLISH_OBJECT] = STEP_APPLY,
		[PUBLISH_STATUS] = STEP_APPLY_STATUS,
		[PUBLISH_DELETE] = STEP_DELETE,
	};
	const struct objects *objects = arg;
	auto_json json_t *body = NULL;
	struct publish_case c;
	enum step step;

	if (is_moving(objects, view->key))
		return; /* the next inventory enqueues it again */
	c = case_of(objects, view);
	step = steps[publish_plan(&c, &body)];
	if (step == STEP_APPLY_STATUS && view->last == STEP_APPLY_STATUS) {
		ret_decision->body = left_over(objects, view, body);
		ret_decision->step = ret_decision->body ? STEP_PATCH_STATUS : STEP_REST;
	} else if (is_to_be_done(view, step)) {
		ret_decision->body = take_ptr(body);
		ret_decision->step = step;
	}
}

static void log_step(void *arg, const struct reconcile_view *view, const struct decision *decision)
{
	(void)arg;
	log_debug("writing", log_str("object", view->key), log_int("step", decision->step));
	if (decision->step == STEP_DELETE)
		log_info("device gone, deleting its object", log_str("object", view->key));
	if (decision->step == STEP_PATCH_STATUS)
		log_info("removing status fields of other writers", log_str("object", view->key));
}

static void audit_step(void *arg, const struct reconcile_view *view,
		       const struct decision *decision)
{
	const struct objects *objects = arg;
	const struct this_node *node = objects->publish->node;
	auto_json json_t *before = NULL;

	log_debug("written", log_str("object", view->key), log_int("step", decision->step));
	if (decision->step != STEP_APPLY_STATUS && decision->step != STEP_DELETE)
		return;
	before = publish_audit_list(publish_allocations(objects->kind, view->object));
	publish_audit_tell(
		&(struct publish_audit){
			.events = node->events,
			.kind = inventory_kinds[objects->kind],
			.name = view->key,
			.meta = store_object(informer_store(node->devices[objects->kind]),
					     view->key),
			.node_name = node->name,
			.user = user_of(objects, view->key),
		},
		before, json_object_get(decision->body, "status"));
}

/* --- the whole -------------------------------------------------------------------------------- */

static void make_objects(struct publish *publish, enum inventory_kind kind)
{
	const struct this_node *node = publish->node;
	struct objects *objects = &publish->objects[kind];
	const struct reconcile_spec spec = {
		.name = queue_name,
		.queue = publish->queue,
		.prefix = prefixes[kind],
		.kind = inventory_kinds[kind],
		.objects = node->devices[kind],
		.needs = objects->needs,
		.is_ready = has_inventory,
		.is_ours = is_ours,
		.plan = plan_object,
		.before = log_step,
		.after = audit_step,
		.arg = objects,
	};

	*objects = (struct objects){ .publish = publish,
				     .kind = kind,
				     .needs = { node->claims[kind] } };
	if (!node->devices[kind])
		return;
	objects->reconcile = node_reconcile_new(node, &spec);
}

struct publish *publish_new(const struct this_node *node, const struct publish_deps *deps)
{
	struct publish *publish = xcalloc(1, sizeof(*publish));

	publish->node = node;
	publish->deps = *deps;
	publish->queue =
		reconcile_queue_new(queue_name, WRITES_AT_A_TIME, node->clock, node->metrics);
	for (int kind = 0; kind < INVENTORY_KINDS; kind++)
		make_objects(publish, (enum inventory_kind)kind);
	return publish;
}

struct publish *publish_free(struct publish *publish)
{
	if (!publish)
		return NULL;
	for (int kind = 0; kind < INVENTORY_KINDS; kind++)
		reconcile_free(publish->objects[kind].reconcile);
	reconcile_queue_free(publish->queue);
	free(publish);
	return NULL;
}

/* Before that, keys would only wait, thousands of them. The last part that becomes known enqueues
 * all. */
static bool is_known(const struct publish *publish, enum inventory_kind kind)
{
	const struct informer *claims = publish->node->claims[kind];

	return publish->node->inventory && publish->objects[kind].reconcile &&
	       informer_synced(publish->node->devices[kind]) &&
	       (!claims || informer_synced(claims));
}

void publish_enqueue(struct publish *publish, enum inventory_kind kind, const char *name)
{
	if (is_known(publish, kind))
		reconcile_enqueue(publish->objects[kind].reconcile, name);
}

void publish_changed(struct publish *publish, enum inventory_kind kind, const char *name)
{
	if (is_known(publish, kind))
		reconcile_changed(publish->objects[kind].reconcile, name);
}

/* Enqueue all devices that have, had or should have an object. */
static void touch_all(const struct publish *publish, enum inventory_kind kind)
{
	const struct inventory_set *set = &publish->node->inventory->sets[kind];
	struct reconcile *reconcile = publish->objects[kind].reconcile;

	for (size_t i = 0; i < set->len; i++)
		reconcile_enqueue(reconcile, ((const struct api_meta *)set->objects[i])->name);
	reconcile_enqueue_all(reconcile);
}

void publish_enqueue_all(struct publish *publish)
{
	for (int kind = 0; kind < INVENTORY_KINDS; kind++) {
		if (is_known(publish, (enum inventory_kind)kind))
			touch_all(publish, (enum inventory_kind)kind);
	}
}

bool publish_settled(const struct publish *publish)
{
	return publish->node->inventory && reconcile_queue_is_idle(publish->queue);
}
