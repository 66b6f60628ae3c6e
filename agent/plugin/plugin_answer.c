#include "agent/plugin/plugin_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/plugin/checkpoint.h"
#include "agent/plugin/device_list.h"
#include "agent/plugin/plugin_codec.h"
#include "agent/plugin/preferred.h"
#include "agent/plugin/preferred_set.h"
#include "agent/plugin/preferred_shares.h"
#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

enum grpc_status plugin_answer_options(const struct plugin_source *source, struct str *out,
				       struct err *err)
{
	const struct plugin_options options = { .pre_start_required = source->type->nodes,
						.preferred_allocation = true };

	return plugin_codec_write_options(&options, out, err) < 0 ? GRPC_INTERNAL : GRPC_OK;
}

/* --- Allocate --------------------------------------------------------------------------------- */

enum grpc_status plugin_answer_status(const struct err *err)
{
	switch (err->code) {
	case -ENODEV:
		return GRPC_NOT_FOUND;
	case -EINVAL:
	case -EBADMSG:
		return GRPC_INVALID_ARGUMENT;
	case -EMSGSIZE:
		return GRPC_RESOURCE_EXHAUSTED;
	default:
		return err->kind == ERR_RETRY ? GRPC_UNAVAILABLE : GRPC_FAILED_PRECONDITION;
	}
}

static int device_check(const struct plugin_source *source, const char *id, struct err *err)
{
	const struct plugin_device *device = device_list_find(source->list, id);
	auto_str struct str shown = STR_INIT;

	if (!device) {
		str_add_clean(&shown, id, strnlen(id, PLUGIN_ID_MAX + 1));
		return err_set(err, ERR_INVALID, -ENODEV, "resource '%s' has no device '%s'",
			       source->resource, str_cstr(&shown));
	}
	if (!device->healthy)
		return err_set(err, ERR_INVALID, -EHOSTDOWN, "device '%s' of '%s' is not ready: %s",
			       id, source->resource,
			       device->trouble ? device->trouble : "it is not healthy");
	return 0;
}

static int devices_check(const struct plugin_source *source, const struct json_strs *ids,
			 struct map *seen, struct err *err)
{
	if (ids->len == 0)
		return err_set(err, ERR_INVALID, -EINVAL, "a container requests no device of '%s'",
			       source->resource);
	for (size_t i = 0; i < ids->len; i++) {
		int r = device_check(source, ids->items[i], err);

		if (r < 0)
			return r;
		if (map_set(seen, ids->items[i], ids->items[i]))
			return err_set(err, ERR_INVALID, -EINVAL,
				       "device '%s' of '%s' is requested twice", ids->items[i],
				       source->resource);
	}
	return 0;
}

/* Containers may share a device, one after the other: an init container's go to a later one. */
int plugin_answer_check(const struct plugin_source *source, const struct plugin_ids *request,
			struct err *err)
{
	if (request->len == 0)
		return err_set(err, ERR_INVALID, -EINVAL, "a request for no container");
	for (size_t i = 0; i < request->len; i++) {
		struct map *seen = map_new();
		int r = devices_check(source, &request->items[i], seen, err);

		map_free(seen);
		if (r < 0)
			return r;
	}
	return 0;
}

int plugin_answer_check_allocation(const struct plugin_source *source, const struct json_strs *ids,
				   const struct allocation *allocation, struct err *err)
{
	if (allocation_is_empty(allocation))
		return err_set(err, ERR_INVALID, -ENODATA,
			       "%s: device type '%s' has nothing to give for '%s'",
			       source->resource, source->type->name, ids->items[0]);
	return 0;
}

static int allocate_one(const struct plugin_source *source, const struct json_strs *ids,
			struct allocation *allocation, struct err *err)
{
	if (source->type->allocate(source->arg, source->resource, ids, allocation, err) < 0)
		return err_wrap(err, "%s", source->resource);
	return plugin_answer_check_allocation(source, ids, allocation, err);
}

static int allocate_all(const struct plugin_source *source, const struct plugin_ids *request,
			struct str *out, struct err *err)
{
	struct plugin_allocations response = { 0 };
	int r = plugin_answer_check(source, request, err);

