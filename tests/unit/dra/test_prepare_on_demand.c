/* prepare: devices that are bound for the claim, which takes a while, and may fail or be given up. */
#include "agent/dra/prepare.h"

#include "api/json_values.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/dra/prepare_scene.h"

static void scene_open(struct prepare_scene *scene)
{
	prepare_scene_init(scene);
	prepare_scene_on_demand(scene, NIC);
	prepare_scene_on_demand(scene, TOO);
}

SUITE_FIXTURE(scene, struct prepare_scene, scene_open, prepare_scene_done);

static const char nic[] = RESULT_OF("a", NIC_NAME);
static const char two[] =
	RESULT_OF("a", NIC_NAME) "," RESULT_OF("b", TOO_NAME) "," RESULT_OF("c", GPU_NAME);

#define BIND "changed " NIC "|bind " NIC " to ResourceClaim default/nic|"

static void bound_for_is(const struct prepare_scene *scene, const char *id, const char *expected)
{
	auto_free char *bound_for = prepare_bound_for(scene->prepare, id);

	assert_true(str_equal(bound_for, expected));
}

/* There is only the first checkpoint. */
static void assert_binding(const struct prepare_scene *scene)
{
	assert_int_equal(prepare_len(scene->prepare), 1);
	assert_int_equal(dra_scene_files(scene->dra.claims_dir), 1);
	assert_int_equal(dra_scene_files(scene->dra.cdi_dir), 0);
}

static void device_is_the_claims_before_it_is_bound(void **state)
{
	struct prepare_scene *scene = *state;
	const struct prepared_claim *claim = NULL;

	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, BIND);
	assert_binding(scene);
	assert_int_equal(scene->dra.allocated.len, 0);
	bound_for_is(scene, NIC, "ResourceClaim default/nic");
	bound_for_is(scene, TOO, NULL);
	assert_int_equal(prepare_again(scene->prepare, UID1, &claim, NULL), PREPARE_UNKNOWN);
	prepare_scene_bound(scene, NULL);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	assert_string_equal(str_cstr(&scene->dra.allocated), "example.com/nic:" NIC "|");
	prepare_scene_assert_files(scene, 1);
	bound_for_is(scene, NIC, "ResourceClaim default/nic");
	assert_int_equal(prepare_again(scene->prepare, UID1, &claim, NULL), 0);
}

/* And what needs no bind is no part of the bind. */
static void all_are_bound_together(void **state)
{
	struct prepare_scene *scene = *state;

	prepare_scene_prepare(scene, "nic", UID1, two);
	stage_settle(&scene->dra.stage, "changed " NIC "|changed " TOO "|changed " GPU "|bind " NIC
					" " TOO " to ResourceClaim default/nic|");
	prepare_scene_bound(scene, NULL);
	stage_settle(&scene->dra.stage, "changed " NIC "|changed " TOO "|changed " GPU
					"|prepared nic: " NIC " " TOO " " GPU "|");
	bound_for_is(scene, TOO, "ResourceClaim default/nic");
	bound_for_is(scene, GPU, NULL);
}

static void what_cannot_be_bound_is_nobodys(void **state)
{
	struct prepare_scene *scene = *state;

	prepare_scene_prepare(scene, "nic", UID1, nic);
	dra_scene_assert_told(&scene->dra.told, "");
	prepare_scene_bound(scene, "process 7 (qemu) has it open");
	stage_settle(&scene->dra.stage, BIND
		     "changed " NIC "|ResourceClaim default/nic: process 7 (qemu) has it open|");
	dra_scene_assert_told(&scene->dra.told, "failed nic: ResourceClaim default/nic: process 7 "
						"(qemu) has it open|");
	prepare_scene_assert_nothing(scene);
	bound_for_is(scene, NIC, NULL);
}

/* Bound, but its type does not hand it out. */
static void what_cannot_be_handed_out_is_given_back(void **state)
{
	struct prepare_scene *scene = *state;

	str_add(&scene->dra.refusal, "no node");
	prepare_scene_prepare(scene, "nic", UID1, nic);
	prepare_scene_bound(scene, NULL);
	stage_settle(&scene->dra.stage, BIND "changed " NIC "|ResourceClaim default/nic: no node|");
	prepare_scene_assert_nothing(scene);
}

static void device_that_goes_meanwhile(void **state)
{
	struct prepare_scene *scene = *state;

	prepare_scene_prepare(scene, "nic", UID1, nic);
	dra_scene_clear(&scene->dra);
	prepare_scene_bound(scene, NULL);
	stage_settle(&scene->dra.stage,
		     BIND "changed " NIC "|ResourceClaim default/nic: device '" NIC
			  "' is not offered here any more|");
	prepare_scene_assert_nothing(scene);
}

