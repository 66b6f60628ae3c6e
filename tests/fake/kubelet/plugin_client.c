#include "fake/kubelet/plugin_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/message.h"
#include "proto/deviceplugin.pb-c.h"

static void message_done(void *p)
{
	grpc_message_free(*(void **)p);
}

/* A message that owns everything it points to. */
#define auto_message __attribute__((cleanup(message_done)))

static void *pointers_new(size_t n)
{
	return xcalloc(n > 0 ? n : 1, sizeof(void *));
}

static char **texts_write(const struct json_strs *texts)
{
	char **copies = pointers_new(texts->len);

	for (size_t i = 0; i < texts->len; i++)
		copies[i] = xstrdup(texts->items[i]);
	return copies;
}

static struct json_strs texts_read(char *const *texts, size_t n)
{
	struct json_strs list = { 0 };

	for (size_t i = 0; i < n; i++)
		json_strs_add(&list, texts[i]);
	return list;
}

static int containers_check(size_t n, struct err *err)
{
	if (n > PLUGIN_CONTAINERS_MAX)
		return err_set(err, ERR_INVALID, -EMSGSIZE, "%zu containers in one answer", n);
	return 0;
}

void plugin_listed_done(struct plugin_listed *list)
{
	for (size_t i = 0; i < list->len; i++) {
		free(list->items[i].id);
		free(list->items[i].health);
	}
	array_done(list);
}

int plugin_codec_read_options(const char *data, size_t len, struct plugin_options *ret_options,
			      struct err *err)
{
	auto_message V1beta1__DevicePluginOptions *message = NULL;
	int r = grpc_message_unpack(&v1beta1__device_plugin_options__descriptor, data, len,
				    (void *)&message, err);

	if (r < 0)
		return r;
	*ret_options = (struct plugin_options){
		.pre_start_required = message->pre_start_required,
		.preferred_allocation = message->get_preferred_allocation_available,
	};
	return 0;
}

int plugin_codec_read_list(const char *data, size_t len, struct plugin_listed *ret_list,
			   struct err *err)
{
	auto_message V1beta1__ListAndWatchResponse *message = NULL;
	struct plugin_listed list = { 0 };
	int r = grpc_message_unpack(&v1beta1__list_and_watch_response__descriptor, data, len,
				    (void *)&message, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < message->n_devices; i++) {
		const V1beta1__Device *device = message->devices[i];
		const V1beta1__TopologyInfo *topology = device->topology;

		*array_add(&list) = (struct plugin_listed_device){
			.id = xstrdup(device->id),
			.health = xstrdup(device->health),
			.numa_node = topology && topology->n_nodes ? topology->nodes[0]->id : -1,
		};
	}
	*ret_list = list;
	return 0;
}

static struct allocation allocation_read(const V1beta1__ContainerAllocateResponse *message)
{
	struct allocation allocation = { 0 };

	for (size_t i = 0; i < message->n_envs; i++)
		json_pairs_set(&allocation.envs, message->envs[i]->key, message->envs[i]->value);
	for (size_t i = 0; i < message->n_devices; i++)
		allocation_add_device_as(&allocation, message->devices[i]->container_path,
					 message->devices[i]->host_path,
					 message->devices[i]->permissions);
	for (size_t i = 0; i < message->n_mounts; i++)
		allocation_add_mount(&allocation, message->mounts[i]->container_path,
				     message->mounts[i]->host_path, message->mounts[i]->read_only);
	for (size_t i = 0; i < message->n_annotations; i++)
		json_pairs_set(&allocation.annotations, message->annotations[i]->key,
			       message->annotations[i]->value);
	for (size_t i = 0; i < message->n_cdi_devices; i++)
		json_strs_add(&allocation.cdi_devices, message->cdi_devices[i]->name);
	return allocation;
}

int plugin_codec_read_allocations(const char *data, size_t len,
				  struct plugin_allocations *ret_response, struct err *err)
{
	auto_message V1beta1__AllocateResponse *message = NULL;
	struct plugin_allocations response = { 0 };
	int r = grpc_message_unpack(&v1beta1__allocate_response__descriptor, data, len,
				    (void *)&message, err);

	if (r == 0)
		r = containers_check(message->n_container_responses, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < message->n_container_responses; i++)
		*array_add(&response) = allocation_read(message->container_responses[i]);
	*ret_response = response;
	return 0;
}

int plugin_codec_read_preferred(const char *data, size_t len, struct plugin_ids *ret_response,
				struct err *err)
{
	auto_message V1beta1__PreferredAllocationResponse *message = NULL;
	struct plugin_ids response = { 0 };
	int r = grpc_message_unpack(&v1beta1__preferred_allocation_response__descriptor, data, len,
				    (void *)&message, err);

	if (r == 0)
		r = containers_check(message->n_container_responses, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < message->n_container_responses; i++) {
		const V1beta1__ContainerPreferredAllocationResponse *one =
			message->container_responses[i];

		*array_add(&response) = texts_read(one->deviceids, one->n_deviceids);
	}
	*ret_response = response;
	return 0;
}

int plugin_codec_write_allocate(const struct plugin_ids *request, struct str *out, struct err *err)
{
	auto_message V1beta1__AllocateRequest *message = xmalloc(sizeof(*message));

	v1beta1__allocate_request__init(message);
	message->container_requests = pointers_new(request->len);
	for (size_t i = 0; i < request->len; i++) {
		V1beta1__ContainerAllocateRequest *one = xmalloc(sizeof(*one));

		v1beta1__container_allocate_request__init(one);
		one->devices_ids = texts_write(&request->items[i]);
		one->n_devices_ids = request->items[i].len;
		message->container_requests[message->n_container_requests++] = one;
	}
	return grpc_message_pack(&message->base, PLUGIN_MESSAGE_MAX, out, err);
}

int plugin_codec_write_preferences(const struct plugin_preferences *request, struct str *out,
				   struct err *err)
{
	auto_message V1beta1__PreferredAllocationRequest *message = xmalloc(sizeof(*message));

	v1beta1__preferred_allocation_request__init(message);
	message->container_requests = pointers_new(request->len);
	for (size_t i = 0; i < request->len; i++) {
		const struct plugin_preference *preference = &request->items[i];
		V1beta1__ContainerPreferredAllocationRequest *one = xmalloc(sizeof(*one));

		v1beta1__container_preferred_allocation_request__init(one);
		one->available_deviceids = texts_write(&preference->available);
		one->n_available_deviceids = preference->available.len;
		one->must_include_deviceids = texts_write(&preference->must_include);
		one->n_must_include_deviceids = preference->must_include.len;
		one->allocation_size =
			preference->size < INT32_MAX ? (int32_t)preference->size : INT32_MAX;
		message->container_requests[message->n_container_requests++] = one;
	}
	return grpc_message_pack(&message->base, PLUGIN_MESSAGE_MAX, out, err);
}