	for (size_t i = 0; r >= 0 && i < request->len; i++)
		r = allocate_one(source, &request->items[i], array_add(&response), err);
	if (r >= 0)
		r = plugin_codec_write_allocations(&response, out, err);
	plugin_allocations_done(&response);
	return r;
}

enum grpc_status plugin_answer_allocate(const struct plugin_source *source, const char *request,
					size_t len, struct str *out, struct plugin_ids *ret_ids,
					struct err *err)
{
	struct plugin_ids ids = { 0 };
	int r = plugin_codec_read_allocate(request, len, &ids, err);

	if (r >= 0)
		r = allocate_all(source, &ids, out, err);
	*ret_ids = ids;
	return r < 0 ? plugin_answer_status(err) : GRPC_OK;
}

/* --- PreStartContainer ------------------------------------------------------------------------ */

/* Are the nodes that the container was allocated still those of its devices? */
static int nodes_check(const struct plugin_source *source, const struct json_strs *ids,
		       const struct json_strs *now, struct err *err)
{
	struct json_strs allocated = { 0 };
	int r = 0;

	if (source->checkpoint)
		checkpoint_nodes(source->checkpoint, source->resource, ids, &allocated);
	for (size_t i = 0; r == 0 && i < allocated.len; i++) {
		if (!json_strs_has(now, allocated.items[i]))
			r = err_set(err, ERR_INVALID, -EHOSTDOWN,
				    "%s, which the container was given for '%s', is not the node "
				    "of this device any more: delete the pod",
				    allocated.items[i], ids->items[0]);
	}
	json_strs_done(&allocated);
	return r;
}

enum grpc_status plugin_answer_start(const struct plugin_source *source, const char *request,
				     size_t len, struct err *err)
{
	struct json_strs ids = { 0 };
	struct json_strs now = { 0 };
	int r = source->type->nodes ? plugin_codec_read_start(request, len, &ids, err) : 0;

	for (size_t i = 0; r >= 0 && i < ids.len; i++)
		r = source->type->nodes(source->arg, ids.items[i], &now, err);
	if (r >= 0 && ids.len > 0)
		r = nodes_check(source, &ids, &now, err);
	if (r < 0)
		err_wrap(err, "%s", source->resource);
	json_strs_done(&now);
	json_strs_done(&ids);
	return r < 0 ? plugin_answer_status(err) : GRPC_OK;
}

/* --- GetPreferredAllocation ------------------------------------------------------------------- */

/* Musts come first; what is no longer in the list has no place in the answer. */
struct candidates {
	struct preferred_candidate *items;
	size_t len, nmusts;
	bool *seen;  /* of each device of the list          */
	size_t next; /* that device of the list is expected */
};

/* Most of the candidates are in the order of the list. */
static const struct plugin_device *find_next(const struct device_list *list, const char *id,
					     size_t *next)
{
	const struct plugin_device *device = *next < list->len ? &list->items[*next] : NULL;

	if (!device || strcmp(device->id, id) != 0)
		device = device_list_find(list, id);
	if (device)
		*next = (size_t)(device - list->items) + 1;
	return device;
}

static void candidate_add(const struct plugin_source *source, const char *id, bool must,
			  struct candidates *candidates)
{
	const struct plugin_device *device = find_next(source->list, id, &candidates->next);
	struct preferred_candidate *candidate = &candidates->items[candidates->len];

	if (!device || candidates->seen[device - source->list->items])
		return;
	candidates->seen[device - source->list->items] = true;
	*candidate = (struct preferred_candidate){ .id = device->id,
						   .numa_node = device->numa_node,
						   .root = device->root,
						   .group = device->group,
						   .card = device->card,
						   .must = must };
	candidates->len++;
	candidates->nmusts += must;
}

/* In the order of the list. A device that is unknown or not healthy would be refused: it is left
 * out. */
static void order_by_list(const struct device_list *list, struct json_strs *ids)
{
	auto_free char **places = xcalloc(list->len + 1, sizeof(*places));
	size_t kept = 0;

	for (size_t i = 0; i < ids->len; i++) {
		const struct plugin_device *device = device_list_find(list, ids->items[i]);
		size_t place = device ? (size_t)(device - list->items) : list->len;

		if (device && device->healthy && !places[place])
			places[place] = ids->items[i];
		else
			free(ids->items[i]);
	}
	for (size_t i = 0; i < list->len; i++) {
		if (places[i])
			ids->items[kept++] = places[i];
	}
	ids->len = kept;
}