static void others_are_refused_while_it_is_bound(void **state)
{
	struct prepare_scene *scene = *state;

	prepare_scene_prepare(scene, "nic", UID1, nic);
	prepare_scene_prepare(scene, "other", UID2, nic);
	stage_settle(&scene->dra.stage, BIND
		     "ResourceClaim default/other: device '" NIC
		     "' is in use by ResourceClaim default/nic; it is free when that one's pods "
		     "have ended|");
	prepare_scene_prepare(scene, "other", UID2, RESULT_OF("a", TOO_NAME));
	stage_settle(&scene->dra.stage,
		     "ResourceClaim default/other: IOMMU group 14 goes to one ResourceClaim at a "
		     "time, and default/nic has " NIC
		     " of it; ask for all of it in one claim, with matchAttribute "
		     "hostdev.io/iommuGroup|");
	prepare_scene_bound(scene, NULL);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
}

/* The first call of the kubelet was cut off. */
static void two_calls_of_one_claim(void **state)
{
	struct prepare_scene *scene = *state;

	prepare_scene_prepare(scene, "nic", UID1, nic);
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, BIND BIND);
	prepare_scene_bound(scene, NULL);
	prepare_scene_bound(scene, NULL);
	stage_settle(&scene->dra.stage,
		     "changed " NIC "|prepared nic: " NIC "|prepared nic: " NIC "|");
	assert_string_equal(str_cstr(&scene->dra.allocated), "example.com/nic:" NIC "|");
	prepare_scene_assert_files(scene, 1);
}

static void nothing_happens_for_long(void **state)
{
	struct prepare_scene *scene = *state;

	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, BIND);
	fake_clock_advance(scene->dra.stage.fake, PREPARE_MS - 1);
	stage_settle(&scene->dra.stage, "");
	fake_clock_advance(scene->dra.stage.fake, 1);
	stage_settle(&scene->dra.stage,
		     "stop|changed " NIC
		     "|ResourceClaim default/nic is not prepared after 10 s: it takes long|");
	prepare_scene_assert_nothing(scene);
	dra_scene_assert_told(&scene->dra.told, "failed nic: ResourceClaim default/nic is not "
						"prepared after 10 s: it takes long|");
}

/* The bind has outlived the call, which has told why. */
static void run_out_of_time(struct prepare_scene *scene)
{
	scene->binding = true;
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, BIND);
	fake_clock_advance(scene->dra.stage.fake, PREPARE_MS);
	stage_settle(&scene->dra.stage,
		     "stop|ResourceClaim default/nic is not prepared after 10 s: it takes long|");
	assert_binding(scene);
}

/* A helper binds it for longer: the next call goes on from there. */
static void bind_outlives_the_call(void **state)
{
	struct prepare_scene *scene = *state;

	run_out_of_time(scene);
	bound_for_is(scene, NIC, "ResourceClaim default/nic");
	dra_scene_device(&scene->dra, NIC)->trouble = xstrdup("it is prepared for a claim");
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, BIND);
	prepare_scene_bound(scene, NULL);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	prepare_scene_assert_files(scene, 1);
}

/* The pod was deleted, and the kubelet does not know of the claim: no Unprepare comes. */
static void nobody_asks_again(void **state)
{
	struct prepare_scene *scene = *state;

	run_out_of_time(scene);
	stage_pass(&scene->dra.stage, PREPARE_AGAIN_MS - 1);
	assert_binding(scene);
	fake_clock_advance(scene->dra.stage.fake, 1);
	stage_settle(&scene->dra.stage, "changed " NIC "|");
	prepare_scene_assert_nothing(scene);
	bound_for_is(scene, NIC, NULL);
	stage_pass(&scene->dra.stage, (uint64_t)2 * PREPARE_AGAIN_MS);
}

/* The next agent cannot forget it at its start. */
static void it_is_forgotten_later(void **state)
{
	struct prepare_scene *scene = *state;
	auto_free char *path = xasprintf("%s/hostdev.io-device_" UID1 ".json", scene->dra.cdi_dir);

	run_out_of_time(scene);
	assert_int_equal(mkdir(scene->dra.cdi_dir, 0700), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	prepare_scene_restart(scene, BOOT);
	bound_for_is(scene, NIC, "ResourceClaim default/nic");
	fake_clock_advance(scene->dra.stage.fake, PREPARE_AGAIN_MS);
	stage_settle(&scene->dra.stage, "changed " NIC "|");
	bound_for_is(scene, NIC, NULL);
	assert_int_equal(rmdir(path), 0);
}

/* A call that fails for another reason counts, too: the time begins again. */
static void the_kubelet_asks_again_in_time(void **state)
{
	struct prepare_scene *scene = *state;

	run_out_of_time(scene);
	stage_pass(&scene->dra.stage, PREPARE_AGAIN_MS - 1);
	(void)prepare_scene_begin(scene, "nic", UID1);
	stage_pass(&scene->dra.stage, 1);
	assert_binding(scene);
	fake_client_answer(scene->dra.node.client, 500, "{}");
	stage_rest(&scene->dra.stage);
	assert_non_null(strstr(str_cstr(&scene->dra.stage.log), "get ResourceClaim default/nic"));
	str_clear(&scene->dra.stage.log);
	stage_pass(&scene->dra.stage, PREPARE_AGAIN_MS - 1);
	assert_binding(scene);
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, BIND);
	prepare_scene_bound(scene, NULL);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	/* It is prepared for as long as the pod is there. */
	stage_pass(&scene->dra.stage, (uint64_t)2 * PREPARE_AGAIN_MS);
	prepare_scene_assert_files(scene, 1);
}

