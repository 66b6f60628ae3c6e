#include "agent/config/config_tell.h"

#include <string.h>

#include "api/hostdeviceconfig.h"
#include "api/patch.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	NODES_MAX = 64, /* the schema's */
	LISTED_MAX = 8, /* in one text */
};

char *config_tell_text(const struct config_trouble *trouble)
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

char *config_tell_all(const struct config_troubles *troubles)
{
	size_t all = troubles->len + troubles->more;
	auto_str struct str text = STR_INIT;

	for (size_t i = 0; i < troubles->len && i < LISTED_MAX; i++) {
		auto_free char *one = config_tell_text(&troubles->items[i]);

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

/* --- what is wrong with the spec ------------------------------------------------------------ */

static bool is_judged(const struct config_case *c)
{
	const struct hostdeviceconfig_status *status = &c->object->status;

	return status->observed_generation == c->object->meta.generation &&
	       api_conditions_find(&status->conditions, accepted);
}

static void set_accepted(const struct config_case *c, struct api_conditions *conditions)
{
	const struct config_troubles *troubles = &c->config->troubles;
	auto_free char *message = config_tell_all(troubles);
	bool ok = troubles->len == 0;

	api_conditions_set(conditions,
			   &(struct api_condition_value){
				   .type = accepted,
				   .status = ok ? API_TRUE : API_FALSE,
				   .reason = ok ? "Accepted" : "EntriesLeftOut",
				   .message = ok ? "all entries are valid; status.nodes has those "
						   "that a node cannot apply"
						 : message,
				   .observed_generation = c->object->meta.generation,
			   },
			   c->now_wall_ms);
}

json_t *config_tell_verdict(const struct config_case *c)
{
	struct hostdeviceconfig_status status;
	json_t *body;
	json_t *json;

	if (is_judged(c) || c->object->meta.deletion_timestamp)
		return NULL;
	json_map_copy(hostdeviceconfig_status_map, &status, &c->object->status);
	api_conditions_make_room(&status.conditions, &accepted, 1);
	set_accepted(c, &status.conditions);
	json = json_map_encode(hostdeviceconfig_status_map, &status);
	json_map_done(hostdeviceconfig_status_map, &status);

	json_map_init(hostdeviceconfig_status_map, &status);
	status.observed_generation = c->object->meta.generation;
	fill_entries(&c->config->troubles, &status.entries);
	body = patch_new(&c->object->meta); /* of several agents one gets through */
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

/* --- what this node cannot carry out ------------------------------------------------------------- */

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

json_t *config_tell_node(const struct config_case *c)
{
	const struct hostdeviceconfig_node *has = own_item(c);
	auto_json json_t *before = NULL;
	auto_json json_t *item = NULL;

	if (!is_judged(c) || c->object->meta.deletion_timestamp)
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
