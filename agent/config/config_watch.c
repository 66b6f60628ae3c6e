#include "agent/config/config_watch.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/node/node_reconcile.h"
#include "agent/node/this_node.h"
#include "api/hostdeviceconfig.h"
#include "api/names.h"
#include "api/patch.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/reconcile.h"
#include "kube/store.h"

/* --- bodies of status writes ------------------------------------------------------------------ */

/*
 * Bodies of status writes report which parts of a HostDeviceConfig have no effect.
 *
 * Errors of the spec are the same on every node: the first agent that sees a new generation writes
 * them once. What only this node cannot do is in its own item of status.nodes.
 */

enum {
	NODES_MAX = 64, /* the schema's */
	LISTED_MAX = 8, /* in one text */
};

/* "genericDevices[2] (example.com/kvm): /dev/kvm is not there"; the caller frees. */
static char *config_trouble_text(const struct config_trouble *trouble)
{
	auto_str struct str text = STR_INIT;

	str_add(&text, trouble->list);
	if (trouble->index >= 0)
		str_addf(&text, "[%lld]", (long long)trouble->index);
	if (trouble->resource)
		str_addf(&text, " (%s)", trouble->resource);
	str_addf(&text, ": %s", trouble->message ? trouble->message : "it cannot be carried out");
	return str_detach(&text);
}

/* All of them in one text, cut with a word of how many more there are; the caller frees. */
static char *config_troubles_text(const struct config_troubles *troubles)
{
	size_t all = troubles->len + troubles->more;
	auto_str struct str text = STR_INIT;

	for (size_t i = 0; i < troubles->len && i < LISTED_MAX; i++) {
		auto_free char *one = config_trouble_text(&troubles->items[i]);

		str_addf(&text, "%s%s", i ? "; " : "", one);
	}
	if (all > LISTED_MAX)
		str_addf(&text, "; and %zu more", all - LISTED_MAX);
	return str_detach(&text);
}

static void fill_entries(const struct config_troubles *troubles,
			 struct hostdeviceconfig_entries *entries)
{
	for (size_t i = 0; i < troubles->len; i++) {
		const struct config_trouble *trouble = &troubles->items[i];

		*array_add(entries) = (struct hostdeviceconfig_entry){
			.list = xstrdup(trouble->list),
			.index = trouble->index,
			.resource_name = xstrdup_or_null(trouble->resource),
			.reason = xstrdup(trouble->reason),
			.message = xstrdup_or_null(trouble->message),
		};
	}
}

static const char *const accepted = "Accepted";

/* --- what is wrong with the spec -------------------------------------------------------------- */

static bool has_verdict(const struct config_case *c)
{
	const struct hostdeviceconfig_status *status = &c->object->status;

	return status->observed_generation == c->object->meta.generation &&
	       api_conditions_find(&status->conditions, accepted);
}

static void set_accepted(const struct config_case *c, struct api_conditions *conditions)
{
	const struct config_troubles *troubles = &c->config->troubles;
	auto_free char *message = config_troubles_text(troubles);
	bool ok = troubles->len == 0;

	api_conditions_set(conditions,
			   &(struct api_condition_value){
				   .type = accepted,
				   .status = ok ? API_TRUE : API_FALSE,
				   .reason = ok ? "Accepted" : "EntriesLeftOut",
				   .message = ok ? "all entries are valid" : message,
				   .observed_generation = c->object->meta.generation,
			   },
			   c->now_wall_ms);
}

json_t *config_verdict_body(const struct config_case *c)
{
	struct hostdeviceconfig_status status;
	json_t *body;
	json_t *json;

	if (has_verdict(c) || c->object->meta.deletion_timestamp)
		return NULL;
	json_map_copy(hostdeviceconfig_status_map, &status, &c->object->status);
	api_conditions_make_room(&status.conditions, &accepted, 1);
	set_accepted(c, &status.conditions);
	json = json_map_encode(hostdeviceconfig_status_map, &status);
	json_map_done(hostdeviceconfig_status_map, &status);

	json_map_init(hostdeviceconfig_status_map, &status);
	status.observed_generation = c->object->meta.generation;
	fill_entries(&c->config->troubles, &status.entries);
	body = patch_new(&c->object->meta); /* of several agents, one succeeds */
	json_object_set_new(body, "status", json_map_encode(hostdeviceconfig_status_map, &status));
	json_map_done(hostdeviceconfig_status_map, &status);

	json_object_set(json_object_get(body, "status"), "conditions",
			json_object_get(json, "conditions"));
	json_decref(json);
	json = json_object_get(body, "status");
	json_object_set_new(json, "nodes", json_null());
	if (!json_object_get(json, "entries"))
		json_object_set_new(json, "entries", json_null());
	return body;
}

