/*
 * fake_kubelet: registers device plugins as the real one does: it wipes the sockets of its folder
 * when it starts, calls the plugin back before it answers Register, opens one stream and never
 * another.
 */
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include "grpc/message.h"
#include "grpc/uv_client.h"
#include "grpc/uv_server.h"
#include "proto/deviceplugin.pb-c.h"
#include "unit/plugin/stage.h"

enum kubelet_mood {
	KUBELET_TAKES,   /* what registers  */
	KUBELET_REFUSES, /* says why        */
	KUBELET_HANGS,   /* holds the call  */
	KUBELET_DROPS,   /* closes at once  */
};

struct fake_kubelet {
	struct stage *stage;
	char *dir;
	enum kubelet_mood mood;
	struct grpc_service service;
	struct grpc_uv_server *server;
	struct grpc_call *held; /* a Register under way */
	char *endpoint;
	struct grpc_uv_client *plugin;
	struct grpc_rpc *stream;
	size_t unhealthy;       /* devices, by the last list                                      */
	const char *checkpoint; /* what it writes as each list comes; NULL: nothing. The real one
				 * forgets pods that have ended as it lists its pods              */
};

static inline void kubelet_on_message(void *arg, const char *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
}

static inline void kubelet_on_list(void *arg, const char *data, size_t len)
{
	struct fake_kubelet *kubelet = arg;
	V1beta1__ListAndWatchResponse *list =
		v1beta1__list_and_watch_response__unpack(NULL, len, (const uint8_t *)data);

	assert_non_null(list);
	if (kubelet->checkpoint)
		folder_put(&kubelet->stage->folder, "device-plugins/kubelet_internal_checkpoint",
			   kubelet->checkpoint);
	kubelet->unhealthy = 0;
	for (size_t i = 0; i < list->n_devices; i++)
		kubelet->unhealthy += strcmp(list->devices[i]->health, "Healthy") != 0;
	v1beta1__list_and_watch_response__free_unpacked(list, NULL);
}

static inline void kubelet_on_stream_end(void *arg, const struct grpc_result *result)
{
	struct fake_kubelet *kubelet = arg;

	(void)result;
	kubelet->stream = NULL;
	stage_log(kubelet->stage, "kubelet lost its stream");
}

static inline void kubelet_on_options(void *arg, const struct grpc_result *result)
{
	struct fake_kubelet *kubelet = arg;
	struct grpc_request watch = { .path = "/v1beta1.DevicePlugin/ListAndWatch",
				      .data = "",
				      .stream = true,
				      .on_message = kubelet_on_list,
				      .on_end = kubelet_on_stream_end,
				      .arg = kubelet };
	struct grpc_call *call = kubelet->held;

	kubelet->held = NULL;
	if (!call)
		return;
	if (result->status != GRPC_OK) {
		grpc_call_finish(call, GRPC_UNKNOWN, "failed to dial device plugin");
		return;
	}
	grpc_uv_client_call(kubelet->plugin, &watch, &kubelet->stream, NULL);
	grpc_call_answer(call, "", 0);
}

static inline void kubelet_call_back(struct fake_kubelet *kubelet)
{
	auto_free char *path = xasprintf("%s/%s", kubelet->dir, kubelet->endpoint);
	struct grpc_request options = { .path = "/v1beta1.DevicePlugin/GetDevicePluginOptions",
					.data = "",
					.on_message = kubelet_on_message,
					.on_end = kubelet_on_options,
					.arg = kubelet };

	/* An earlier client of the same resource is overwritten and ends. */
	grpc_uv_client_free(kubelet->plugin);
	kubelet->plugin = grpc_uv_client_new(&kubelet->stage->loop, path, NULL);
	grpc_uv_client_call(kubelet->plugin, &options, NULL, NULL);
}

static inline void kubelet_on_cancel(void *arg)
{
	struct fake_kubelet *kubelet = arg;

	kubelet->held = NULL;
	stage_log(kubelet->stage, "call cancelled");
}

