#include "agent/publish_plan.h"

#include <string.h>

#include "api/names.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "base/array.h"
#include "base/mem.h"

static const char claimable[] = "Claimable";

/* Where the parts lie in each kind's struct, and which status fields are not the inventory's. */
static const struct shape {
	const struct api_kind *kind;
	const struct json_row *status_map;
	size_t status;
	size_t conditions;
	const char *foreign[4];
} shapes[] = {
	[INVENTORY_PCI] = {
		.kind = &pcidevice_kind,
		.status_map = pcidevice_status_map,
		.status = offsetof(struct pcidevice, status),
		.conditions = offsetof(struct pcidevice, status.conditions),
	},
	[INVENTORY_USB] = {
		.kind = &usbdevice_kind,
		.status_map = usbdevice_status_map,
		.status = offsetof(struct usbdevice, status),
		.conditions = offsetof(struct usbdevice, status.conditions),
		/* whoever carries out the claim owns these */
		.foreign = { "enabled", "status", "message" },
	},
};

static struct api_conditions *conditions_of(const struct shape *shape, void *object)
{
	return (void *)((char *)object + shape->conditions);
}

/* What others wrote may even lack its type. */
static void keep_claimable(struct api_conditions *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->len; i++) {
		struct api_condition *condition = &list->items[i];

		if (condition->type && strcmp(condition->type, claimable) == 0)
			list->items[kept++] = *condition;
		else
			json_map_done(api_condition_map, condition);
	}
	list->len = kept;
}

/* The status as JSON, reduced to what the inventory owns. */
static json_t *own_status(const struct shape *shape, void *object)
{
	json_t *status;

	keep_claimable(conditions_of(shape, object));
	status = json_map_encode(shape->status_map, (char *)object + shape->status);
	for (size_t i = 0; i < ARRAY_LEN(shape->foreign) && shape->foreign[i]; i++)
		json_object_del(status, shape->foreign[i]);
	return status;
}

/* Say @value on @object, with the transition time of @seen (may be NULL) if that said it already. */
static void set_claimable(const struct shape *shape, void *object, void *seen,
			  const struct api_condition_value *value, int64_t now_wall_ms)
{
	struct api_conditions *list = conditions_of(shape, object);
	const struct api_condition *before =
		seen ? api_conditions_find(conditions_of(shape, seen), claimable) : NULL;

	api_conditions_remove(list, claimable);
	if (before)
		*array_add(list) = (struct api_condition){
			.type = xstrdup(claimable),
			.status = xstrdup_or_null(before->status),
			.reason = xstrdup_or_null(before->reason),
			.message = xstrdup_or_null(before->message),
			.last_transition_time = xstrdup_or_null(before->last_transition_time),
			.observed_generation = before->observed_generation,
		};
	api_conditions_set(list, value, now_wall_ms);
}

static json_t *status_body(json_t *status)
{
	json_t *body = json_object();

	json_object_set_new(body, "status", status);
	return body;
}

/* An administrator may give a device a resource name of its own. */
static void take_override(const struct publish_case *c, void *object)
{
	struct pcidevice *device = object;
	const char *name;

	if (c->kind != INVENTORY_PCI)
		return;
	name = api_meta_annotation(c->seen, NAMES_ANNOTATION_RESOURCE_NAME);
	if (!name || !names_valid_resource(name))
		return;
	free(device->status.resource_name);
	device->status.resource_name = xstrdup(name);
}

/* NULL when @seen says all that @object does. Changes both. */
static json_t *status_difference(const struct shape *shape, void *object, void *seen)
{
	json_t *want = own_status(shape, object);
	auto_json json_t *have = own_status(shape, seen);

	if (!json_equal(want, have))
		return status_body(want);
	json_decref(want);
	return NULL;
}

static json_t *plan_status(const struct publish_case *c)
{
	const struct shape *shape = &shapes[c->kind];
	void *object = api_object_copy(shape->kind, c->wanted);
	void *seen = api_object_copy(shape->kind, c->seen);
	/* The values are borrowed from @wanted, which stays as it is. */
	const void *conditions = (const char *)c->wanted + shape->conditions;
	const struct api_condition *is = api_conditions_find(conditions, claimable);
	struct api_condition_value value = {
		.type = claimable,
		.status = strcmp(is->status, "True") == 0 ? API_TRUE : API_FALSE,
		.reason = is->reason,
		.message = is->message,
	};
	json_t *body;

	set_claimable(shape, object, seen, &value, c->now_wall_ms);
	take_override(c, object);
	body = status_difference(shape, object, seen);
	api_object_free(shape->kind, object);
	api_object_free(shape->kind, seen);
	return body;
}

