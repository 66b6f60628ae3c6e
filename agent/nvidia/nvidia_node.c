#include "agent/nvidia/nvidia_node.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/node/node_reconcile.h"
#include "agent/node/this_node.h"
#include "api/json_map.h"
#include "api/node.h"
#include "api/patch.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/reconcile.h"

/* Of GPU Feature Discovery, and of Node Feature Discovery: "nvidia.com/gpu.count,cpu-model.id". */
#define TIMESTAMP "nvidia.com/gfd.timestamp"
#define LISTED    "nfd.node.kubernetes.io/feature-labels"
#define OURS      "nvidia.com/gpu."

struct nvidia_node {
	const struct this_node *node;
	struct reconcile *reconcile;
	bool known; /* `labels` are the node's */
	struct json_pairs labels;
	bool discovered; /* GPU Feature Discovery labels the Node, as logged */
	char *foreign;   /* labels that are somebody else's, as logged; NULL: none */
};

/* --- the plan --------------------------------------------------------------------------------- */

/* Does Node Feature Discovery list a label that begins with @prefix, or is it @whole? */
static bool is_listed(const struct node *node, const char *prefix, bool whole)
{
	const char *list = api_meta_annotation(&node->meta, LISTED);
	size_t len = strlen(prefix);

	while (list && *list) {
		size_t item = strcspn(list, ",");

		if (strncmp(list, prefix, len) == 0 && item >= len && (!whole || item == len))
			return true;
		list += item;
		list += *list == ',';
	}
	return false;
}

/* Does GPU Feature Discovery label the Node? It writes the time of each look, unless it is told not
 * to; Node Feature Discovery, which writes for it, lists the labels that it has written. */
static bool has_discovery(const struct node *node)
{
	return api_meta_label(&node->meta, TIMESTAMP) || is_listed(node, OURS, false);
}

/* What the Node's annotation says was applied; a text that is no such record says nothing. */
static void read_record(const struct node *node, struct json_pairs *ret_record)
{
	const char *text = api_meta_annotation(&node->meta, NVIDIA_RECORD);
	auto_json json_t *record = NULL;
	const char *key;
	json_t *value;

	*ret_record = (struct json_pairs){ 0 };
	if (!text || json_map_load(text, strlen(text), &record, NULL) < 0)
		return;
	json_object_foreach (record, key, value) {
		if (json_is_string(value))
			(void)json_pairs_set(ret_record, key, json_string_value(value));
	}
}

/* Is the Node's label @key as it was applied? */
static bool is_ours_still(const struct node *node, const struct json_pairs *record, const char *key)
{
	return str_match(api_meta_label(&node->meta, key), json_pairs_get(record, key));
}

/* Take no label away from Node Feature Discovery: it would come back only later. */
static void choose_listed(const struct node *node, const struct json_pairs *record,
			  struct json_pairs *chosen)
{
	for (size_t i = 0; i < record->len; i++) {
		const char *key = record->items[i].key;

		if (is_listed(node, key, true) && is_ours_still(node, record, key))
			(void)json_pairs_set(chosen, key, record->items[i].value);
	}
}

/* Those of @labels that nobody else has. */
static void choose(const struct node *node, const struct json_pairs *record,
		   const struct json_pairs *labels, struct json_pairs *chosen, struct str *foreign)
{
	for (size_t i = 0; i < labels->len; i++) {
		const char *key = labels->items[i].key;

		if (!api_meta_label(&node->meta, key) || is_ours_still(node, record, key))
			(void)json_pairs_set(chosen, key, labels->items[i].value);
		else
			str_addf(foreign, "%s%s", foreign->len ? ", " : "", key);
	}
}

static json_t *object_of(const struct json_pairs *pairs)
{
	json_t *object = json_object();

	for (size_t i = 0; i < pairs->len; i++)
		json_put_text(object, pairs->items[i].key, pairs->items[i].value);
	return object;
}

/* @record NULL: the annotation ends. */
static void apply(const struct node *node, const struct json_pairs *chosen, const char *record,
		  struct decision *d)
{
	auto_json json_t *annotations = json_object();
	json_t *meta;

