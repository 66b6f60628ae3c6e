/* What a device plugin answers, without devices. */
#include "flow/probe/grpc_probe_plugin.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/message.h"
#include "proto/deviceplugin.pb-c.h"
#include "proto/pluginregistration.pb-c.h"

enum { MESSAGE_MAX = 4 << 20 };

static void answer(struct grpc_call *call, const ProtobufCMessage *message)
{
	auto_str struct str data = STR_INIT;
	struct err err = { 0 };

	if (grpc_message_pack(message, MESSAGE_MAX, &data, &err) < 0)
		grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, err.msg);
	else
		grpc_call_answer(call, str_cstr(&data), data.len);
}

/* The request, or NULL: then the call is answered. */
static void *request_of(struct grpc_call *call, const ProtobufCMessageDescriptor *type,
			const char *data, size_t len)
{
	ProtobufCMessage *message = NULL;
	struct err err = { 0 };

	if (grpc_message_unpack(type, data, len, &message, &err) < 0)
		grpc_call_finish(call, GRPC_INVALID_ARGUMENT, err.msg);
	return message;
}

static void handle_options(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

	(void)arg;
	(void)request;
	(void)len;
	options.get_preferred_allocation_available = true;
	answer(call, &options.base);
}

static void list_send(const struct plugin *plugin, struct grpc_call *call)
{
	V1beta1__ListAndWatchResponse list = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;
	V1beta1__NUMANode node = V1BETA1__NUMANODE__INIT;
	V1beta1__NUMANode *nodes[] = { &node };
	V1beta1__TopologyInfo topology = V1BETA1__TOPOLOGY_INFO__INIT;
	auto_free V1beta1__Device *devices = xcalloc(plugin->ndevices + 1, sizeof(*devices));
	auto_free V1beta1__Device **items =
		xcalloc(plugin->ndevices + 1, sizeof(V1beta1__Device *));
	auto_str struct str data = STR_INIT;
	char healthy[] = "Healthy";
	struct err err = { 0 };

	node.id = 1;
	topology.n_nodes = 1;
	topology.nodes = nodes;
	for (uint64_t i = 0; i < plugin->ndevices; i++) {
		v1beta1__device__init(&devices[i]);
		devices[i].id = xasprintf("device-%" PRIu64 "%0*d", i, (int)plugin->pad, 0);
		devices[i].health = healthy;
		devices[i].topology = &topology;
		items[i] = &devices[i];
	}
	list.n_devices = plugin->ndevices;
	list.devices = items;
	if (grpc_message_pack(&list.base, MESSAGE_MAX, &data, &err) < 0 ||
	    grpc_call_send_latest(call, str_cstr(&data), data.len, &err) < 0)
		probe_say("list refused: %s", err.msg);
	for (uint64_t i = 0; i < plugin->ndevices; i++)
		free(devices[i].id);
}

struct watch {
	struct plugin *plugin;
	size_t slot;
};

static void on_watch_cancelled(void *arg)
{
	struct watch *watch = arg;

	watch->plugin->watches[watch->slot] = NULL;
	free(watch);
	probe_say("watch cancelled");
}

static void handle_list_and_watch(void *arg, struct grpc_call *call, const char *request,
				  size_t len)
{
	struct plugin *plugin = arg;
	struct watch *watch;
	size_t slot = 0;

	(void)request;
	(void)len;
	while (slot < PLUGIN_STREAMS_MAX && plugin->watches[slot])
		slot++;
	if (slot == PLUGIN_STREAMS_MAX) {
		grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "too many streams");
		return;
	}
	watch = xcalloc(1, sizeof(*watch));
	*watch = (struct watch){ plugin, slot };
	plugin->watches[slot] = call;
	grpc_call_on_cancel(call, on_watch_cancelled, watch);
	list_send(plugin, call);
	probe_say("watch opened");
}

static void handle_preferred(void *arg, struct grpc_call *call, const char *data, size_t len)
{
	V1beta1__PreferredAllocationRequest *request =
		request_of(call, &v1beta1__preferred_allocation_request__descriptor, data, len);
	V1beta1__PreferredAllocationResponse response =
		V1BETA1__PREFERRED_ALLOCATION_RESPONSE__INIT;
	V1beta1__ContainerPreferredAllocationResponse one =
		V1BETA1__CONTAINER_PREFERRED_ALLOCATION_RESPONSE__INIT;
	V1beta1__ContainerPreferredAllocationResponse *ones[] = { &one };

	(void)arg;
	if (!request)
		return;
	if (request->n_container_requests == 1) {
		const V1beta1__ContainerPreferredAllocationRequest *c =
			request->container_requests[0];

		one.deviceids = c->available_deviceids;
		one.n_deviceids = c->n_available_deviceids;
		if (c->allocation_size >= 0 && one.n_deviceids > (size_t)c->allocation_size)
			one.n_deviceids = (size_t)c->allocation_size;
		response.n_container_responses = 1;
		response.container_responses = ones;
	}
	answer(call, &response.base);
	grpc_message_free(request);
}

