/* caller: calls a device plugin on its socket as a kubelet does, and writes what it hears to a
 * log. */
#pragma once

#include "agent/plugin/plugin_codec.h"
#include "base/array.h"
#include "base/err.h"
#include "fake/kubelet/plugin_client.h"
#include "grpc/uv_client.h"
#include "unit/plugin/stage.h"

struct caller {
	struct str *log;
	struct grpc_uv_client *client;
	struct grpc_rpc *watch;
};

static inline void caller_init(struct caller *caller, struct stage *stage, const char *path)
{
	*caller = (struct caller){ .log = &stage->log };
	caller->client = grpc_uv_client_new(&stage->loop, path, NULL);
}

/* As when the kubelet is gone. */
static inline void caller_done(struct caller *caller)
{
	caller->client = grpc_uv_client_free(caller->client);
	caller->watch = NULL;
}

static inline void caller_on_end(void *arg, const struct grpc_result *result)
{
	struct caller *caller = arg;

	str_addf(caller->log, "%s%s%s|", grpc_status_name(result->status),
		 result->message[0] ? ": " : "", result->message);
}

static inline void caller_on_watch_end(void *arg, const struct grpc_result *result)
{
	struct caller *caller = arg;

	caller->watch = NULL;
	str_addf(caller->log, "watch ended: %s|", grpc_status_name(result->status));
}

/* "list: a b! c@1|": b is not healthy, c is on node 1. */
static inline void caller_on_list(void *arg, const char *data, size_t len)
{
	struct caller *caller = arg;
	struct plugin_listed list = { 0 };

	assert_int_equal(plugin_codec_read_list(data, len, &list, NULL), 0);
	if (list.len > 16)
		str_addf(caller->log, "list of %zu", list.len);
	else
		str_add(caller->log, "list:");
	for (size_t i = 0; i < list.len && list.len <= 16; i++) {
		const struct plugin_listed_device *d = &list.items[i];

		str_addf(caller->log, " %s%s", d->id, strcmp(d->health, "Healthy") == 0 ? "" : "!");
		if (d->numa_node >= 0)
			str_addf(caller->log, "@%d", (int)d->numa_node);
	}
	str_add_char(caller->log, '|');
	plugin_listed_done(&list);
}

static inline void caller_on_options(void *arg, const char *data, size_t len)
{
	struct caller *caller = arg;
	struct plugin_options options = { 0 };

	assert_int_equal(plugin_codec_read_options(data, len, &options, NULL), 0);
	str_addf(caller->log, "pre-start %d, preferred %d|", options.pre_start_required,
		 options.preferred_allocation);
}

static inline void caller_on_allocations(void *arg, const char *data, size_t len)
{
	struct caller *caller = arg;
	struct plugin_allocations all = { 0 };

	assert_int_equal(plugin_codec_read_allocations(data, len, &all, NULL), 0);
	for (size_t i = 0; i < all.len; i++) {
		const struct allocation *a = &all.items[i];

		str_add(caller->log, "container:");
		for (size_t k = 0; k < a->envs.len; k++)
			str_addf(caller->log, " %s=%s", a->envs.items[k].key,
				 a->envs.items[k].value);
		for (size_t k = 0; k < a->devices.len; k++)
			str_addf(caller->log, " %s:%s", a->devices.items[k].container_path,
				 a->devices.items[k].permissions);
		for (size_t k = 0; k < a->mounts.len; k++)
			str_addf(caller->log, " %s:%s", a->mounts.items[k].container_path,
				 a->mounts.items[k].read_only ? "ro" : "rw");
		for (size_t k = 0; k < a->annotations.len; k++)
			str_addf(caller->log, " annotation %s=%s", a->annotations.items[k].key,
				 a->annotations.items[k].value);
		for (size_t k = 0; k < a->cdi_devices.len; k++)
			str_addf(caller->log, " CDI %s", a->cdi_devices.items[k]);
		str_add_char(caller->log, '|');
	}
	plugin_allocations_done(&all);
}

