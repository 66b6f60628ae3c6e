/* plugins_scene: plugins of two device types on a stage, with a registration that the test
 * plays. */
#pragma once

#include "agent/plugin/plugin.h"
#include "agent/plugin/plugins.h"
#include "kube/metrics.h"
#include "unit/plugin/caller.h"
#include "unit/plugin/fake_registration.h"
#include "unit/plugin/toy.h"

static const struct device_type other_type = { .name = "other", .allocate = toy_allocate };

struct scene {
	struct stage stage;
	struct toy toy;
	struct toy other;
	struct metrics *metrics;
	char *dir;
	bool dra; /* a type has had devices for DRA */
	struct plugins *plugins;
	struct caller caller;
};

static inline void on_event(void *arg, const struct plugin_event *event)
{
	static const char *const names[] = {
		[PLUGIN_REGISTERED] = "registered",       [PLUGIN_WAITING] = "waiting",
		[PLUGIN_ALLOCATED] = "allocated",         [PLUGIN_REFUSED] = "refused",
		[PLUGIN_NOT_ALLOCATED] = "not allocated", [PLUGIN_WITHDRAWN] = "withdrawn",
	};
	struct scene *scene = arg;

	if (event->kind == PLUGIN_LISTED)
		return; /* in no order with the others */
	str_addf(&scene->stage.log, "%s %s %s", event->type, event->resource, names[event->kind]);
	if (event->id)
		str_addf(&scene->stage.log, " %s", event->id);
	for (size_t i = 0; event->ids && i < event->ids->len; i++)
		str_addf(&scene->stage.log, " %s", event->ids->items[i]);
	if (event->err)
		str_addf(&scene->stage.log, ": %s", event->err->msg);
	str_add_char(&scene->stage.log, '|');
}

/* Told of a type once it has had such devices. */
static inline void on_dra(void *arg, const struct device_type *type, void *type_arg,
			  const struct plugin_resource *resources, size_t len)
{
	struct scene *scene = arg;

	assert_ptr_equal(type_arg, type == &toy_type ? &scene->toy : &scene->other);
	if (!scene->dra && len == 0)
		return;
	scene->dra = true;
	str_addf(&scene->stage.log, "%s for DRA:", type->name);
	for (size_t i = 0; i < len; i++) {
		str_addf(&scene->stage.log, " %s=", resources[i].name);
		for (size_t k = 0; k < resources[i].ndevices; k++)
			str_addf(&scene->stage.log, "%s%s", k ? "," : "",
				 resources[i].devices[k].id);
	}
	str_add_char(&scene->stage.log, '|');
}

static inline struct plugins *plugins_of(struct scene *scene, enum registration_mode mode,
					 const char *registry_dir)
{
	struct plugins_deps deps = {
		.registration = { .loop = &scene->stage.loop,
				  .clock = scene->stage.clock,
				  .kubelet_dir = scene->dir,
				  .registry_dir = registry_dir,
				  .mode = mode,
				  .metrics = scene->metrics },
		.socket_dir = scene->stage.folder.path,
		.fn = on_event,
		.dra = on_dra,
		.arg = scene,
	};

	return plugins_new(&deps);
}

static inline struct scene *scene_new(void)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));

	stage_init(&scene->stage);
	*fakes() = (struct fake_registrations){ .log = &scene->stage.log };
	scene->dir = folder_path(&scene->stage.folder, "plugins");
	assert_int_equal(mkdir(scene->dir, 0700), 0);
	scene->metrics = metrics_new();
	scene->plugins = plugins_of(scene, REGISTRATION_DIRECT, "/nonexistent");
	return scene;
}

static inline void scene_free(struct scene *scene)
{
	if (scene->caller.client)
		caller_done(&scene->caller);
	plugins_free(scene->plugins);
	metrics_free(scene->metrics);
	stage_done(&scene->stage);
	free(scene->dir);
	free(scene);
}

SUITE_OBJECT(scene, scene_new(), scene_free);

enum { RESOURCES_MAX = 8 };

/* "t.io/a: x y!; *t.io/b: z": two resources and their devices, the second one's claimed. Devices
 * that begin with "dra" are offered by DRA. */
static inline void set_of(struct scene *scene, const struct device_type *type, const char *text)
{
	auto_free char *copy = xstrdup(text);
	struct plugin_resource resources[RESOURCES_MAX];
	struct toys toys[RESOURCES_MAX];
	char *rest = copy;
	char *part;
	size_t len = 0;

	while (*text && (part = strsep(&rest, ";"))) {
		char *colon = strchr(part, ':');

		*colon = '\0';
		assert_true(len < RESOURCES_MAX);
		toys[len] = toys_parse(colon + 1);
		resources[len] = (struct plugin_resource){ .name = part + strspn(part, " "),
							   .ndevices = toys[len].len };
		resources[len].devices = toys[len].items;
		for (size_t i = 0; i < toys[len].len; i++)
			toys[len].items[i].dra = strncmp(toys[len].items[i].id, "dra", 3) == 0;
		resources[len].claimed = *resources[len].name == '*';
		if (resources[len].claimed)
			resources[len].name++;
		len++;
	}
	plugins_set(scene->plugins, type, type == &toy_type ? &scene->toy : &scene->other,
		    resources, len);
	for (size_t i = 0; i < len; i++)
		free(toys[i].text);
}

static inline void set(struct scene *scene, const char *text)
{
	set_of(scene, &toy_type, text);
}

/* Watch @resource where it is registered now. */
static inline void watch(struct scene *scene, const char *resource)
{
	caller_init(&scene->caller, &scene->stage, fake_registration(resource)->path);
	caller_watch(&scene->caller);
}

static inline void settle_withdrawal(struct scene *scene)
{
	for (uint64_t ms = 0; ms <= PLUGIN_STOP_MS; ms += 10) {
		for (int i = 0; i < STAGE_QUIET_TURNS; i++)
			uv_run(&scene->stage.loop, UV_RUN_NOWAIT);
		fake_clock_advance(scene->stage.fake, 10);
	}
}
