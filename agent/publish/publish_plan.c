#include "agent/publish/publish_plan.h"

#include <string.h>

#include "agent/inventory/native_driver.h"
#include "api/mediateddevice.h"
#include "api/mediateddeviceparent.h"
#include "api/names.h"
#include "api/object.h"
#include "api/offered_resource.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/resource_name.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"

static const char claimable[] = "Claimable";

enum { HOLDER_MAX = 1024 }; /* of the schema */

/* Where the parts lie in each kind's struct. */
static const struct shape {
	const struct api_kind *kind;
	const struct json_row *status_map;
	size_t status;
	const char *condition; /* always written; NULL: the kind has none                */
	const char *sometimes; /* written if the inventory has it; NULL: none            */
	const char *offered;   /* written if it is offered without a claim; NULL: none   */
	const char *claimed;   /* written while it has a claim; NULL: none               */
	size_t conditions;
	size_t allocations; /* 0: the kind has none */
} shapes[] = {
	[INVENTORY_PCI] = {
		.kind = &pcidevice_kind,
		.status_map = pcidevice_status_map,
		.status = offsetof(struct pcidevice, status),
		.condition = claimable,
		.sometimes = "Distinguishable",
		.offered = "Offered",
		.claimed = "Claimed",
		.conditions = offsetof(struct pcidevice, status.conditions),
		.allocations = offsetof(struct pcidevice, status.allocations),
	},
	[INVENTORY_USB] = {
		.kind = &usbdevice_kind,
		.status_map = usbdevice_status_map,
		.status = offsetof(struct usbdevice, status),
		.condition = claimable,
		.offered = "Offered",
		.conditions = offsetof(struct usbdevice, status.conditions),
		.allocations = offsetof(struct usbdevice, status.allocations),
	},
	[INVENTORY_MDEV] = {
		.kind = &mediateddevice_kind,
		.status_map = mediateddevice_status_map,
		.status = offsetof(struct mediateddevice, status),
		.allocations = offsetof(struct mediateddevice, status.allocations),
	},
	[INVENTORY_MDEV_PARENT] = {
		.kind = &mediateddeviceparent_kind,
		.status_map = mediateddeviceparent_status_map,
		.status = offsetof(struct mediateddeviceparent, status),
		.condition = "Configured",
		.conditions = offsetof(struct mediateddeviceparent, status.conditions),
	},
};

static struct api_conditions *conditions_of(const struct shape *shape, void *object)
{
	return (void *)((char *)object + shape->conditions);
}

/* In our order, whatever the API server's is. What others wrote may even lack its type. */
static void keep_own(const struct shape *shape, struct api_conditions *list)
{
	const char *const types[] = { shape->condition, shape->sometimes, shape->offered,
				      shape->claimed };
	struct api_conditions kept = { 0 };

	for (size_t t = 0; t < ARRAY_LEN(types); t++) {
		const struct api_condition *own =
			types[t] ? api_conditions_find(list, types[t]) : NULL;

		if (own)
			json_map_copy(api_condition_map, array_add(&kept), own);
	}
	for (size_t i = 0; i < list->len; i++)
		json_map_done(api_condition_map, &list->items[i]);
	free(list->items);
	*list = kept;
}

/* The status as JSON, reduced to what is ours. */
static json_t *own_status(const struct shape *shape, void *object)
{
	if (shape->condition)
		keep_own(shape, conditions_of(shape, object));
	return json_map_encode(shape->status_map, (char *)object + shape->status);
}

/* Say on @object what @seen (may be NULL) says, and then @value (with reason NULL: no more), with
 * the transition time of @seen if that said it already. */
static void set_condition(const struct shape *shape, void *object, void *seen,
			  const struct api_condition_value *value, int64_t now_wall_ms)
{
	struct api_conditions *list = conditions_of(shape, object);
	const struct api_condition *before =
		seen ? api_conditions_find(conditions_of(shape, seen), value->type) : NULL;

	api_conditions_remove(list, value->type);
	if (before)
		json_map_copy(api_condition_map, array_add(list), before);
	if (value->reason)
		api_conditions_set(list, value, now_wall_ms);
}

/* What the inventory says of @type, borrowed from it; reason NULL: nothing. */
static struct api_condition_value wanted_condition(const struct publish_case *c,
						   const struct shape *shape, const char *type)
{
	const void *conditions = (const char *)c->wanted + shape->conditions;
	const struct api_condition *is = api_conditions_find(conditions, type);
	struct api_condition_value value = { .type = type };

	if (!is)
		return value;
	value.status = strcmp(is->status, "True") == 0 ? API_TRUE : API_FALSE;
	value.reason = is->reason;
	value.message = is->message;
	return value;
}