/* --- what this node cannot carry out ---------------------------------------------------------- */

static const struct hostdeviceconfig_node *own_item(const struct config_case *c)
{
	const struct hostdeviceconfig_nodes *nodes = &c->object->status.nodes;

	for (size_t i = 0; i < nodes->len; i++) {
		if (nodes->items[i].node && strcmp(nodes->items[i].node, c->node) == 0)
			return &nodes->items[i];
	}
	return NULL;
}

static json_t *item_json(const struct config_case *c)
{
	struct hostdeviceconfig_node item;
	json_t *json;

	json_map_init(hostdeviceconfig_node_map, &item);
	item.node = xstrdup(c->node);
	item.observed_generation = c->object->meta.generation;
	fill_entries(c->here, &item.entries);
	json = json_map_encode(hostdeviceconfig_node_map, &item);
	json_map_done(hostdeviceconfig_node_map, &item);
	return json;
}

json_t *config_node_body(const struct config_case *c)
{
	const struct hostdeviceconfig_node *has = own_item(c);
	auto_json json_t *before = NULL;
	auto_json json_t *item = NULL;

	if (!has_verdict(c) || c->object->meta.deletion_timestamp)
		return NULL;
	if (c->here->len == 0)
		return has ? json_pack("{s:{}}", "status") : NULL;
	if (!has && c->object->status.nodes.len >= NODES_MAX)
		return NULL;
	item = item_json(c);
	before = has ? json_map_encode(hostdeviceconfig_node_map, has) : NULL;
	if (before && json_equal(before, item))
		return NULL;
	return json_pack("{s:{s:[O]}}", "status", "nodes", item);
}

/* --- the watch -------------------------------------------------------------------------------- */

/*
 * What the parts of the agent cannot do of a valid HostDeviceConfig on this node. Each part reports
 * all of its troubles again and again. Its troubles with the previous config count until its next
 * report, but must not be written for the current config: config_parts_ask() and
 * config_parts_heard() handle that. Zero at first.
 */
struct config_parts {
	struct config_part *items;
	size_t len, cap;
};

struct config_part {
	const char *name;
	struct config_troubles troubles;
	bool reported;
};

static bool same(const struct config_trouble *a, const struct config_trouble *b)
{
	auto_free char *x = config_trouble_text(a);
	auto_free char *y = config_trouble_text(b);

	return strcmp(x, y) == 0 && strcmp(a->reason, b->reason) == 0;
}

static bool has(const struct config_troubles *list, const struct config_trouble *trouble)
{
	for (size_t i = 0; i < list->len; i++) {
		if (same(&list->items[i], trouble))
			return true;
	}
	return false;
}

static int by_name(const void *a, const void *b)
{
	const struct config_part *x = a;
	const struct config_part *y = b;

	return strcmp(x->name, y->name);
}

static struct config_part *part_of(struct config_parts *parts, const char *name)
{
	const struct config_part key = { .name = name };
	struct config_part *part =
		parts->len > 0 ? bsearch(&key, parts->items, parts->len, sizeof(key), by_name)
			       : NULL;

	if (part)
		return part;
	*array_add(parts) = key;
	qsort(parts->items, parts->len, sizeof(key), by_name);
	return bsearch(&key, parts->items, parts->len, sizeof(key), by_name);
}

/* Set all troubles of the part @name (static); copied. @news, if not NULL, is called for each new
 * one. True if a trouble changed, or if this is the part's first report since
 * config_parts_ask(). */
static bool config_parts_set(struct config_parts *parts, const char *name,
			     const struct config_troubles *troubles,
			     void (*report)(void *arg, const struct config_trouble *trouble),
			     void *arg)
{
	struct config_part *part = part_of(parts, name);
	struct config_troubles before = part->troubles;
	bool changed = before.len != troubles->len || !part->reported;

	part->reported = true;
	part->troubles = (struct config_troubles){ 0 };
	config_troubles_join(&part->troubles, troubles);
	for (size_t i = 0; i < part->troubles.len; i++) {
		if (has(&before, &part->troubles.items[i]))
			continue;
		changed = true;
		if (report)
			report(arg, &part->troubles.items[i]);
	}
	config_troubles_done(&before);
	return changed;
}

