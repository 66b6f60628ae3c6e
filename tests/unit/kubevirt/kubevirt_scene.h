/* kubevirt_scene: what the parts of kubevirt work with, all of it in the test's hand. Tests that use it include the
 * fakes themselves, too: by that they are linked with them. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "api/hostdeviceconfig.h"
#include "api/kubevirt.h"
#include "base/json_read.h"
#include "base/log.h"
#include "controller/kubevirt/kubevirt_ties.h"
#include "controller/views/errand.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/store.h"
#include "unit/suite.h"
#include "unit/views/stage.h"

struct kubevirt_scene {
	struct stage stage;
	struct kube_client *client;
	struct fake_clock *clock;
	struct store *config;
	struct store *kubevirts;
	struct errands errands;
	struct kubevirt_ties ties;
	bool follows; /* somebody else leads */
	bool unready;
	int versions;
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

static inline void scene_open(struct kubevirt_scene *scene)
{
	log_set_level(LOG_ERROR);
	*scene = (struct kubevirt_scene){ .client = fake_client_new(), .clock = fake_clock_new() };
	stage_open(&scene->stage);
	scene->config = store_new(&hostdeviceconfig_kind);
	scene->kubevirts = store_new(&kubevirt_kind);
	scene->ties = (struct kubevirt_ties){
		.client = scene->client,
		.clock = fake_clock_as_clock(scene->clock),
		.stores = scene->stage.seen,
		.config = scene->config,
		.kubevirts = scene->kubevirts,
		.errands = &scene->errands,
		.ready = scene_ready,
		.leads = scene_leads,
		.arg = scene,
	};
}

/* After its parts have been freed. */
static inline void scene_close(struct kubevirt_scene *scene)
{
	assert_int_equal(fake_client_open(scene->client), 0);
	store_free(scene->config);
	store_free(scene->kubevirts);
	stage_close(&scene->stage);
	kube_client_free(scene->client);
	fake_clock_free(scene->clock);
}

/* An object: its metadata is "namespace", @name, and @meta; @rest follows. */
struct scene_object {
	const struct api_kind *kind;
	const char *name;
	const char *meta;
	const char *rest;
};

static inline void scene_put(struct kubevirt_scene *scene, struct store *store,
			     const struct scene_object *object, store_change_fn *change, void *arg)
{
	auto_free char *text =
		xasprintf("{\"metadata\":{\"namespace\":\"d\",\"name\":\"%s\",\"uid\":\"u-%s\","
			  "\"resourceVersion\":\"v%d\"%s%s}%s%s}",
			  object->name, object->name, ++scene->versions, *object->meta ? "," : "",
			  object->meta, *object->rest ? "," : "", object->rest);
	struct json_text json = { text, strlen(text) };
	struct err err = { 0 };
	struct entry *entry = entry_decode(object->kind, &json, &err);

	if (!entry || !entry->object)
		fail_msg("%s: %s", text, err.msg);
	store_put(store, entry, change, arg);
}

/* The oldest request is this one: its method, and what is in its path and in its body. */
static inline void scene_expect(struct kubevirt_scene *scene, const char *method, const char *path,
				const char *body)
{
	const struct fake_request *request = fake_client_request(scene->client);

	assert_string_equal(request->method, method);
	if (!strstr(request->path, path))
		fail_msg("no '%s' in %s", path, request->path);
	if (!strstr(request->body, body))
		fail_msg("no '%s' in %s", body, request->body);
}

static inline void scene_answer(struct kubevirt_scene *scene, int status, const char *body)
{
	fake_client_answer(scene->client, status, body);
	fake_clock_settle(scene->clock);
}

static inline void scene_quiet(struct kubevirt_scene *scene, uint64_t ms)
{
	fake_clock_advance(scene->clock, ms);
	assert_int_equal(fake_client_open(scene->client), 0);
}