/* What the condition Offered says of @offer, which is known; the caller frees. */
static char *offered_text(const struct publish_offer *offer)
{
	const char *on_demand = offer->on_demand ? " on demand" : "";

	if (offer->bound_for)
		return xasprintf("%s offers it as %s%s, and %s has it: it goes back to its driver "
				 "when the pods of that one have ended",
				 offer->by, offer->resource, on_demand, offer->bound_for);
	if (!offer->trouble)
		return xasprintf("%s offers it as %s%s", offer->by, offer->resource, on_demand);
	return xasprintf("%s offers it as %s%s, but %s: %s", offer->by, offer->resource, on_demand,
			 offer->on_demand ? "it cannot be bound for a pod now"
					  : "the kubelet is told not to give it to a pod",
			 offer->trouble);
}

/* Of a device that is claimed, its claim says it. */
static void take_offered(const struct publish_case *c, const struct shape *shape, void *object,
			 void *seen)
{
	const struct publish_offer *offer = &c->offer;
	struct api_condition_value value = { .type = shape->offered, .status = API_FALSE };
	auto_free char *message = NULL;

	if (c->claimed || (offer->known && !offer->resource && !offer->trouble))
		return;
	if (offer->known && !offer->resource) {
		value.reason = "OtherPlugin";
		message = xasprintf("%s does not offer it: %s", offer->by, offer->trouble);
	} else if (offer->known) {
		message = offered_text(offer);
		value.reason = offer->bound_for ? "BoundOnDemand" : "Offered";
		value.status = API_TRUE;
	}
	if (offer->known && offer->resource && offer->trouble) {
		value.reason = offer->group_taken ? "GroupInUse" : "Unhealthy";
		value.status = API_FALSE;
	}
	value.message = message;
	set_condition(shape, object, seen, &value, c->now_wall_ms);
}

/* Claimable is what the node says, with a claim or without. Beside it, readers see that somebody
 * has the device already, but not who: not everybody who may read devices may read claims. */
static void take_claimed(const struct publish_case *c, const struct shape *shape, void *object,
			 void *seen)
{
	const struct api_condition_value value = {
		.type = shape->claimed,
		.status = API_TRUE,
		.reason = "Claimed",
		.message = "the PCIDeviceClaim of the same name shows for whom, and its state",
	};

	if (c->claimed)
		set_condition(shape, object, seen, &value, c->now_wall_ms);
}

/* What the inventory says, or else what somebody else knows of it. */
static void take_conditions(const struct publish_case *c, const struct shape *shape, void *object,
			    void *seen)
{
	struct api_condition_value value;

	if (!shape->condition)
		return;
	value = wanted_condition(c, shape, shape->condition);
	if (!value.reason && c->condition)
		value = *c->condition;
	set_condition(shape, object, seen, &value, c->now_wall_ms);
	if (shape->sometimes)
		value = wanted_condition(c, shape, shape->sometimes);
	if (shape->sometimes && value.reason)
		set_condition(shape, object, seen, &value, c->now_wall_ms);
	if (shape->offered)
		take_offered(c, shape, object, seen);
	if (shape->claimed)
		take_claimed(c, shape, object, seen);
}

static json_t *status_body(json_t *status)
{
	json_t *body = json_object();

	json_object_set_new(body, "status", status);
	return body;
}

static void take_allocations(const struct publish_case *c, const struct shape *shape, void *object)
{
	struct pcidevice_allocations *to = (void *)((char *)object + shape->allocations);
	const void *seen = c->seen ? (const char *)c->seen + shape->allocations : NULL;
	const struct pcidevice_allocations *from = c->allocations ? c->allocations : seen;

	for (size_t i = 0; i < to->len; i++) /* of a device that is gone: what was told */
		json_map_done(pcidevice_allocation_map, &to->items[i]);
	to->len = 0;
	for (size_t i = 0; from && i < from->len; i++)
		json_map_copy(pcidevice_allocation_map, array_add(to), &from->items[i]);
}

