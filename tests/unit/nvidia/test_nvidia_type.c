/* nvidia_type: what is offered of the GPUs, and what containers get, against the answers of NVIDIA's plugin. */
#include "agent/nvidia/nvidia_type.h"

#include "fake/fake_clock.h"
#include "unit/nvidia/gpus_scene.h"
#include "unit/nvidia/nvidia_offers.h"

#define LOOK    "begin 0 1 2; look 0; look 1; look 2; end 0 1 2; "
#define MOUNTS  "/var/run/nvidia-container-devices"
#define RANDOM  "cdi.k8s.io/nvidia-device-plugin_11111111-1111-4111-9111-111111111111"
#define NUMBERS 0x1111111111111111ULL

enum {
	ENVVAR = NVIDIA_LIST_ENVVAR,
	VOLUMES = NVIDIA_LIST_VOLUME_MOUNTS,
	ANNOTATIONS = NVIDIA_LIST_CDI_ANNOTATIONS,
	CRI = NVIDIA_LIST_CDI_CRI,
};

static const char *hinder(void *arg, const char *uuid)
{
	return strcmp(arg, uuid) == 0 ? "no CDI file has it" : NULL;
}

/* --- the offer ------------------------------------------------------------------------------------ */

static struct offer_case {
	const char *name;
	const char *play;
	const char *hindered;
	const char *offer;
} offers[] = {
	{ "no GPU has told its UUID", "fail 0 1 2", "", "" },
	{ "all are healthy", LOOK, "", "nvidia.com/gpu: GPU-0@0 | GPU-1@1 | GPU-2@0" },
	{ "one is not", LOOK "xid 1 79", "", "nvidia.com/gpu: GPU-0@0 | GPU-1@1 Xid 79 | GPU-2@0" },
	{ "one cannot be given", LOOK, "GPU-2",
	  "nvidia.com/gpu: GPU-0@0 | GPU-1@1 | GPU-2@0 no CDI file has it" },
	{ "its illness goes before that", LOOK "xid 2 79", "GPU-2",
	  "nvidia.com/gpu: GPU-0@0 | GPU-1@1 | GPU-2@0 Xid 79" },
};

static void offer_matches_table(void **state)
{
	struct gpus_scene *scene = *state;
	const struct offer_case *c = suite_row(state);
	auto_free char *hindered = xstrdup(c->hindered);
	struct nvidia_type type = { .gpus = &scene->gpus, .hindrance = hinder, .arg = hindered };
	struct nvidia_offers told = { 0 };

	gpus_scene_play(scene, c->play);
	nvidia_type_offer(&type, nvidia_offers_plugins(&told));
	assert_string_equal(str_cstr(&told.text), c->offer);
	assert_int_equal(told.sets, 1);
	str_done(&told.text);
}

/* --- Allocate ---------------------------------------------------------------------------------------- */

static struct answer_case {
	const char *name;
	const char *play;
	unsigned lists;
	const char *ids;
	const char *answer;
} answers[] = {
	{ "by variable, in the order of the request", LOOK, ENVVAR, "GPU-2 GPU-0",
	  "NVIDIA_VISIBLE_DEVICES=GPU-2,GPU-0" },
	{ "by mounts", LOOK, VOLUMES, "GPU-2 GPU-0",
	  "NVIDIA_VISIBLE_DEVICES=" MOUNTS " /dev/null>" MOUNTS "/GPU-2 /dev/null>" MOUNTS
	  "/GPU-0" },
	{ "by both is by mounts", LOOK, ENVVAR | VOLUMES, "GPU-2",
	  "NVIDIA_VISIBLE_DEVICES=" MOUNTS " /dev/null>" MOUNTS "/GPU-2" },
	{ "by CDI in both places", LOOK, ANNOTATIONS | CRI, "GPU-2",
	  RANDOM "=nvidia.com/gpu=GPU-2 nvidia.com/gpu=GPU-2" },
	{ "by an annotation", LOOK, ANNOTATIONS, "GPU-2 GPU-0",
	  RANDOM "=nvidia.com/gpu=GPU-2,nvidia.com/gpu=GPU-0" },
	{ "by CDI and variable", LOOK, CRI | ENVVAR, "GPU-2",
	  "NVIDIA_VISIBLE_DEVICES=GPU-2 nvidia.com/gpu=GPU-2" },
	{ "an unhealthy GPU", LOOK "xid 0 79", ENVVAR, "GPU-2 GPU-0",
	  "GPU 'GPU-0' is not healthy: Xid 79" },
	{ "a GPU that has gone", LOOK, ENVVAR, "GPU-9", "GPU 'GPU-9' is gone from the node" },
	{ "a GPU that cannot be given", LOOK, ENVVAR, "GPU-1",
	  "GPU 'GPU-1' is not healthy: no CDI file has it" },
};

static void answer_matches_table(void **state)
{
	struct gpus_scene *scene = *state;
	const struct answer_case *c = suite_row(state);
	struct fake_clock *clock = fake_clock_new();
	char hindered[] = "GPU-1";
	struct nvidia_type type = { .gpus = &scene->gpus,
				    .lists = c->lists,
				    .clock = fake_clock_as_clock(clock),
				    .hindrance = hinder,
				    .arg = hindered };
	auto_free char *answer = NULL;

	fake_clock_fix_random(clock, NUMBERS);
	gpus_scene_play(scene, c->play);
	answer = nvidia_offers_allocate(&type, c->ids);
	fake_clock_free(clock);
	assert_string_equal(answer, c->answer);
}

static void pairs_are_chosen_by_their_links(void **state)
{
	struct gpus_scene *scene = *state;
	struct nvidia_type type = { .gpus = &scene->gpus };

	gpus_scene_play(scene, LOOK "pair 0 2 10 4");
	assert_int_equal(nvidia_device_type.choose(&type, NVIDIA_RESOURCE), CHOICE_WEIGHTS);
	assert_int_equal(nvidia_device_type.weight(&type, NVIDIA_RESOURCE, "GPU-2", "GPU-0"), 450);
}

static void ways_have_names(void **state)
{
	(void)state;
	assert_int_equal(nvidia_list_from_text("envvar"), ENVVAR);
	assert_int_equal(nvidia_list_from_text("volume-mounts"), VOLUMES);
	assert_int_equal(nvidia_list_from_text("cdi-annotations"), ANNOTATIONS);
	assert_int_equal(nvidia_list_from_text("cdi-cri"), CRI);
	assert_int_equal(nvidia_list_from_text("cdi"), 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "ways have names", ways_have_names, NULL);
	suite_fixture(&suite, &gpus_scene_fixture);
	suite_rows(&suite, offers, offer_matches_table);
	suite_rows(&suite, answers, answer_matches_table);
	suite_add(&suite, "pairs are chosen by their links", pairs_are_chosen_by_their_links, NULL);
	return suite_run(&suite, "nvidia_type");
}
