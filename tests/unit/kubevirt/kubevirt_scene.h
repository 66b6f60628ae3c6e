/* kubevirt_scene: what the parts of kubevirt work with, all of it in the test's hand: devices and
 * claims in a stage, KubeVirts and machines on a fake API server. Tests that use it include the
 * fakes themselves, too: by that they are linked with them. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "api/hostdeviceconfig.h"
#include "api/kubevirt.h"
#include "api/virtualmachine.h"
#include "base/json_read.h"
#include "base/log.h"
#include "controller/kubevirt/kubevirt.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/informer.h"
#include "kube/store.h"
#include "unit/cache/stage.h"
#include "unit/suite.h"

struct kubevirt_scene {
	struct stage stage;
	struct fake_server *kubevirts;
	struct fake_server *machines;
	struct informer *kubevirt_cache;
	struct informer *machine_cache;
	struct fake_clock *clock;
	struct store *config;
	struct kubevirt_env env;
	/* A KubeVirt or a machine has changed. */
	void (*on_change)(void *arg, const char *name, const struct entry *before,
			  const struct entry *after);
	void *arg;
	bool follows; /* another replica leads */
	bool unready;
};

static inline bool scene_leads(void *arg)
{
	const struct kubevirt_scene *scene = arg;

	return !scene->follows;
}

static inline bool scene_ready(void *arg)
{
	const struct kubevirt_scene *scene = arg;

	return !scene->unready;
}

static inline void scene_on_change(void *arg, const char *name, const struct entry *before,
				   const struct entry *after)
{
	struct kubevirt_scene *scene = arg;

	if (scene->on_change)
		scene->on_change(scene->arg, name, before, after);
}

static inline bool scene_show(struct kubevirt_scene *scene)
{
	bool shown = fake_server_show(scene->kubevirts, 9);

	return fake_server_show(scene->machines, 9) || shown;
}

/* Everything is served and shown at once. */
static inline void scene_settle(struct kubevirt_scene *scene)
{
	do {
		fake_clock_settle(scene->clock);
	} while (fake_server_serve(scene->kubevirts, FAULT_NONE) || scene_show(scene));
}

/* The same for @ms. */
static inline void scene_run(struct kubevirt_scene *scene, uint64_t ms)
{
	scene_settle(scene);
	for (uint64_t gone = 0; gone < ms; gone += 100) {
		fake_clock_advance(scene->clock, ms - gone < 100 ? ms - gone : 100);
		scene_settle(scene);
	}
}

static inline struct informer *scene_cache(struct kubevirt_scene *scene,
					   const struct api_kind *kind)
{
	struct informer *informer = informer_new(
		&(struct informer_deps){ fake_server_client(scene->kubevirts),
					 fake_clock_as_clock(scene->clock), NULL },
		&(struct informer_spec){
			.kind = kind, .handlers = { .on_change = scene_on_change }, .arg = scene });

	informer_start(informer);
	return informer;
}

static inline void scene_open(struct kubevirt_scene *scene)
{
	log_set_level(LOG_ERROR);
	*scene = (struct kubevirt_scene){ .clock = fake_clock_new() };
	stage_open(&scene->stage);
	scene->config = store_new(&hostdeviceconfig_kind);
	scene->kubevirts = fake_server_new(&kubevirt_kind);
	scene->machines = fake_server_join(scene->kubevirts, &virtualmachine_kind);
	scene->kubevirt_cache = scene_cache(scene, &kubevirt_kind);
	scene->machine_cache = scene_cache(scene, &virtualmachine_kind);
	scene->stage.seen[VIEW_VM] = informer_store(scene->machine_cache);
	scene->env = (struct kubevirt_env){
		.client = fake_server_client(scene->kubevirts),
		.clock = fake_clock_as_clock(scene->clock),
		.stores = scene->stage.seen,
		.config = scene->config,
		.kubevirts = scene->kubevirt_cache,
		.machines = scene->machine_cache,
		.ready = scene_ready,
		.arg = scene,
		.leads = scene_leads,
		.leads_arg = scene,
	};
	scene_settle(scene);
}

/* After its parts have been freed. */
static inline void scene_close(struct kubevirt_scene *scene)
{
	struct kube_client *client = fake_server_client(scene->kubevirts);

	informer_free(scene->kubevirt_cache);
	informer_free(scene->machine_cache);
	assert_int_equal(fake_client_open(client), 0);
	kube_client_free(client);
	fake_server_free(scene->machines);
	fake_server_free(scene->kubevirts);
	store_free(scene->config);
	stage_close(&scene->stage);
	fake_clock_free(scene->clock);
}

/* These requests have been made since the last call. */
static inline void scene_assert_log(struct kubevirt_scene *scene, const char *wanted)
{
	assert_string_equal(fake_server_log(scene->kubevirts), wanted);
}

/* Nothing is asked for or written within @ms. */
static inline void scene_quiet(struct kubevirt_scene *scene, uint64_t ms)
{
	scene_run(scene, ms);
	scene_assert_log(scene, "");
}