/* If the device is gone and a pod had it, the status says so. */
static void take_orphaned(const struct publish_case *c, struct usbdevice *device)
{
	const struct pcidevice_allocations *list = c->allocations;
	struct usbdevice_status *status = &device->status;

	if (!c->wanted && !list)
		return; /* as it is */
	free(status->status);
	free(status->message);
	status->status = NULL;
	status->message = NULL;
	if (c->wanted || list->len == 0)
		return;
	status->status = xstrdup("orphaned");
	status->message = xasprintf("the device was unplugged while pod %s/%s had it",
				    list->items[0].namespace, list->items[0].pod);
}

/* The pod that has it, then what the node itself does with it. */
static void take_holder(const struct publish_case *c, struct usbdevice *device)
{
	const struct usbdevice *wanted = c->wanted;
	const struct pcidevice_allocations *list = &device->status.allocations;
	auto_str struct str text = STR_INIT;

	if (list->len > 0 && list->items[0].namespace && list->items[0].pod)
		str_addf(&text, "pod %s/%s", list->items[0].namespace, list->items[0].pod);
	if (wanted && wanted->status.holder)
		str_addf(&text, "%s%s", text.len ? ", " : "", wanted->status.holder);
	str_cut(&text, HOLDER_MAX);
	free(device->status.holder);
	device->status.holder = text.len ? str_detach(&text) : NULL;
}

/* The resource that the device is offered as without a claim; NULL: none. While that is not
 * known, what is published stays: @conditions (NULL: none) and @resource. */
static const char *resource_selected(const struct publish_case *c,
				     const struct api_conditions *conditions, const char *resource)
{
	if (c->claimed)
		return NULL;
	if (c->offer.known)
		return c->offer.resource;
	return conditions && api_conditions_find(conditions, "Offered") ? resource : NULL;
}

/* The caller frees; NULL: none. */
static char *pci_resource(const struct publish_case *c)
{
	const struct pcidevice *seen = c->seen;
	const char *selected = resource_selected(c, seen ? &seen->status.conditions : NULL,
						 seen ? seen->status.resource_name : NULL);

	if (c->resource)
		return xstrdup(c->resource);
	return selected ? xstrdup(selected) : offered_resource(c->wanted, c->seen, c->claim);
}

/* The caller frees. */
static char *usb_resource(const struct publish_case *c, const struct usbdevice *device)
{
	const struct usbdevice *seen = c->seen;
	const char *selected = resource_selected(c, seen ? &seen->status.conditions : NULL,
						 seen ? seen->status.resource_name : NULL);

	return selected ? xstrdup(selected) : resource_name_usb(device->meta.name);
}

/* What the inventory cannot know of a device: its resource and its allocations. */
static void take_lent(const struct publish_case *c, void *object)
{
	const struct shape *shape = &shapes[c->kind];

	if (c->kind == INVENTORY_PCI) {
		struct pcidevice *device = object;

		free(device->status.resource_name);
		device->status.resource_name = pci_resource(c);
	} else if (c->kind == INVENTORY_USB) {
		struct usbdevice *usb = object;

		free(usb->status.resource_name);
		usb->status.resource_name = usb_resource(c, usb);
		usb->status.enabled = c->usb_claim && usbdeviceclaim_is_offered(c->usb_claim);
		take_orphaned(c, usb);
	} else if (c->kind == INVENTORY_MDEV) {
		struct mediateddevice *mdev = object;

		mdev->status.resource_name = xstrdup_or_null(c->resource);
	}
	if (shape->allocations)
		take_allocations(c, shape, object);
	if (c->kind == INVENTORY_USB)
		take_holder(c, object);
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
	json_t *body;

	take_conditions(c, shape, object, seen);
	take_lent(c, object);
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

	set_condition(shape, object, seen, &value, c->now_wall_ms);
	if (shape->sometimes)
		api_conditions_remove(conditions_of(shape, object), shape->sometimes);
	if (shape->offered)
		api_conditions_remove(conditions_of(shape, object), shape->offered);
	if (c->kind == INVENTORY_USB)
		take_lent(c, object);
	else if (shape->allocations) /* its pod may run on, and ends some day */
		take_allocations(c, shape, object);
	body = status_difference(shape, object, seen);
	api_object_free(shape->kind, object);
	api_object_free(shape->kind, seen);
	return body;
}

static json_t *pairs_json(const struct json_pairs *pairs)
{
	json_t *json = json_object();

	for (size_t i = 0; i < pairs->len; i++)
		json_object_set_new(json, pairs->items[i].key, json_string(pairs->items[i].value));
	return json;
}

