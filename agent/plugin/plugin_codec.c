#include "agent/plugin/plugin_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "grpc/message.h"
#include "proto/deviceplugin.pb-c.h"

/* --- the lists -------------------------------------------------------------------------------- */

void plugin_ids_done(struct plugin_ids *ids)
{
	for (size_t i = 0; i < ids->len; i++)
		json_strs_done(&ids->items[i]);
	array_done(ids);
}

void plugin_preferences_done(struct plugin_preferences *preferences)
{
	for (size_t i = 0; i < preferences->len; i++) {
		json_strs_done(&preferences->items[i].available);
		json_strs_done(&preferences->items[i].must_include);
	}
	array_done(preferences);
}

void plugin_allocations_done(struct plugin_allocations *allocations)
{
	for (size_t i = 0; i < allocations->len; i++)
		allocation_done(&allocations->items[i]);
	array_done(allocations);
}

/* --- messages --------------------------------------------------------------------------------- */

static void message_done(void *p)
{
	grpc_message_free(*(void **)p);
}

/* A message that owns all that it points to, whether it came from bytes or goes there. */
#define auto_message __attribute__((cleanup(message_done)))

struct writer {
	bool has_bad_text;
};

static char *text_write(struct writer *w, const char *text)
{
	if (!utf8_valid(text, strlen(text)))
		w->has_bad_text = true;
	return xstrdup(text);
}

static void *pointers_new(size_t n)
{
	return xcalloc(n > 0 ? n : 1, sizeof(void *));
}

static char **texts_write(struct writer *w, const struct json_strs *texts)
{
	char **copies = pointers_new(texts->len);

	for (size_t i = 0; i < texts->len; i++)
		copies[i] = text_write(w, texts->items[i]);
	return copies;
}

static int message_write(const struct writer *w, const ProtobufCMessage *message, struct str *out,
			 struct err *err)
{
	if (w->has_bad_text)
		return err_set(err, ERR_INVALID, -EINVAL, "%s with text that is not UTF-8",
			       message->descriptor->name);
	return grpc_message_pack(message, PLUGIN_MESSAGE_MAX, out, err);
}

static int message_read(const ProtobufCMessageDescriptor *type, const char *data, size_t len,
			void *ret_message, struct err *err)
{
	return grpc_message_unpack(type, data, len, ret_message, err);
}

static int containers_check(size_t n, struct err *err)
{
	if (n > PLUGIN_CONTAINERS_MAX)
		return err_set(err, ERR_INVALID, -EMSGSIZE,
			       "%zu containers in one request; at most %d are allowed", n,
			       PLUGIN_CONTAINERS_MAX);
	return 0;
}

static struct json_strs texts_read(char *const *texts, size_t n)
{
	struct json_strs list = { 0 };

	for (size_t i = 0; i < n; i++)
		json_strs_add(&list, texts[i]);
	return list;
}

int plugin_codec_write_options(const struct plugin_options *options, struct str *out,
			       struct err *err)
{
	V1beta1__DevicePluginOptions message = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

	message.pre_start_required = options->pre_start_required;
	message.get_preferred_allocation_available = options->preferred_allocation;
	return grpc_message_pack(&message.base, PLUGIN_MESSAGE_MAX, out, err);
}

static V1beta1__TopologyInfo *topology_write(int numa_node)
{
	V1beta1__TopologyInfo *topology = xmalloc(sizeof(*topology));
	V1beta1__NUMANode *node = xmalloc(sizeof(*node));

	v1beta1__topology_info__init(topology);
	v1beta1__numanode__init(node);
	node->id = numa_node;
	topology->n_nodes = 1;
	topology->nodes = pointers_new(1);
	topology->nodes[0] = node;
	return topology;
}

static V1beta1__Device *device_write(struct writer *w, const struct plugin_device *device)
{
	V1beta1__Device *message = xmalloc(sizeof(*message));

	v1beta1__device__init(message);
	message->id = text_write(w, device->id);
	message->health = xstrdup(device->healthy ? "Healthy" : "Unhealthy");
	if (device->numa_node >= 0)
		message->topology = topology_write(device->numa_node);
	return message;
}