/* There is another config: nothing has been heard of it. */
static void config_parts_ask(struct config_parts *parts)
{
	for (size_t i = 0; i < parts->len; i++)
		parts->items[i].reported = false;
}

/* The number of parts that have reported on it. */
static size_t config_parts_reported(const struct config_parts *parts)
{
	size_t reported = 0;

	for (size_t i = 0; i < parts->len; i++)
		reported += parts->items[i].reported;
	return reported;
}

/* Append all troubles of all parts, always in the same order. */
static void config_parts_all(const struct config_parts *parts, struct config_troubles *troubles)
{
	for (size_t i = 0; i < parts->len; i++)
		config_troubles_join(troubles, &parts->items[i].troubles);
}

/* Release; there are none again. */
static void config_parts_done(struct config_parts *parts)
{
	for (size_t i = 0; i < parts->len; i++)
		config_troubles_done(&parts->items[i].troubles);
	array_done(parts);
}

enum {
	SPREAD_MS = 500, /* so that the first of many agents has written before the others would */
	REPORT_AFTER_MS =
		15000, /* a part does not report, for example on a node without a kubelet */
};

static const char field_manager[] = "hostdev-agent";

struct config_watch {
	const struct this_node *node;
	size_t parts_wanted;
	config_changed_fn *changed;
	void *arg;
	struct config *config; /* NULL: not known yet */
	char *uid;             /* of the object that it is of; NULL: there is none */
	int64_t generation;
	uint64_t verdict_ms; /* not before */
	uint64_t report_ms;  /* write the report then, even if some parts have not reported */
	struct config_parts parts;
	char *node_manager; /* one field manager for each node: none takes another's item away */
	struct reconcile *reconcile; /* of the status */
};

/* --- as struct reconcile_spec has them -------------------------------------------------------- */

static bool is_known(void *arg)
{
	const struct config_watch *watch = arg;

	return watch->config != NULL;
}

static bool is_default(void *arg, const char *name, const void *object)
{
	(void)arg;
	return object && strcmp(name, HOSTDEVICECONFIG_NAME) == 0;
}

/* A change of the status alone asks for nothing new. */
static bool is_same_spec(const struct config_watch *watch, const struct hostdeviceconfig *object)
{
	if (!watch->config)
		return false;
	if (!object || !watch->uid)
		return !object && !watch->uid;
	return object->meta.uid && strcmp(object->meta.uid, watch->uid) == 0 &&
	       object->meta.generation == watch->generation;
}

static void plan_verdict(const struct config_watch *watch, json_t *verdict,
			 struct decision *ret_decision)
{
	const struct config_troubles *troubles = &watch->config->troubles;

	ret_decision->step = STEP_PATCH_STATUS;
	ret_decision->body = verdict;
	if (troubles->len == 0)
		return;
	ret_decision->warning = true;
	ret_decision->event_reason = xstrdup("EntriesLeftOut");
	ret_decision->event_message = config_troubles_text(troubles);
}

/* What this node cannot carry out, and an item of it that others own, is applied once in a run. */
static void plan_node(const struct config_watch *watch, const struct reconcile_view *view,
		      const struct config_case *verdict, struct decision *ret_decision)
{
	struct config_troubles here = { 0 };
	struct config_case c = *verdict;

	if (view->last == STEP_APPLY_STATUS)
		return;
	config_parts_all(&watch->parts, &here);
	c.here = &here;
	ret_decision->body = config_node_body(&c);
	config_troubles_done(&here);
	if (!ret_decision->body)
		return;
	ret_decision->step = STEP_APPLY_STATUS;
	ret_decision->manager = watch->node_manager;
}

/* The verdict, and then what this node cannot carry out. */
static void plan_status(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	const struct config_watch *watch = arg;
	uint64_t now_ms = clock_now_ms(watch->node->clock);
	struct config_case c = { .object = view->object,
				 .config = watch->config,
				 .node = watch->node->name,
				 .now_wall_ms = view->now_wall_ms };
	auto_json json_t *verdict = NULL;

	if (!is_same_spec(watch, view->object))
		return; /* the watch will show it */
	verdict = config_verdict_body(&c);
	if (verdict && now_ms < watch->verdict_ms)
		ret_decision->again_ms = watch->verdict_ms - now_ms;
	else if (verdict)
		plan_verdict(watch, take_ptr(verdict), ret_decision);
	else if (config_parts_reported(&watch->parts) < watch->parts_wanted &&
		 now_ms < watch->report_ms)
		ret_decision->again_ms = watch->report_ms - now_ms;
	else
		plan_node(watch, view, &c, ret_decision);
}