/* The driver annotation names the driver that the device returns to. While the device is claimed,
 * or on no driver of its own, the annotation stays. A passthrough driver, or a text that is no
 * driver name, is a mistake in the annotation: then the claim may know the driver. */
static void keep_driver(const struct publish_case *c, struct json_pairs *annotations)
{
	const struct api_meta *seen = c->seen;
	const char *old = seen ? api_meta_annotation(seen, NAMES_ANNOTATION_DRIVER) : NULL;
	const char *now = api_meta_annotation(c->wanted, NAMES_ANNOTATION_DRIVER);
	const char *told = c->claim ? c->claim->status.kernel_driver_to_unbind : NULL;

	if ((c->claimed || !now) && native_driver_valid(old))
		json_pairs_set(annotations, NAMES_ANNOTATION_DRIVER, old);
	else if (!now && native_driver_valid(told))
		json_pairs_set(annotations, NAMES_ANNOTATION_DRIVER, told);
	else if (!now && c->kind == INVENTORY_PCI && (!old || !*old))
		json_pairs_set(annotations, NAMES_ANNOTATION_DRIVER,
			       ""); /* Harvester's for "none" */
}

static void add_pairs(struct json_pairs *to, const struct json_pairs *from)
{
	for (size_t i = 0; i < from->len; i++)
		json_pairs_set(to, from->items[i].key, from->items[i].value);
}

/* NULL when @seen has the labels and annotations of @wanted. */
static json_t *plan_object(const struct publish_case *c)
{
	const struct api_meta *wanted = c->wanted;
	const struct api_meta *seen = c->seen;
	struct json_pairs annotations = { 0 };
	struct json_pairs labels = { 0 };
	json_t *body = NULL;

	add_pairs(&labels, &wanted->labels);
	if (c->parent)
		json_pairs_set(&labels, c->parent_key, c->parent);
	add_pairs(&annotations, &wanted->annotations);
	keep_driver(c, &annotations);

	if (!seen || !json_pairs_include(&seen->labels, &labels) ||
	    !json_pairs_include(&seen->annotations, &annotations)) {
		json_t *meta = json_object();

		json_object_set_new(meta, "labels", pairs_json(&labels));
		if (annotations.len > 0)
			json_object_set_new(meta, "annotations", pairs_json(&annotations));
		body = json_object();
		json_object_set_new(body, "metadata", meta);
		if (c->kind == INVENTORY_PCI) /* as Harvester's, which has nothing in it */
			json_object_set_new(body, "spec", json_object());
	}
	json_pairs_done(&annotations);
	json_pairs_done(&labels);
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

json_t *publish_first_status(const struct publish_case *c)
{
	const struct shape *shape = &shapes[c->kind];
	struct publish_case first = *c;
	void *object = api_object_copy(shape->kind, c->wanted);
	json_t *status;

	first.seen = NULL;
	take_conditions(&first, shape, object, NULL);
	take_lent(&first, object);
	status = own_status(shape, object);
	api_object_free(shape->kind, object);
	return status_body(status);
}

json_t *publish_left_over(enum inventory_kind kind, const json_t *body, const json_t *answer)
{
	const struct shape *shape = &shapes[kind];
	const json_t *sent = json_object_get(body, "status");
	const json_t *is = json_object_get(answer, "status");
	json_t *nulls = json_object();

	for (const struct json_row *row = shape->status_map; row->type != JSON_ROW_END; row++) {
		if (json_object_get(is, row->key) && !json_object_get(sent, row->key))
			json_object_set_new(nulls, row->key, json_null());
	}
	if (json_object_size(nulls) > 0)
		return status_body(nulls);
	json_decref(nulls);
	return NULL;
}

json_t *publish_object(enum inventory_kind kind, const void *wanted)
{
	const struct publish_case c = { .kind = kind, .wanted = wanted };
	json_t *object = api_object_encode(shapes[kind].kind, wanted);
	auto_json json_t *status = publish_first_status(&c);

	json_object_update(object, status);
	if (kind == INVENTORY_PCI) {
		auto_json json_t *body = plan_object(&c);

		json_object_update(json_object_get(object, "metadata"),
				   json_object_get(body, "metadata"));
		json_object_set(object, "spec", json_object_get(body, "spec"));
	}
	return object;
}

const struct pcidevice_allocations *publish_allocations(enum inventory_kind kind,
							const void *object)
{
	const struct shape *shape = &shapes[kind];

	if (!object || !shape->allocations)
		return NULL;
	return (const void *)((const char *)object + shape->allocations);
}