static json_t *plan_gone(const struct publish_case *c)
{
	static const struct api_condition_value value = {
		.type = claimable,
		.status = API_FALSE,
		.reason = "DeviceGone",
		.message =
			"the device is not on the node; the object is kept because it is claimed",
	};
	const struct shape *shape = &shapes[c->kind];
	void *object = api_object_copy(shape->kind, c->seen);
	void *seen = api_object_copy(shape->kind, c->seen);
	json_t *body;

	set_claimable(shape, object, seen, &value, c->now_wall_ms);
	body = status_difference(shape, object, seen);
	api_object_free(shape->kind, object);
	api_object_free(shape->kind, seen);
	return body;
}

/* Is each of @want in @have with the same value? */
static bool has_all(const struct json_pairs *have, const struct json_pairs *want)
{
	for (size_t i = 0; i < want->len; i++) {
		const char *value = json_pairs_get(have, want->items[i].key);

		if (!value || strcmp(value, want->items[i].value) != 0)
			return false;
	}
	return true;
}

static json_t *pairs_json(const struct json_pairs *pairs)
{
	json_t *json = json_object();

	for (size_t i = 0; i < pairs->len; i++)
		json_object_set_new(json, pairs->items[i].key, json_string(pairs->items[i].value));
	return json;
}

/* The driver annotation remembers what the device had when its object came to be, so what it says
 * stays; a remembered vfio-pci is a mistake of whoever wrote it and is replaced. */
static void keep_driver(struct json_pairs *annotations, const struct api_meta *seen)
{
	const char *driver = seen ? api_meta_annotation(seen, NAMES_ANNOTATION_DRIVER) : NULL;

	if (driver && *driver && strcmp(driver, "vfio-pci") != 0)
		json_pairs_set(annotations, NAMES_ANNOTATION_DRIVER, driver);
}

/* NULL when @seen has the labels and annotations of @wanted. */
static json_t *plan_object(const struct publish_case *c)
{
	const struct api_meta *wanted = c->wanted;
	const struct api_meta *seen = c->seen;
	struct json_pairs annotations = { 0 };
	json_t *body = NULL;

	for (size_t i = 0; i < wanted->annotations.len; i++)
		json_pairs_set(&annotations, wanted->annotations.items[i].key,
			       wanted->annotations.items[i].value);
	keep_driver(&annotations, seen);

	if (!seen || !has_all(&seen->labels, &wanted->labels) ||
	    !has_all(&seen->annotations, &annotations)) {
		json_t *meta = json_object();

		json_object_set_new(meta, "labels", pairs_json(&wanted->labels));
		if (annotations.len > 0)
			json_object_set_new(meta, "annotations", pairs_json(&annotations));
		body = json_object();
		json_object_set_new(body, "metadata", meta);
	}
	json_pairs_done(&annotations);
	return body;
}

static enum publish_step step_of(enum publish_step step, json_t *body, json_t **ret_body)
{
	*ret_body = body;
	return body ? step : PUBLISH_NOTHING;
}

enum publish_step publish_plan(const struct publish_case *c, json_t **ret_body)
{
	json_t *body;

	*ret_body = NULL;
	if (!c->wanted && !c->seen)
		return PUBLISH_NOTHING;
	if (!c->wanted && c->claimed)
		return step_of(PUBLISH_STATUS, plan_gone(c), ret_body);
	if (!c->wanted)
		return PUBLISH_DELETE;

	body = plan_object(c);
	if (body)
		return step_of(PUBLISH_OBJECT, body, ret_body);
	return step_of(PUBLISH_STATUS, plan_status(c), ret_body);
}

json_t *publish_first_status(enum inventory_kind kind, const void *wanted)
{
	const struct shape *shape = &shapes[kind];
	void *object = api_object_copy(shape->kind, wanted);
	json_t *status = own_status(shape, object);

	api_object_free(shape->kind, object);
	return status_body(status);
}

static bool is_foreign(const struct shape *shape, const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(shape->foreign) && shape->foreign[i]; i++) {
		if (strcmp(shape->foreign[i], key) == 0)
			return true;
	}
	return false;
}

json_t *publish_left_over(enum inventory_kind kind, const json_t *body, const json_t *answer)
{
	const struct shape *shape = &shapes[kind];
	const json_t *sent = json_object_get(body, "status");
	const json_t *is = json_object_get(answer, "status");
	json_t *nulls = json_object();

	for (const struct json_row *row = shape->status_map; row->type != JSON_ROW_END; row++) {
		if (json_object_get(is, row->key) && !json_object_get(sent, row->key) &&
		    !is_foreign(shape, row->key))
			json_object_set_new(nulls, row->key, json_null());
	}
	if (json_object_size(nulls) > 0)
		return status_body(nulls);
	json_decref(nulls);
	return NULL;
}

json_t *publish_object(enum inventory_kind kind, const void *wanted)
{
	const struct shape *shape = &shapes[kind];
	json_t *object = api_object_encode(shape->kind, wanted);
	auto_json json_t *status = publish_first_status(kind, wanted);

	json_object_update(object, status);
	return object;
}
