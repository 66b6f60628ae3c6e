/* plugin_scene: one plugin of toys on a stage, and who calls it. */
#pragma once

#include "agent/plugin/checkpoint.h"
#include "agent/plugin/plugin.h"
#include "unit/plugin/caller.h"
#include "unit/plugin/toy.h"

struct scene {
	struct stage stage;
	const struct device_type *type;
	struct toy toy;
	char *path;
	struct plugin *plugin;
	struct checkpoint *checkpoint; /* of the stage's folder */
	struct caller caller;
	bool free_when_alone;
	int kubelets; /* streams of the kubelet so far */
};

static inline void on_stream_closed(void *arg, size_t left, bool kubelets)
{
	struct scene *scene = arg;

	str_addf(&scene->stage.log, "%s closed, %zu left|",
		 kubelets ? "kubelet's stream" : "stream", left);
	if (scene->free_when_alone && left == 0)
		scene->plugin = plugin_free(scene->plugin);
}

static inline void on_allocated(void *arg, const struct json_strs *ids)
{
	struct scene *scene = arg;

	str_add(&scene->stage.log, "allocated:");
	for (size_t i = 0; i < ids->len; i++)
		str_addf(&scene->stage.log, " %s", ids->items[i]);
	str_add_char(&scene->stage.log, '|');
}

static inline void on_refused(void *arg, const struct json_strs *ids, const struct err *err)
{
	struct scene *scene = arg;

	assert_true(err->code < 0);
	str_add(&scene->stage.log, "refused");
	for (size_t i = 0; i < ids->len; i++)
		str_addf(&scene->stage.log, " %s", ids->items[i]);
	str_add_char(&scene->stage.log, '|');
}

static inline void on_kubelet(void *arg)
{
	struct scene *scene = arg;

	scene->kubelets++;
}

static const struct plugin_ops ops = { .on_stream_closed = on_stream_closed,
				       .on_allocated = on_allocated,
				       .on_refused = on_refused,
				       .on_kubelet = on_kubelet };

static inline int serve(struct scene *scene, const char *words, struct err *err)
{
	struct plugin_settings settings = {
		.loop = &scene->stage.loop,
		.clock = scene->stage.clock,
		.socket_path = scene->path,
		.resource = "t.io/toy",
		.type = scene->type,
		.type_arg = &scene->toy,
		.list = toys_list(words),
		.checkpoint = scene->checkpoint,
		.ops = &ops,
		.arg = scene,
	};
	int r = plugin_new(&settings, &scene->plugin, err);

	device_list_unref(settings.list);
	return r;
}

static inline struct scene *scene_of(const struct device_type *type, const char *words)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));
	auto_free char *checkpoint = NULL;

	scene->type = type;
	stage_init(&scene->stage);
	scene->path = folder_path(&scene->stage.folder, "toy.sock");
	checkpoint = folder_path(&scene->stage.folder, "checkpoint");
	scene->checkpoint = checkpoint_new(checkpoint);
	assert_int_equal(serve(scene, words, NULL), 0);
	caller_init(&scene->caller, &scene->stage, scene->path);
	return scene;
}

static inline struct scene *scene_new(const char *words)
{
	return scene_of(&toy_type, words);
}

static inline void scene_update(struct scene *scene, const char *words)
{
	struct device_list *list = toys_list(words);

	plugin_update(scene->plugin, list);
	device_list_unref(list);
}

/* What waits is answered after the plugin's end. */
static inline void scene_free(struct scene *scene)
{
	caller_done(&scene->caller);
	plugin_free(scene->plugin);
	checkpoint_free(scene->checkpoint);
	while (scene->toy.nwaiting > 0)
		toy_answer(&scene->toy, 0);
	free(scene->path);
	stage_done(&scene->stage);
	free(scene);
}