static inline void kubelet_on_register(void *arg, struct grpc_call *call, const char *data,
				       size_t len)
{
	struct fake_kubelet *kubelet = arg;
	ProtobufCMessage *message = NULL;
	const V1beta1__RegisterRequest *request;

	assert_int_equal(grpc_message_unpack(&v1beta1__register_request__descriptor, data, len,
					     &message, NULL),
			 0);
	request = (const V1beta1__RegisterRequest *)message;
	assert_string_equal(request->version, "v1beta1");
	str_addf(&kubelet->stage->log, "%s at %s|", request->resource_name, request->endpoint);
	free(kubelet->endpoint);
	kubelet->endpoint = xstrdup(request->endpoint);
	grpc_message_free(message);
	if (kubelet->mood == KUBELET_REFUSES) {
		grpc_call_finish(call, GRPC_UNKNOWN, "the ResourceName is invalid");
		return;
	}
	if (kubelet->mood == KUBELET_DROPS) {
		kubelet->server = grpc_uv_server_free(kubelet->server);
		return;
	}
	kubelet->held = call;
	grpc_call_on_cancel(call, kubelet_on_cancel, kubelet);
	if (kubelet->mood == KUBELET_TAKES)
		kubelet_call_back(kubelet);
}

static const struct grpc_method kubelet_methods[] = {
	{ "/v1beta1.Registration/Register", kubelet_on_register },
};

/* Serve at kubelet.sock, and leave other sockets alone. */
static inline void kubelet_serve(struct fake_kubelet *kubelet)
{
	auto_free char *path = xasprintf("%s/kubelet.sock", kubelet->dir);
	struct grpc_uv_server_settings settings = { .path = path, .service = &kubelet->service };

	assert_int_equal(
		grpc_uv_server_new(&kubelet->stage->loop, &settings, &kubelet->server, NULL), 0);
}

/* As when it is killed: its socket's file stays. */
static inline void kubelet_kill(struct fake_kubelet *kubelet)
{
	auto_free char *path = xasprintf("%s/kubelet.sock", kubelet->dir);
	auto_free char *aside = xasprintf("%s/aside", kubelet->dir);

	kubelet->plugin = grpc_uv_client_free(kubelet->plugin);
	kubelet->stream = NULL;
	if (!kubelet->server)
		return;
	/* What closes removes its own; a socket that stays has to be another one. */
	assert_int_equal(link(path, aside), 0);
	kubelet->held = NULL;
	kubelet->server = grpc_uv_server_free(kubelet->server);
	assert_int_equal(rename(aside, path), 0);
}

static inline void kubelet_wipe(const struct fake_kubelet *kubelet)
{
	auto_dir DIR *dir = opendir(kubelet->dir);
	const struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		struct stat st;

		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISSOCK(st.st_mode))
			assert_int_equal(unlinkat(dirfd(dir), entry->d_name, 0), 0);
	}
}

/* The folder is made if there is none. */
static inline void kubelet_start(struct fake_kubelet *kubelet)
{
	(void)mkdir(kubelet->dir, 0750);
	kubelet_wipe(kubelet);
	kubelet_serve(kubelet);
}

static inline void kubelet_init(struct fake_kubelet *kubelet, struct stage *stage)
{
	*kubelet = (struct fake_kubelet){ .stage = stage };
	kubelet->dir = folder_path(&stage->folder, "device-plugins");
	kubelet->service = (struct grpc_service){ kubelet_methods, 1, kubelet };
	assert_int_equal(mkdir(kubelet->dir, 0750), 0);
}

static inline void kubelet_done(struct fake_kubelet *kubelet)
{
	grpc_uv_client_free(kubelet->plugin);
	grpc_uv_server_free(kubelet->server);
	free(kubelet->endpoint);
	free(kubelet->dir);
}
