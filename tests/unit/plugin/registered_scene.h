/* registered_scene: a kubelet (fake_kubelet.h), and an agent that registers one plugin there. */
#pragma once

#include "agent/plugin/kubelet_watch.h"
#include "agent/plugin/registration.h"
#include "base/err.h"
#include "kube/metrics.h"
#include "unit/plugin/fake_kubelet.h"

/* A kubelet, and an agent with one plugin. */
struct scene {
	struct stage stage;
	struct fake_kubelet kubelet;
	struct kubelet_watch *watch;
	struct kubelet_listener *own; /* what the plugin's owner hears */
	struct metrics *metrics;
	struct registration *registration;
	struct grpc_service service;
	struct grpc_uv_server *plugin;
	struct grpc_call *stream;
	unsigned served; /* the number of the plugin's socket */
	bool free_when_called;
};

static inline void scene_on_state(void *arg, enum registration_state state, const struct err *err)
{
	struct scene *scene = arg;

	assert_int_equal(state == REGISTRATION_DONE, err == NULL);
	if (err)
		str_addf(&scene->stage.log, "waits: %s|", strerror(-err->code));
	else
		stage_log(&scene->stage, "done");
	if (scene->free_when_called)
		scene->registration = registration_free(scene->registration);
}

static const struct registration_ops scene_ops = { .on_state = scene_on_state };

/* --- the plugin ------------------------------------------------------------------------------- */

static inline void scene_on_options(void *arg, struct grpc_call *call, const char *request,
				    size_t len)
{
	(void)arg;
	(void)request;
	(void)len;
	grpc_call_answer(call, "", 0);
}

static inline void scene_on_stream_lost(void *arg)
{
	struct scene *scene = arg;

	scene->stream = NULL;
	if (scene->registration)
		registration_again(scene->registration);
}

static inline void scene_on_watch(void *arg, struct grpc_call *call, const char *request,
				  size_t len)
{
	struct scene *scene = arg;

	(void)request;
	(void)len;
	assert_null(scene->stream); /* the real one knows only one */
	scene->stream = call;
	grpc_call_on_cancel(call, scene_on_stream_lost, scene);
}

static const struct grpc_method scene_methods[] = {
	{ "/v1beta1.DevicePlugin/GetDevicePluginOptions", scene_on_options },
	{ "/v1beta1.DevicePlugin/ListAndWatch", scene_on_watch },
};

static inline struct registration_deps scene_deps(struct scene *scene)
{
	return (struct registration_deps){ .loop = &scene->stage.loop,
					   .clock = scene->stage.clock,
					   .watch = scene->watch,
					   .kubelet_dir = scene->kubelet.dir,
					   .registry_dir = "/nonexistent",
					   .mode = REGISTRATION_AUTO,
					   .metrics = scene->metrics };
}

static inline struct registration *scene_register(struct scene *scene, const char *socket_path)
{
	const struct registration_deps deps = scene_deps(scene);

	return registration_new(&deps, "example.com/a", socket_path, &scene_ops, scene);
}

static inline void scene_on_own(void *arg, enum kubelet_event event);

/* What the agent does at first, and again whenever its socket is removed. */
static inline void scene_serve(struct scene *scene)
{
	auto_free char *path = xasprintf("%s/a%u.sock", scene->kubelet.dir, scene->served++);
	struct grpc_uv_server_settings settings = { .path = path, .service = &scene->service };

	scene->own = kubelet_listener_free(scene->own);
	scene->registration = registration_free(scene->registration);
	scene->stream = NULL;
	scene->plugin = grpc_uv_server_free(scene->plugin);
	if (grpc_uv_server_new(&scene->stage.loop, &settings, &scene->plugin, NULL) < 0)
		return;
	scene->own = kubelet_watch_listen(scene->watch, path, scene_on_own, scene);
	scene->registration = scene_register(scene, path);
}

static inline void scene_on_own(void *arg, enum kubelet_event event)
{
	struct scene *scene = arg;

	if (event == KUBELET_TOOK_OWN)
		scene_serve(scene);
}

/* --- the stage -------------------------------------------------------------------------------- */

static inline struct scene *scene_new(void)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));

	stage_init(&scene->stage);
	kubelet_init(&scene->kubelet, &scene->stage);
	scene->metrics = metrics_new();
	scene->service = (struct grpc_service){ scene_methods, ARRAY_LEN(scene_methods), scene };
	scene->watch =
		kubelet_watch_new(&scene->stage.loop, scene->stage.clock, scene->kubelet.dir);
	return scene;
}

static inline void scene_free(struct scene *scene)
{
	registration_free(scene->registration);
	scene->registration = NULL;
	kubelet_listener_free(scene->own);
	kubelet_watch_free(scene->watch);
	scene->kubelet.plugin = grpc_uv_client_free(scene->kubelet.plugin);
	scene->service.nmethods = 0;
	if (scene->stream)
		grpc_call_finish(scene->stream, GRPC_OK, NULL);
	grpc_uv_server_free(scene->plugin);
	kubelet_done(&scene->kubelet);
	stage_done(&scene->stage);
	metrics_free(scene->metrics);
	free(scene);
}

SUITE_OBJECT(scene, scene_new(), scene_free);

/* A plugin that a kubelet knows and watches. */
static inline struct scene *scene_registered(void)
{
	struct scene *scene = scene_new();

	kubelet_start(&scene->kubelet);
	kubelet_watch_check(scene->watch);
	scene_serve(scene);
	stage_await(&scene->stage, "example.com/a at a0.sock|done|");
	while (!scene->stream)
		stage_turn(&scene->stage);
	stage_settle(&scene->stage, "");
	return scene;
}

SUITE_OBJECT(registered, scene_registered(), scene_free);
