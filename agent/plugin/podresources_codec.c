#include "agent/plugin/podresources_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/plugin/podresources.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/message.h"
#include "proto/podresources.pb-c.h"

enum { NAME_MAX_LEN = 253, NAMES = 6 };

/* The position of a device's texts among all texts. */
struct place {
	size_t resource;
	size_t device;
	size_t namespace;
	size_t pod;
	size_t container;
	size_t claim; /* 0: none; the first text is a namespace */
};

struct reading {
	const struct podresources_wanted *wanted;
	struct err *err;
	struct str texts; /* each with its end */
	ARRAY(struct place) places;
};

static bool is_name(const char *text)
{
	size_t len = 0;

	for (; text[len]; len++) {
		if (text[len] <= ' ' || text[len] > '~' || len == NAME_MAX_LEN)
			return false;
	}
	return len > 0;
}

static size_t put(struct reading *r, const char *text)
{
	size_t at = r->texts.len;

	str_add_mem(&r->texts, text, strlen(text) + 1);
	return at;
}

static bool is_wanted(const struct reading *r, const char *resource)
{
	return is_name(resource) &&
	       (!r->wanted->resource || r->wanted->resource(r->wanted->arg, resource));
}

static int add_place(struct reading *r, struct place place, const char *device)
{
	if (r->places.len == POD_DEVICES_MAX)
		return err_set(r->err, ERR_INVALID, -EMSGSIZE,
			       "the kubelet lists more than %d devices", POD_DEVICES_MAX);
	place.device = put(r, device);
	*array_add(&r->places) = place;
	return 0;
}

/* @place names the owner. */
static int read_devices(struct reading *r, struct place place, const V1__ContainerDevices *group)
{
	int result = 0;

	if (!is_wanted(r, group->resource_name))
		return 0;
	place.resource = put(r, group->resource_name);
	for (size_t i = 0; result == 0 && i < group->n_device_ids; i++) {
		if (is_name(group->device_ids[i]))
			result = add_place(r, place, group->device_ids[i]);
	}
	return result;
}

/* Likewise. */
static int read_claim(struct reading *r, struct place place, const V1__DynamicResource *claim)
{
	const char *driver = r->wanted->dra_driver;
	int result = 0;

	if (!driver || !is_name(claim->claim_name))
		return 0;
	place.claim = put(r, claim->claim_name);
	place.resource = put(r, driver);
	for (size_t i = 0; result == 0 && i < claim->n_claim_resources; i++) {
		const V1__ClaimResource *device = claim->claim_resources[i];

		if (strcmp(device->driver_name, driver) == 0 && is_name(device->device_name))
			result = add_place(r, place, device->device_name);
	}
	return result;
}

static int read_container(struct reading *r, struct place place,
			  const V1__ContainerResources *container)
{
	int result = 0;

	if (!is_name(container->name))
		return 0;
	place.container = put(r, container->name);
	for (size_t i = 0; result == 0 && i < container->n_devices; i++)
		result = read_devices(r, place, container->devices[i]);
	for (size_t i = 0; result == 0 && i < container->n_dynamic_resources; i++)
		result = read_claim(r, place, container->dynamic_resources[i]);
	return result;
}

static int read_pod(struct reading *r, const V1__PodResources *pod)
{
	struct place place = { 0 };
	int result = 0;

	if (!is_name(pod->namespace_) || !is_name(pod->name))
		return 0;
	place.namespace = put(r, pod->namespace_);
	place.pod = put(r, pod->name);
	for (size_t i = 0; result == 0 && i < pod->n_containers; i++)
		result = read_container(r, place, pod->containers[i]);
	return result;
}

