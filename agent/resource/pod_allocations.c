#include "agent/resource/pod_allocations.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/plugin/podresources.h"
#include "api/json_values.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "base/array.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

/* As many as the schema takes: containers of one pod, as a rule. */
enum { ALLOCATIONS_MAX = 64 };

struct pod_allocations {
	struct map *by_id; /* struct holders, none empty */
};

struct holders {
	struct pcidevice_allocations list;
	char *resource; /* of the first */
};

static void holders_free(void *arg)
{
	struct holders *holders = arg;

	for (size_t i = 0; i < holders->list.len; i++)
		json_map_done(pcidevice_allocation_map, &holders->list.items[i]);
	array_done(&holders->list);
	free(holders->resource);
	free(holders);
}

static struct map *clear(struct map *map)
{
	return map_free_with(map, holders_free);
}

struct pod_allocations *pod_allocations_new(void)
{
	struct pod_allocations *pods = xcalloc(1, sizeof(*pods));

	pods->by_id = map_new();
	return pods;
}

struct pod_allocations *pod_allocations_free(struct pod_allocations *pods)
{
	if (!pods)
		return NULL;
	clear(pods->by_id);
	free(pods);
	return NULL;
}

static bool is_address(const char *id)
{
	static const char node[] = "n";
	auto_free char *name = names_pcidevice(node, id);
	char address[NAMES_ADDRESS_SIZE];

	return names_pcidevice_address(node, name, address) == 0 && strcmp(address, id) == 0;
}

/* "c0ffee00-1234-4567-89ab-0123456789ab" */
static bool is_uuid(const char *id)
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (strlen(id) != sizeof(shape) - 1)
		return false;
	for (size_t i = 0; i < sizeof(shape) - 1; i++) {
		if (shape[i] == '-' ? id[i] != '-' : !isxdigit((unsigned char)id[i]))
			return false;
	}
	return true;
}

bool pod_allocations_is_device(const char *id)
{
	return is_address(id) || is_uuid(id);
}

bool pod_allocations_is_port(const char *id)
{
	size_t bus = strspn(id, "0123456789");
	size_t ports = bus > 0 && id[bus] == '-' ? strspn(id + bus + 1, "0123456789.") : 0;

	return ports > 0 && id[bus + 1 + ports] == '\0';
}

static bool has(const struct pcidevice_allocations *list, const struct pod_device *device)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct pcidevice_allocation *item = &list->items[i];

		if (strcmp(item->namespace, device->namespace) == 0 &&
		    strcmp(item->pod, device->pod) == 0 &&
		    strcmp(item->container, device->container) == 0 &&
		    str_equal(item->resource_claim, device->claim))
			return true;
	}
	return false;
}

static void add(struct map *map, const char *id, const struct pod_device *device)
{
	struct holders *holders = map_get(map, id);

	if (!holders) {
		holders = xcalloc(1, sizeof(*holders));
		holders->resource = xstrdup(device->resource);
		map_set(map, id, holders);
	}
	if (holders->list.len == ALLOCATIONS_MAX || has(&holders->list, device))
		return;
	*array_add(&holders->list) = (struct pcidevice_allocation){
		.namespace = xstrdup(device->namespace),
		.pod = xstrdup(device->pod),
		.container = xstrdup(device->container),
		.resource_claim = xstrdup_or_null(device->claim),
	};
}

static void add_each(struct map *map, const struct pod_device *device)
{
	auto_free char *copy = xstrdup(device->device);
	char *rest = copy;
	const char *id;

	add(map, device->device, device);
	while (strchr(device->device, ',') && (id = strsep(&rest, ","))) {
		if (*id)
			add(map, id, device);
	}
}

static bool same(const struct holders *a, const struct holders *b)
{
	if (!b || a->list.len != b->list.len)
		return false;
	for (size_t i = 0; i < a->list.len; i++) {
		if (!json_map_equal(pcidevice_allocation_map, &a->list.items[i], &b->list.items[i]))
			return false;
	}
	return true;
}

/* The IDs in @a that have another value in @b. */
static void differences(const struct map *a, const struct map *b, struct json_strs *out)
{
	const char *id;
	size_t cursor = 0;
	void *holders;

	while (map_next(a, &cursor, &id, &holders)) {
		if (!same(holders, map_get(b, id)))
			json_strs_add_new(out, id);
	}
}

/* What @after does not know goes over from @before. */
static void keep(struct map *before, struct map *after)
{
	struct json_strs missing = { 0 };
	const char *id;
	size_t cursor = 0;
	void *holders;

	while (map_next(before, &cursor, &id, &holders)) {
		if (!map_get(after, id))
			json_strs_add(&missing, id);
	}
	for (size_t i = 0; i < missing.len; i++)
		map_set(after, missing.items[i], map_remove(before, missing.items[i]));
	json_strs_done(&missing);
}

/* A device that counted is kept while it is listed: its resource may not be offered any more, under
 * that name. */
static bool counts(const struct pod_allocations *pods, const struct pod_device *device,
		   const struct pod_allocations_ops *ops, void *arg)
{
	const char *before = pod_allocations_resource(pods, device->device);

	return pod_allocations_is_device(device->device) ||
	       (before && strcmp(before, device->resource) == 0) ||
	       ops->offers(arg, device->resource) || (ops->had && ops->had(arg, device));
}

void pod_allocations_set(struct pod_allocations *pods, const struct pod_devices *devices,
			 bool whole, const struct pod_allocations_ops *ops, void *arg)
{
	struct map *before = pods->by_id;
	struct map *after = map_new();
	struct json_strs changes = { 0 };

	for (size_t i = 0; i < devices->len; i++) {
		if (counts(pods, &devices->items[i], ops, arg))
			add_each(after, &devices->items[i]);
	}
	if (whole)
		differences(before, after, &changes);
	differences(after, before, &changes);
	if (!whole)
		keep(before, after);
	pods->by_id = after;
	clear(before);
	for (size_t i = 0; i < changes.len; i++)
		ops->changed(arg, changes.items[i]);
	json_strs_done(&changes);
}

const struct pcidevice_allocations *pod_allocations_of(const struct pod_allocations *pods,
						       const char *id)
{
	static const struct pcidevice_allocations none = { 0 };
	const struct holders *holders = map_get(pods->by_id, id);

	return holders ? &holders->list : &none;
}

const char *pod_allocations_resource(const struct pod_allocations *pods, const char *id)
{
	const struct holders *holders = map_get(pods->by_id, id);

	return holders ? holders->resource : NULL;
}

void pod_allocations_ids(const struct pod_allocations *pods, struct json_strs *ids)
{
	const char *id;
	size_t cursor = 0;

	while (map_next(pods->by_id, &cursor, &id, NULL))
		json_strs_add(ids, id);
}