static inline void caller_on_preferred(void *arg, const char *data, size_t len)
{
	struct caller *caller = arg;
	struct plugin_ids ids = { 0 };

	assert_int_equal(plugin_codec_read_preferred(data, len, &ids, NULL), 0);
	for (size_t i = 0; i < ids.len; i++) {
		str_add(caller->log, "preferred:");
		for (size_t k = 0; k < ids.items[i].len; k++)
			str_addf(caller->log, " %s", ids.items[i].items[k]);
		str_add_char(caller->log, '|');
	}
	plugin_ids_done(&ids);
}

static inline void caller_on_empty(void *arg, const char *data, size_t len)
{
	struct caller *caller = arg;

	(void)data;
	str_addf(caller->log, "%zu bytes|", len);
}

/* Words, and between containers "/": "a b / c". */
static inline struct plugin_ids caller_ids(const char *words)
{
	auto_free char *text = xstrdup(words);
	struct plugin_ids ids = { 0 };
	char *rest = text;
	char *word;

	array_add(&ids);
	while ((word = strsep(&rest, " "))) {
		if (strcmp(word, "/") == 0)
			array_add(&ids);
		else if (word[0])
			json_strs_add(&ids.items[ids.len - 1], word);
	}
	return ids;
}

static inline struct grpc_rpc *caller_call(struct caller *caller, struct grpc_request request)
{
	struct grpc_rpc *rpc = NULL;

	if (!request.on_end)
		request.on_end = caller_on_end;
	request.arg = caller;
	assert_int_equal(grpc_uv_client_call(caller->client, &request, &rpc, NULL), 0);
	return rpc;
}

static inline void caller_options(struct caller *caller)
{
	caller_call(caller,
		    (struct grpc_request){ .path = "/v1beta1.DevicePlugin/GetDevicePluginOptions",
					   .data = "",
					   .on_message = caller_on_options });
}

static inline void caller_watch(struct caller *caller)
{
	caller->watch = caller_call(
		caller, (struct grpc_request){ .path = "/v1beta1.DevicePlugin/ListAndWatch",
					       .data = "",
					       .stream = true,
					       .on_message = caller_on_list,
					       .on_end = caller_on_watch_end });
}

static inline struct grpc_rpc *caller_allocate_bytes(struct caller *caller, const char *data,
						     size_t len)
{
	return caller_call(caller, (struct grpc_request){ .path = "/v1beta1.DevicePlugin/Allocate",
							  .data = data,
							  .len = len,
							  .on_message = caller_on_allocations });
}

static inline struct grpc_rpc *caller_allocate(struct caller *caller, const char *words)
{
	struct plugin_ids ids = caller_ids(words);
	auto_str struct str data = STR_INIT;
	struct grpc_rpc *rpc;

	assert_int_equal(plugin_codec_write_allocate(&ids, &data, NULL), 0);
	rpc = caller_allocate_bytes(caller, str_cstr(&data), data.len);
	plugin_ids_done(&ids);
	return rpc;
}

static inline void caller_prefer_bytes(struct caller *caller, const char *data, size_t len)
{
	caller_call(caller,
		    (struct grpc_request){ .path = "/v1beta1.DevicePlugin/GetPreferredAllocation",
					   .data = data,
					   .len = len,
					   .on_message = caller_on_preferred });
}

static inline void caller_prefer(struct caller *caller, const char *available, const char *musts,
				 size_t size)
{
	struct plugin_ids ids[2] = { caller_ids(available), caller_ids(musts) };
	struct plugin_preference preference = { ids[0].items[0], ids[1].items[0], size };
	struct plugin_preferences preferences = { &preference, 1, 1 };
	auto_str struct str data = STR_INIT;

	assert_int_equal(plugin_codec_write_preferences(&preferences, &data, NULL), 0);
	caller_prefer_bytes(caller, str_cstr(&data), data.len);
	plugin_ids_done(&ids[0]);
	plugin_ids_done(&ids[1]);
}

/* Of devices with names of one letter. */
static inline struct grpc_rpc *caller_pre_start(struct caller *caller, const char *letters)
{
	auto_str struct str data = STR_INIT;

	for (size_t i = 0; letters[i]; i++)
		str_addf(&data, "\n\001%c", letters[i]);
	return caller_call(caller,
			   (struct grpc_request){ .path = "/v1beta1.DevicePlugin/PreStartContainer",
						  .data = str_cstr(&data),
						  .len = data.len,
						  .on_message = caller_on_empty });
}