	d->step = STEP_APPLY;
	d->yields = true;
	d->body = patch_new(&node->meta);
	meta = json_object_get(d->body, "metadata");
	json_put(meta, "labels", object_of(chosen));
	if (record)
		json_put_text(annotations, NVIDIA_RECORD, record);
	json_put(meta, "annotations", take_ptr(annotations));
}

void nvidia_node_plan(const struct node *node, const struct json_pairs *labels,
		      struct decision *ret_decision)
{
	bool discovered = has_discovery(node);
	struct json_pairs record;
	struct json_pairs chosen = { 0 };
	auto_str struct str foreign = STR_INIT;
	auto_json json_t *now = NULL;
	auto_free char *text = NULL;

	read_record(node, &record);
	if (discovered)
		choose_listed(node, &record, &chosen);
	else
		choose(node, &record, labels, &chosen, &foreign);
	now = object_of(&chosen);
	text = discovered || chosen.len == 0 ? NULL : json_map_text(now);
	if (!str_equal(text, api_meta_annotation(&node->meta, NVIDIA_RECORD)) ||
	    !json_pairs_include(&node->meta.labels, &chosen))
		apply(node, &chosen, text, ret_decision);
	if (foreign.len > 0) {
		ret_decision->job = str_detach(&foreign);
		ret_decision->job_free = free;
	}
	json_pairs_done(&record);
	json_pairs_done(&chosen);
}

/* --- the reconciler --------------------------------------------------------------------------- */

/* What an apply has not changed, it will not change. */
static void plan(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	const struct nvidia_node *labelled = arg;

	if (!labelled->known)
		return;
	nvidia_node_plan(view->object, &labelled->labels, ret_decision);
	if (view->last == STEP_APPLY && ret_decision->step == STEP_APPLY) {
		ret_decision->step = STEP_REST;
		json_decref(ret_decision->body);
		ret_decision->body = NULL;
	}
}

/* Each once, as long as it is so. */
static void rested(void *arg, const char *key, const void *object, const struct decision *decision)
{
	struct nvidia_node *labelled = arg;
	const struct node *node = object;
	const char *foreign = decision ? decision->job : NULL;
	bool discovered = node && labelled->labels.len > 0 && has_discovery(node);

	(void)key;
	if (discovered && !labelled->discovered)
		log_info("GPU Feature Discovery labels the Node: the agent does not");
	labelled->discovered = discovered;
	if (foreign && !str_equal(foreign, labelled->foreign))
		log_warn("labels of the Node that describe its GPUs are somebody else's",
			 log_str("labels", foreign));
	str_set(&labelled->foreign, foreign);
}

void nvidia_node_changed(struct nvidia_node *labelled)
{
	reconcile_changed(labelled->reconcile, labelled->node->name);
}

void nvidia_node_set(struct nvidia_node *labelled, const struct json_pairs *labels)
{
	if (labelled->known && json_pairs_equal(&labelled->labels, labels))
		return;
	labelled->known = true;
	json_pairs_done(&labelled->labels);
	for (size_t i = 0; i < labels->len; i++)
		(void)json_pairs_set(&labelled->labels, labels->items[i].key,
				     labels->items[i].value);
	reconcile_enqueue(labelled->reconcile, labelled->node->name);
}

struct nvidia_node *nvidia_node_new(const struct this_node *node)
{
	struct nvidia_node *labelled = xcalloc(1, sizeof(*labelled));
	const struct reconcile_spec spec = {
		.name = "nvidia-node",
		.field_manager = NVIDIA_MANAGER,
		.plan = plan,
		.rested = rested,
		.arg = labelled,
	};

	labelled->node = node;
	labelled->reconcile = node_reconcile_self(node, &spec);
	return labelled;
}

struct nvidia_node *nvidia_node_free(struct nvidia_node *labelled)
{
	if (!labelled)
		return NULL;
	reconcile_free(labelled->reconcile);
	json_pairs_done(&labelled->labels);
	free(labelled->foreign);
	free(labelled);
	return NULL;
}