/* --- what parts report ------------------------------------------------------------------------ */

static void on_trouble(void *arg, const struct config_trouble *trouble)
{
	const struct config_watch *watch = arg;
	const struct hostdeviceconfig *object =
		store_object(reconcile_store(watch->reconcile), HOSTDEVICECONFIG_NAME);
	auto_free char *text = config_trouble_text(trouble);

	log_warn("an entry of the HostDeviceConfig is not carried out", log_str("entry", text));
	if (object)
		events_record(watch->node->events,
			      &(struct events_about){ .kind = &hostdeviceconfig_kind,
						      .meta = &object->meta },
			      EVENTS_WARNING, "NotCarriedOut", "node %s: %s", watch->node->name,
			      text);
}

void config_watch_report(struct config_watch *watch, const char *name,
			 const struct config_troubles *troubles)
{
	if (config_parts_set(&watch->parts, name, troubles, on_trouble, watch))
		reconcile_enqueue(watch->reconcile, HOSTDEVICECONFIG_NAME);
}

/* --- what is asked for ------------------------------------------------------------------------ */

static void take(struct config_watch *watch, const struct hostdeviceconfig *object)
{
	struct config *before = watch->config;

	watch->config = config_new(object);
	free(watch->uid);
	watch->uid = object ? xstrdup_or_null(object->meta.uid) : NULL;
	watch->generation = object ? object->meta.generation : 0;
	watch->report_ms = clock_now_ms(watch->node->clock) + REPORT_AFTER_MS;
	config_parts_ask(&watch->parts);
	watch->verdict_ms =
		clock_now_ms(watch->node->clock) + clock_random(watch->node->clock) % SPREAD_MS;
	for (size_t i = 0; i < watch->config->troubles.len; i++) {
		auto_free char *text = config_trouble_text(&watch->config->troubles.items[i]);

		log_warn("an entry of the HostDeviceConfig is left out", log_str("entry", text));
	}
	watch->changed(watch->arg, watch->config);
	config_free(before);
}

static void read_config(struct config_watch *watch)
{
	const struct entry *entry =
		store_get(reconcile_store(watch->reconcile), HOSTDEVICECONFIG_NAME);
	const struct hostdeviceconfig *object = entry ? entry->object : NULL;

	if (!reconcile_is_synced(watch->reconcile, NULL))
		return;
	if (entry && !object) /* unreadable, as the store has logged: what is carried out stays */
		return;
	if (!is_same_spec(watch, object))
		take(watch, object);
	reconcile_enqueue(watch->reconcile, HOSTDEVICECONFIG_NAME);
}

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct config_watch *watch = arg;

	(void)before;
	(void)after;
	if (strcmp(name, HOSTDEVICECONFIG_NAME) == 0)
		read_config(watch);
}

static void on_synced(void *arg)
{
	read_config(arg);
}

bool config_watch_ready(struct config_watch *watch, struct str *reason)
{
	return reconcile_is_synced(watch->reconcile, reason);
}

/* --- life ------------------------------------------------------------------------------------- */

static void make_reconcile(struct config_watch *watch)
{
	const struct this_node *node = watch->node;
	const struct reconcile_spec spec = {
		.name = "config",
		.kind = &hostdeviceconfig_kind,
		.field_selector = "metadata.name=" HOSTDEVICECONFIG_NAME,
		.on_change = on_change,
		.on_synced = on_synced,
		.field_manager = field_manager,
		.max_running = 1,
		.is_ready = is_known,
		.is_ours = is_default,
		.plan = plan_status,
		.arg = watch,
	};

	watch->reconcile = node_reconcile_new(node, &spec);
}

struct config_watch *config_watch_new(const struct this_node *node, size_t parts,
				      config_changed_fn *changed, void *arg)
{
	struct config_watch *watch = xcalloc(1, sizeof(*watch));
	auto_free char *label = names_label_value(node->name);

	watch->node = node;
	watch->parts_wanted = parts;
	watch->changed = changed;
	watch->arg = arg;
	watch->node_manager = xasprintf("%s-%s", field_manager, label);
	make_reconcile(watch);
	return watch;
}

struct config_watch *config_watch_free(struct config_watch *watch)
{
	if (!watch)
		return NULL;
	reconcile_free(watch->reconcile);
	config_parts_done(&watch->parts);
	config_free(watch->config);
	free(watch->node_manager);
	free(watch->uid);
	free(watch);
	return NULL;
}

void config_watch_start(struct config_watch *watch)
{
	reconcile_start(watch->reconcile);
}