int plugin_codec_write_list(const struct plugin_device *devices, size_t ndevices, struct str *out,
			    struct err *err)
{
	auto_message V1beta1__ListAndWatchResponse *message = xmalloc(sizeof(*message));
	struct writer w = { 0 };

	v1beta1__list_and_watch_response__init(message);
	message->devices = pointers_new(ndevices);
	for (size_t i = 0; i < ndevices; i++)
		message->devices[message->n_devices++] = device_write(&w, &devices[i]);
	return message_write(&w, &message->base, out, err);
}

int plugin_codec_read_allocate(const char *data, size_t len, struct plugin_ids *ret_request,
			       struct err *err)
{
	auto_message V1beta1__AllocateRequest *message = NULL;
	struct plugin_ids request = { 0 };
	int r = message_read(&v1beta1__allocate_request__descriptor, data, len, &message, err);

	if (r == 0)
		r = containers_check(message->n_container_requests, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < message->n_container_requests; i++) {
		const V1beta1__ContainerAllocateRequest *one = message->container_requests[i];

		*array_add(&request) = texts_read(one->devices_ids, one->n_devices_ids);
	}
	*ret_request = request;
	return 0;
}

int plugin_codec_read_start(const char *data, size_t len, struct json_strs *ret_ids,
			    struct err *err)
{
	auto_message V1beta1__PreStartContainerRequest *message = NULL;
	int r = message_read(&v1beta1__pre_start_container_request__descriptor, data, len, &message,
			     err);

	if (r == 0)
		*ret_ids = texts_read(message->devices_ids, message->n_devices_ids);
	return r;
}

int plugin_codec_read_nodes(const char *data, size_t len, struct json_strs *nodes, struct err *err)
{
	auto_message V1beta1__ContainerAllocateResponse *message = NULL;
	int r = message_read(&v1beta1__container_allocate_response__descriptor, data, len, &message,
			     err);

	for (size_t i = 0; r == 0 && i < message->n_devices; i++)
		json_strs_add_new(nodes, message->devices[i]->host_path);
	return r;
}

static V1beta1__ContainerAllocateResponse__EnvsEntry *env_write(struct writer *w,
								const struct json_pair *pair)
{
	V1beta1__ContainerAllocateResponse__EnvsEntry *env = xmalloc(sizeof(*env));

	v1beta1__container_allocate_response__envs_entry__init(env);
	env->key = text_write(w, pair->key);
	env->value = text_write(w, pair->value);
	return env;
}

static V1beta1__ContainerAllocateResponse__AnnotationsEntry *
annotation_write(struct writer *w, const struct json_pair *pair)
{
	V1beta1__ContainerAllocateResponse__AnnotationsEntry *annotation =
		xmalloc(sizeof(*annotation));

	v1beta1__container_allocate_response__annotations_entry__init(annotation);
	annotation->key = text_write(w, pair->key);
	annotation->value = text_write(w, pair->value);
	return annotation;
}

static V1beta1__CDIDevice *cdi_device_write(struct writer *w, const char *name)
{
	V1beta1__CDIDevice *message = xmalloc(sizeof(*message));

	v1beta1__cdidevice__init(message);
	message->name = text_write(w, name);
	return message;
}

static V1beta1__DeviceSpec *spec_write(struct writer *w, const struct device_spec *spec)
{
	V1beta1__DeviceSpec *message = xmalloc(sizeof(*message));

	v1beta1__device_spec__init(message);
	message->container_path = text_write(w, spec->container_path);
	message->host_path = text_write(w, spec->host_path);
	message->permissions = text_write(w, spec->permissions);
	return message;
}