static void without_files_it_is_given_back(void **state)
{
	struct prepare_scene *scene = *state;
	auto_free char *start =
		xasprintf(BIND "changed " NIC "|ResourceClaim default/nic: CDI file in '%s': ",
			  scene->dra.cdi_dir);

	folder_put(&scene->dra.stage.folder, "cdi", "");
	prepare_scene_prepare(scene, "nic", UID1, nic);
	prepare_scene_bound(scene, NULL);
	stage_rest(&scene->dra.stage);
	assert_memory_equal(str_cstr(&scene->dra.stage.log), start, strlen(start));
	str_clear(&scene->dra.stage.log);
	prepare_scene_assert_nothing(scene);
	bound_for_is(scene, NIC, NULL);
}

/* Since the last call the claim was allocated anew: the first device is nobody's. */
static void another_device_is_allocated(void **state)
{
	struct prepare_scene *scene = *state;

	run_out_of_time(scene);
	prepare_scene_prepare(scene, "nic", UID1, RESULT_OF("a", TOO_NAME));
	stage_settle(&scene->dra.stage,
		     "changed " NIC "|changed " TOO "|bind " TOO " to ResourceClaim default/nic|");
	bound_for_is(scene, NIC, NULL);
	bound_for_is(scene, TOO, "ResourceClaim default/nic");
	prepare_scene_bound(scene, NULL);
	stage_settle(&scene->dra.stage, "changed " TOO "|prepared nic: " TOO "|");
}

static void unprepared_while_it_is_bound(void **state)
{
	struct prepare_scene *scene = *state;

	scene->binding = true;
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, BIND);
	assert_int_equal(prepare_undo(scene->prepare, UID1, NULL), 0);
	prepare_scene_assert_nothing(scene);
	bound_for_is(scene, NIC, NULL);
	fake_clock_advance(scene->dra.stage.fake, 1);
	stage_settle(&scene->dra.stage,
		     "stop|changed " NIC "|ResourceClaim default/nic was unprepared meanwhile|");
	dra_scene_assert_told(&scene->dra.told, "unprepared " UID1 "|");
}

static void kubelet_hangs_up(void **state)
{
	struct prepare_scene *scene = *state;

	prepare_scene_prepare(scene, "nic", UID1, nic);
	prepare_cancel(scene->job);
	stage_settle(&scene->dra.stage, BIND "stop|changed " NIC "|");
	prepare_scene_assert_nothing(scene);
}

static void nobody_can_bind_on_demand(void **state)
{
	struct prepare_scene *scene = *state;
	const struct prepare_deps deps = {
		.devices = &scene->dra.devices,
		.watch = scene->dra.watch,
		.place = { scene->dra.cdi_dir, scene->dra.metadata_dir },
		.claims_dir = scene->dra.claims_dir,
		.boot = BOOT,
	};

	prepare_free(scene->prepare);
	scene->prepare = prepare_new(&scene->dra.node, &deps);
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage,
		     "ResourceClaim default/nic: devices of type 'pci' cannot be "
		     "had by a ResourceClaim|");
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "the device is the claim's before it is bound",
		  device_is_the_claims_before_it_is_bound, NULL);
	suite_add(&suite, "all are bound together", all_are_bound_together, NULL);
	suite_add(&suite, "what cannot be bound is nobody's", what_cannot_be_bound_is_nobodys,
		  NULL);
	suite_add(&suite, "what cannot be handed out is given back",
		  what_cannot_be_handed_out_is_given_back, NULL);
	suite_add(&suite, "a device that goes meanwhile", device_that_goes_meanwhile, NULL);
	suite_add(&suite, "others are refused while it is bound",
		  others_are_refused_while_it_is_bound, NULL);
	suite_add(&suite, "two calls of one claim", two_calls_of_one_claim, NULL);
	suite_add(&suite, "nothing happens for long", nothing_happens_for_long, NULL);
	suite_add(&suite, "a bind outlives the call", bind_outlives_the_call, NULL);
	suite_add(&suite, "nobody asks again", nobody_asks_again, NULL);
	suite_add(&suite, "it is forgotten later", it_is_forgotten_later, NULL);
	suite_add(&suite, "the kubelet asks again in time", the_kubelet_asks_again_in_time, NULL);
	suite_add(&suite, "without files it is given back", without_files_it_is_given_back, NULL);
	suite_add(&suite, "another device is allocated", another_device_is_allocated, NULL);
	suite_add(&suite, "unprepared while it is bound", unprepared_while_it_is_bound, NULL);
	suite_add(&suite, "the kubelet hangs up", kubelet_hangs_up, NULL);
	suite_add(&suite, "nobody can bind on demand", nobody_can_bind_on_demand, NULL);
	return suite_run(&suite, "prepare_on_demand");
}