static void leave_out_busy(const struct plugin_source *source, struct json_strs *ids)
{
	struct json_strs kept = { 0 };

	for (size_t i = 0; i < ids->len; i++) {
		if (!source->type->is_busy(source->arg, ids->items[i]))
			json_strs_add(&kept, ids->items[i]);
	}
	json_strs_done(ids);
	*ids = kept;
}

/* Of more candidates than can be weighed the first ones. */
static void choose_by_weight(const struct plugin_source *source,
			     const struct candidates *candidates, size_t size,
			     struct json_strs *chosen)
{
	const struct preferred_candidate *all = candidates->items;
	size_t len = candidates->len < PREFERRED_SET_MAX ? candidates->len : PREFERRED_SET_MAX;
	size_t nmusts = candidates->nmusts < len ? candidates->nmusts : len;
	auto_free uint16_t *weights = xcalloc(len * len + 1, sizeof(*weights));
	bool in[PREFERRED_SET_MAX];

	for (size_t i = 0; i < len; i++) {
		for (size_t k = 0; k < i; k++) {
			uint16_t weight = source->type->weight(source->arg, source->resource,
							       all[i].id, all[k].id);

			weights[i * len + k] = weight;
			weights[k * len + i] = weight;
		}
	}
	if (nmusts > size)
		nmusts = size;
	preferred_set(weights, len, nmusts, size < len ? size : len, in);
	for (size_t i = 0; i < candidates->len && chosen->len < size; i++) {
		if (i >= len || in[i])
			json_strs_add(chosen, all[i].id);
	}
}

static void choose_by_rule(const struct plugin_source *source, const struct candidates *candidates,
			   size_t size, struct json_strs *chosen)
{
	const struct device_type *type = source->type;
	enum device_choice choice =
		type->choose ? type->choose(source->arg, source->resource) : CHOICE_NEAR;

	switch (choice) {
	case CHOICE_NEAR:
		preferred_choose(candidates->items, candidates->len, size, chosen);
		return;
	case CHOICE_WEIGHTS:
		choose_by_weight(source, candidates, size, chosen);
		return;
	case CHOICE_DISTRIBUTED:
	case CHOICE_PACKED:
		preferred_shares(source->list, candidates->items, candidates->len, size,
				 choice == CHOICE_PACKED, chosen);
		return;
	}
}

static void choose(const struct plugin_source *source, const struct plugin_preference *preference,
		   struct json_strs *chosen)
{
	size_t room = preference->available.len + preference->must_include.len;
	auto_free struct preferred_candidate *items = xcalloc(room + 1, sizeof(*items));
	auto_free bool *seen = xcalloc(source->list->len + 1, sizeof(*seen));
	struct candidates candidates = { .items = items, .seen = seen };

	for (size_t i = 0; i < preference->must_include.len; i++)
		candidate_add(source, preference->must_include.items[i], true, &candidates);
	for (size_t i = 0; i < preference->available.len; i++)
		candidate_add(source, preference->available.items[i], false, &candidates);
	choose_by_rule(source, &candidates, preference->size, chosen);
}

void plugin_answer_preferred(const struct plugin_source *source, const char *request, size_t len,
			     struct str *out)
{
	struct plugin_preferences preferences = { 0 };
	struct plugin_ids chosen = { 0 };

	/* An empty message is an empty answer. */
	if (plugin_codec_read_preferences(request, len, &preferences, NULL) < 0)
		return;
	for (size_t i = 0; i < preferences.len; i++) {
		order_by_list(source->list, &preferences.items[i].available);
		if (source->type->prefer)
			source->type->prefer(source->arg, source->resource,
					     &preferences.items[i].must_include,
					     &preferences.items[i].available);
		if (source->type->is_busy)
			leave_out_busy(source, &preferences.items[i].available);
		choose(source, &preferences.items[i], array_add(&chosen));
	}
	(void)plugin_codec_write_preferred(&chosen, out, NULL);
	plugin_preferences_done(&preferences);
	plugin_ids_done(&chosen);
}