static V1beta1__Mount *mount_write(struct writer *w, const struct device_mount *mount)
{
	V1beta1__Mount *message = xmalloc(sizeof(*message));

	v1beta1__mount__init(message);
	message->container_path = text_write(w, mount->container_path);
	message->host_path = text_write(w, mount->host_path);
	message->read_only = mount->read_only;
	return message;
}

static V1beta1__ContainerAllocateResponse *allocation_write(struct writer *w,
							    const struct allocation *allocation)
{
	V1beta1__ContainerAllocateResponse *message = xmalloc(sizeof(*message));

	v1beta1__container_allocate_response__init(message);
	message->envs = pointers_new(allocation->envs.len);
	message->devices = pointers_new(allocation->devices.len);
	message->mounts = pointers_new(allocation->mounts.len);
	message->annotations = pointers_new(allocation->annotations.len);
	message->cdi_devices = pointers_new(allocation->cdi_devices.len);
	for (size_t i = 0; i < allocation->envs.len; i++)
		message->envs[message->n_envs++] = env_write(w, &allocation->envs.items[i]);
	for (size_t i = 0; i < allocation->devices.len; i++)
		message->devices[message->n_devices++] =
			spec_write(w, &allocation->devices.items[i]);
	for (size_t i = 0; i < allocation->mounts.len; i++)
		message->mounts[message->n_mounts++] = mount_write(w, &allocation->mounts.items[i]);
	for (size_t i = 0; i < allocation->annotations.len; i++)
		message->annotations[message->n_annotations++] =
			annotation_write(w, &allocation->annotations.items[i]);
	for (size_t i = 0; i < allocation->cdi_devices.len; i++)
		message->cdi_devices[message->n_cdi_devices++] =
			cdi_device_write(w, allocation->cdi_devices.items[i]);
	return message;
}

int plugin_codec_write_allocations(const struct plugin_allocations *response, struct str *out,
				   struct err *err)
{
	auto_message V1beta1__AllocateResponse *message = xmalloc(sizeof(*message));
	struct writer w = { 0 };

	v1beta1__allocate_response__init(message);
	message->container_responses = pointers_new(response->len);
	for (size_t i = 0; i < response->len; i++)
		message->container_responses[message->n_container_responses++] =
			allocation_write(&w, &response->items[i]);
	return message_write(&w, &message->base, out, err);
}

int plugin_codec_read_preferences(const char *data, size_t len,
				  struct plugin_preferences *ret_request, struct err *err)
{
	auto_message V1beta1__PreferredAllocationRequest *message = NULL;
	struct plugin_preferences request = { 0 };
	int r = message_read(&v1beta1__preferred_allocation_request__descriptor, data, len,
			     &message, err);

	if (r == 0)
		r = containers_check(message->n_container_requests, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < message->n_container_requests; i++) {
		const V1beta1__ContainerPreferredAllocationRequest *one =
			message->container_requests[i];

		*array_add(&request) = (struct plugin_preference){
			.available =
				texts_read(one->available_deviceids, one->n_available_deviceids),
			.must_include = texts_read(one->must_include_deviceids,
						   one->n_must_include_deviceids),
			.size = one->allocation_size > 0 ? (size_t)one->allocation_size : 0,
		};
	}
	*ret_request = request;
	return 0;
}

int plugin_codec_write_preferred(const struct plugin_ids *response, struct str *out,
				 struct err *err)
{
	auto_message V1beta1__PreferredAllocationResponse *message = xmalloc(sizeof(*message));
	struct writer w = { 0 };

	v1beta1__preferred_allocation_response__init(message);
	message->container_responses = pointers_new(response->len);
	for (size_t i = 0; i < response->len; i++) {
		V1beta1__ContainerPreferredAllocationResponse *one = xmalloc(sizeof(*one));

		v1beta1__container_preferred_allocation_response__init(one);
		one->deviceids = texts_write(&w, &response->items[i]);
		one->n_deviceids = response->items[i].len;
		message->container_responses[message->n_container_responses++] = one;
	}
	return message_write(&w, &message->base, out, err);
}
