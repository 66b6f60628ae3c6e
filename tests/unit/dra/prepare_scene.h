/*
 * prepare_scene: prepares claims of two functions of one IOMMU group and of one that is alone in
 * its own, and logs what comes of it. Included by one file of a program.
 */
#pragma once

#include <errno.h>

#include "agent/dra/dra_codec.h"
#include "agent/dra/on_demand_binder.h"
#include "agent/dra/prepare.h"
#include "agent/dra/prepared.h"
#include "unit/dra/dra_scene.h"

enum { PREPARE_SCENE_BINDS = 4 };

/* Of agent/dra/on_demand_binder.h. */
struct on_demand_bind {
	on_demand_bound_fn *bound;
	void *arg;
};

struct prepare_scene {
	struct dra_scene dra;
	struct prepare *prepare;
	struct prepare_job *job; /* the last one; NULL: it has ended */
	struct on_demand_binder on_demand;
	struct on_demand_bind *binds[PREPARE_SCENE_BINDS]; /* under way, the oldest first */
	size_t nbinds;
	bool binding; /* something is being bound when a bind is stopped */
};

static inline struct on_demand_bind *prepare_scene_bind(void *arg,
							const struct on_demand_devices *devices,
							on_demand_bound_fn *bound, void *bound_arg)
{
	struct prepare_scene *scene = arg;
	struct on_demand_bind *bind = xcalloc(1, sizeof(*bind));

	*bind = (struct on_demand_bind){ bound, bound_arg };
	assert_true(scene->nbinds < PREPARE_SCENE_BINDS);
	scene->binds[scene->nbinds++] = bind;
	str_addf(&scene->dra.stage.log, "bind");
	for (size_t i = 0; i < devices->ids->len; i++)
		str_addf(&scene->dra.stage.log, " %s", devices->ids->items[i]);
	str_addf(&scene->dra.stage.log, " to %s|", devices->to);
	return bind;
}

static inline void prepare_scene_forget(struct prepare_scene *scene,
					const struct on_demand_bind *bind)
{
	size_t at = 0;

	while (scene->binds[at] != bind)
		at++;
	scene->nbinds--;
	for (; at < scene->nbinds; at++)
		scene->binds[at] = scene->binds[at + 1];
}

static inline bool prepare_scene_stop(void *arg, struct on_demand_bind *bind, struct err *err)
{
	struct prepare_scene *scene = arg;

	err_set(err, ERR_RETRY, -EBUSY, "it takes long");
	prepare_scene_forget(scene, bind);
	free(bind);
	str_add(&scene->dra.stage.log, "stop|");
	return scene->binding;
}

/* The oldest bind ends; @trouble (NULL: none) is why nothing is bound. */
static inline void prepare_scene_bound(struct prepare_scene *scene, const char *trouble)
{
	struct on_demand_bind *bind = scene->binds[0];
	struct err err = { 0 };

	assert_true(scene->nbinds > 0);
	prepare_scene_forget(scene, bind);
	if (trouble)
		err_set(&err, ERR_RETRY, -EBUSY, "%s", trouble);
	bind->bound(bind->arg, trouble ? &err : NULL);
	free(bind);
}

static inline void prepare_scene_open(struct prepare_scene *scene, const char *boot)
{
	const struct prepare_deps deps = {
		.devices = &scene->dra.devices,
		.watch = scene->dra.watch,
		.place = { scene->dra.cdi_dir, scene->dra.metadata_dir },
		.claims_dir = scene->dra.claims_dir,
		.boot = boot,
		.holder = dra_scene_pod,
		.on_demand = &scene->on_demand,
		.changed = dra_scene_on_changed,
		.arg = &scene->dra,
	};

	scene->on_demand = (struct on_demand_binder){ .begin = prepare_scene_bind,
						      .stop = prepare_scene_stop,
						      .arg = scene };
	scene->prepare = prepare_new(&scene->dra.node, &deps);
}

/* It is offered on demand from now on. */
static inline void prepare_scene_on_demand(struct prepare_scene *scene, const char *id)
{
	dra_scene_device(&scene->dra, id)->on_demand = true;
}

static inline void prepare_scene_init(struct prepare_scene *scene)
{
	dra_scene_init(&scene->dra);
	(void)dra_scene_add(&scene->dra, NIC, "14");
	(void)dra_scene_add(&scene->dra, TOO, "14");
	(void)dra_scene_add(&scene->dra, GPU, "15");
	prepare_scene_open(scene, BOOT);
}

static inline void prepare_scene_done(struct prepare_scene *scene)
{
	prepare_free(scene->prepare);
	dra_scene_done(&scene->dra);
}

/* The next agent, perhaps after a reboot. */
static inline void prepare_scene_restart(struct prepare_scene *scene, const char *boot)
{
	scene->prepare = prepare_free(scene->prepare);
	prepare_scene_open(scene, boot);
}

static inline void prepare_scene_on_done(void *arg, const struct prepared_claim *claim,
					 const struct err *err)
{
	struct prepare_scene *scene = arg;

	assert_int_equal(claim == NULL, err != NULL);
	scene->job = NULL;
	if (err) {
		stage_log(&scene->dra.stage, err->msg);
		return;
	}
	str_addf(&scene->dra.stage.log, "prepared %s:", claim->name);
	for (size_t i = 0; i < claim->devices.len; i++)
		str_addf(&scene->dra.stage.log, " %s", claim->devices.items[i].id);
	str_add_char(&scene->dra.stage.log, '|');
}

static inline struct prepare_job *prepare_scene_begin(struct prepare_scene *scene, const char *name,
						      const char *uid)
{
	char *texts[] = { xstrdup("default"), xstrdup(name), xstrdup(uid) };
	const struct dra_claim claim = { texts[0], texts[1], texts[2] };

	scene->job = prepare_begin(scene->prepare, &claim, prepare_scene_on_done, scene);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		free(texts[i]);
	return scene->job;
}

/* The claim @name with these results of the API server. */
static inline void prepare_scene_prepare(struct prepare_scene *scene, const char *name,
					 const char *uid, const char *results)
{
	(void)prepare_scene_begin(scene, name, uid);
	dra_scene_answer(&scene->dra, name, uid, results);
}

/* Nothing is left of a claim. */
static inline void prepare_scene_assert_nothing(const struct prepare_scene *scene)
{
	assert_int_equal(prepare_len(scene->prepare), 0);
	assert_int_equal(dra_scene_files(scene->dra.claims_dir), 0);
	assert_int_equal(dra_scene_files(scene->dra.cdi_dir), 0);
	assert_int_equal(dra_scene_files(scene->dra.metadata_dir), 0);
}

/* There are the files of @claims claims. */
static inline void prepare_scene_assert_files(const struct prepare_scene *scene, size_t claims)
{
	assert_int_equal(prepare_len(scene->prepare), claims);
	assert_int_equal(dra_scene_files(scene->dra.claims_dir), claims);
	assert_int_equal(dra_scene_files(scene->dra.cdi_dir), claims);
	assert_int_equal(dra_scene_files(scene->dra.metadata_dir), claims);
}