static void allocate(struct grpc_call *call, const V1beta1__ContainerAllocateRequest *request)
{
	V1beta1__AllocateResponse response = V1BETA1__ALLOCATE_RESPONSE__INIT;
	V1beta1__ContainerAllocateResponse one = V1BETA1__CONTAINER_ALLOCATE_RESPONSE__INIT;
	V1beta1__ContainerAllocateResponse *ones[] = { &one };
	V1beta1__ContainerAllocateResponse__EnvsEntry env;
	V1beta1__ContainerAllocateResponse__EnvsEntry *envs[] = { &env };
	V1beta1__DeviceSpec spec;
	V1beta1__DeviceSpec *specs[] = { &spec };

	v1beta1__container_allocate_response__envs_entry__init(&env);
	v1beta1__device_spec__init(&spec);
	env.key = (char[]){ "DEVICE" };
	env.value = request->devices_ids[0];
	spec.host_path = (char[]){ "/dev/vfio/7" };
	spec.container_path = (char[]){ "/dev/vfio/7" };
	spec.permissions = (char[]){ "mrw" };
	one.n_envs = one.n_devices = response.n_container_responses = 1;
	one.envs = envs;
	one.devices = specs;
	response.container_responses = ones;
	answer(call, &response.base);
}

static void handle_allocate(void *arg, struct grpc_call *call, const char *data, size_t len)
{
	V1beta1__AllocateRequest *request =
		request_of(call, &v1beta1__allocate_request__descriptor, data, len);

	(void)arg;
	if (!request)
		return;
	if (request->n_container_requests != 1 ||
	    request->container_requests[0]->n_devices_ids == 0)
		grpc_call_finish(call, GRPC_INVALID_ARGUMENT, "one container with devices");
	else if (strcmp(request->container_requests[0]->devices_ids[0], "unknown") == 0)
		grpc_call_finish(call, GRPC_NOT_FOUND, "device 'unknown': 100 % gone\nüber");
	else
		allocate(call, request->container_requests[0]);
	grpc_message_free(request);
}

static void on_hang_cancelled(void *arg)
{
	(void)arg;
	probe_say("call cancelled");
}

/* Never answers. */
static void handle_pre_start(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	(void)request;
	(void)len;
	grpc_call_on_cancel(call, on_hang_cancelled, arg);
	probe_say("call hangs");
}

static void handle_info(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	Pluginregistration__PluginInfo info;
	char *versions[] = { (char[]){ "v1beta1" } };

	(void)arg;
	(void)request;
	(void)len;
	pluginregistration__plugin_info__init(&info);
	info.type = (char[]){ "DevicePlugin" };
	info.name = (char[]){ "example.com/thing" };
	info.n_supported_versions = 1;
	info.supported_versions = versions;
	answer(call, &info.base);
}

static void handle_status(void *arg, struct grpc_call *call, const char *data, size_t len)
{
	Pluginregistration__RegistrationStatus *status =
		request_of(call, &pluginregistration__registration_status__descriptor, data, len);

	(void)arg;
	if (!status)
		return;
	probe_say("registered %d: %s", status->plugin_registered, status->error);
	grpc_call_answer(call, "", 0);
	grpc_message_free(status);
}

static void handle_pods(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	struct plugin *plugin = arg;

	(void)request;
	(void)len;
	grpc_call_answer(call, str_cstr(&plugin->pods), plugin->pods.len);
}

const struct grpc_method plugin_methods[PLUGIN_NMETHODS] = {
	{ "/v1beta1.DevicePlugin/GetDevicePluginOptions", handle_options },
	{ "/v1beta1.DevicePlugin/ListAndWatch", handle_list_and_watch },
	{ "/v1beta1.DevicePlugin/GetPreferredAllocation", handle_preferred },
	{ "/v1beta1.DevicePlugin/Allocate", handle_allocate },
	{ "/v1beta1.DevicePlugin/PreStartContainer", handle_pre_start },
	{ "/pluginregistration.Registration/GetInfo", handle_info },
	{ "/pluginregistration.Registration/NotifyRegistrationStatus", handle_status },
	{ "/v1.PodResourcesLister/List", handle_pods },
};

void plugin_list(struct plugin *plugin, uint64_t ndevices, uint64_t pad)
{
	plugin->ndevices = ndevices;
	plugin->pad = pad;
	for (size_t i = 0; i < PLUGIN_STREAMS_MAX; i++) {
		if (plugin->watches[i])
			list_send(plugin, plugin->watches[i]);
	}
}
