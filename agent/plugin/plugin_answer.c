#include "agent/plugin/plugin_answer.h"

#include <errno.h>

#include "agent/plugin/device_list.h"
#include "agent/plugin/plugin_codec.h"
#include "agent/plugin/preferred.h"
#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

enum grpc_status plugin_answer_options(struct str *out, struct err *err)
{
	static const struct plugin_options options = { .preferred_allocation = true };

	return plugin_codec_write_options(&options, out, err) < 0 ? GRPC_INTERNAL : GRPC_OK;
}

/* --- Allocate -------------------------------------------------------------------- */

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

int plugin_answer_check_given(const struct plugin_source *source, const struct json_strs *ids,
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
	return plugin_answer_check_given(source, ids, allocation, err);
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

/* --- GetPreferredAllocation ---------------------------------------------------------- */

static void candidate_add(const struct plugin_source *source, const char *id, struct map *seen,
			  struct preferred_candidate *candidate)
{
	const struct plugin_device *device = device_list_find(source->list, id);

	*candidate = (struct preferred_candidate){ .id = id,
						   .numa_node = device ? device->numa_node : -1,
						   .root = device ? device->root : NULL,
						   .group = device ? device->group : NULL };
	map_set(seen, id, candidate);
}

/* In the order of the list, and behind them what it does not have. */
static void order_by_list(const struct device_list *list, struct json_strs *ids)
{
	struct json_strs ordered = { 0 };
	struct map *places = map_new();

	for (size_t i = 0; i < ids->len; i++)
		map_set(places, ids->items[i], ids->items[i]);
	for (size_t i = 0; i < list->len; i++) {
		if (map_remove(places, list->items[i].id))
			json_strs_add(&ordered, list->items[i].id);
	}
	for (size_t i = 0; i < ids->len; i++) {
		if (map_remove(places, ids->items[i]))
			json_strs_add(&ordered, ids->items[i]);
	}
	map_free(places);
	json_strs_done(ids);
	*ids = ordered;
}

static void choose(const struct plugin_source *source, const struct plugin_wish *wish,
		   struct json_strs *chosen)
{
	size_t room = wish->available.len + wish->must_include.len;
	auto_free struct preferred_candidate *candidates = xcalloc(room + 1, sizeof(*candidates));
	struct map *seen = map_new();
	size_t n = 0;

	for (size_t i = 0; i < wish->must_include.len; i++) {
		if (map_get(seen, wish->must_include.items[i]))
			continue;
		candidate_add(source, wish->must_include.items[i], seen, &candidates[n]);
		candidates[n++].must = true;
	}
	for (size_t i = 0; i < wish->available.len; i++) {
		if (!map_get(seen, wish->available.items[i]))
			candidate_add(source, wish->available.items[i], seen, &candidates[n++]);
	}
	preferred_choose(candidates, n, wish->size, chosen);
	map_free(seen);
}

void plugin_answer_preferred(const struct plugin_source *source, const char *request, size_t len,
			     struct str *out)
{
	struct plugin_wishes wishes = { 0 };
	struct plugin_ids chosen = { 0 };

	/* An empty message is an empty answer. */
	if (plugin_codec_read_wishes(request, len, &wishes, NULL) < 0)
		return;
	for (size_t i = 0; i < wishes.len; i++) {
		order_by_list(source->list, &wishes.items[i].available);
		if (source->type->prefer)
			source->type->prefer(source->arg, source->resource,
					     &wishes.items[i].must_include,
					     &wishes.items[i].available);
		choose(source, &wishes.items[i], array_add(&chosen));
	}
	(void)plugin_codec_write_preferred(&chosen, out, NULL);
	plugin_wishes_done(&wishes);
	plugin_ids_done(&chosen);
}