static int compare(const void *a, const void *b)
{
	const struct pod_device *x = a;
	const struct pod_device *y = b;
	const char *const xs[NAMES] = { x->resource, x->device,    x->namespace,
					x->pod,      x->container, str_or_empty(x->claim) };
	const char *const ys[NAMES] = { y->resource, y->device,    y->namespace,
					y->pod,      y->container, str_or_empty(y->claim) };
	int order = 0;

	for (size_t i = 0; i < NAMES && order == 0; i++)
		order = strcmp(xs[i], ys[i]);
	return order;
}

/* A kubelet may list a pod twice while it ends. */
static void sort_and_drop_duplicates(struct pod_devices *devices)
{
	size_t kept = 0;

	if (devices->len == 0)
		return;
	qsort(devices->items, devices->len, sizeof(*devices->items), compare);
	for (size_t i = 1; i < devices->len; i++) {
		if (compare(&devices->items[kept], &devices->items[i]) != 0)
			devices->items[++kept] = devices->items[i];
	}
	devices->len = kept + 1;
}

/* Takes the texts, which stay where they are from now on. */
static struct pod_devices devices_from(struct reading *r)
{
	struct pod_devices devices = { .len = r->places.len };
	const char *texts;

	if (devices.len == 0)
		return devices;
	devices.items = xcalloc(devices.len, sizeof(*devices.items));
	devices.texts = str_detach(&r->texts);
	texts = devices.texts;
	for (size_t i = 0; i < devices.len; i++) {
		const struct place *at = &r->places.items[i];

		devices.items[i] =
			(struct pod_device){ .resource = texts + at->resource,
					     .device = texts + at->device,
					     .namespace = texts + at->namespace,
					     .pod = texts + at->pod,
					     .container = texts + at->container,
					     .claim = at->claim ? texts + at->claim : NULL };
	}
	sort_and_drop_duplicates(&devices);
	return devices;
}

int podresources_unpack(const char *data, size_t len, const struct podresources_wanted *wanted,
			struct pod_devices *ret_devices, struct err *err)
{
	struct reading reading = { .wanted = wanted, .err = err };
	const V1__ListPodResourcesResponse *list;
	ProtobufCMessage *message = NULL;
	int r = grpc_message_unpack(&v1__list_pod_resources_response__descriptor, data, len,
				    &message, err);

	if (r < 0)
		return r;
	list = (const V1__ListPodResourcesResponse *)message;
	for (size_t i = 0; r == 0 && i < list->n_pod_resources; i++)
		r = read_pod(&reading, list->pod_resources[i]);
	grpc_message_free(message);
	if (r == 0)
		*ret_devices = devices_from(&reading);
	str_done(&reading.texts);
	array_done(&reading.places);
	return r;
}

int podresources_unpack_allocatable(const char *data, size_t len, struct pod_devices *ret_devices,
				    struct err *err)
{
	const struct podresources_wanted all = { 0 };
	struct reading reading = { .wanted = &all, .err = err };
	const V1__AllocatableResourcesResponse *answer;
	ProtobufCMessage *message = NULL;
	struct place place = { 0 };
	int r = grpc_message_unpack(&v1__allocatable_resources_response__descriptor, data, len,
				    &message, err);

	if (r < 0)
		return r;
	answer = (const V1__AllocatableResourcesResponse *)message;
	place.namespace = place.pod = place.container = put(&reading, "");
	for (size_t i = 0; r == 0 && i < answer->n_devices; i++)
		r = read_devices(&reading, place, answer->devices[i]);
	grpc_message_free(message);
	if (r == 0)
		*ret_devices = devices_from(&reading);
	str_done(&reading.texts);
	array_done(&reading.places);
	return r;
}

bool pod_devices_same(const struct pod_devices *a, const struct pod_devices *b)
{
	if (a->len != b->len)
		return false;
	for (size_t i = 0; i < a->len; i++) {
		if (compare(&a->items[i], &b->items[i]) != 0)
			return false;
	}
	return true;
}

void pod_devices_done(struct pod_devices *devices)
{
	free(devices->items);
	free(devices->texts);
	*devices = (struct pod_devices){ 0 };
}
