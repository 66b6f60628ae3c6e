/* nvidia_type: what is offered of the GPUs, and what containers get, against the answers of NVIDIA's plugin. */
#include "agent/nvidia/nvidia_type.h"

#include "agent/nvidia/nvidia_config.h"
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

/* --- configurations ------------------------------------------------------------------------------- */

#define SHARED(fields, resources) \
	"version: v1\nsharing: {timeSlicing: {" fields "resources: [" resources "]}}"
#define TWICE   SHARED("", "{name: nvidia.com/gpu, replicas: 2}")
#define SINGLE  SHARED("failRequestsGreaterThanOne: true, ", "{name: gpu, replicas: 2}")
#define RENAMED SHARED("renameByDefault: true, ", "{name: nvidia.com/gpu, replicas: 2}")
#define PART(devices, rename) \
	SHARED("", "{name: nvidia.com/gpu, replicas: 2, devices: " devices ", rename: " rename "}")
#define PARTS \
	SHARED("", "{name: gpu, replicas: 2, devices: [1]}, {name: gpu, replicas: 3, devices: 1}")

/* NULL: no file. */
static void configure(struct nvidia_type *type, const char *text, struct nvidia_config *config)
{
	struct err err = { 0 };

	*config = (struct nvidia_config){ 0 };
	type->config = config;
	if (text && nvidia_config_parse("file", text, strlen(text), config, &err) < 0)
		fail_msg("%s", err.msg);
}

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
	const char *config;
} offers[] = {
	{ "no GPU has told its UUID", "fail 0 1 2", "", "", NULL },
	{ "all are healthy", LOOK, "", "nvidia.com/gpu: GPU-0@0 | GPU-1@1 | GPU-2@0", NULL },
	{ "one is not", LOOK "xid 1 79", "", "nvidia.com/gpu: GPU-0@0 | GPU-1@1 Xid 79 | GPU-2@0",
	  NULL },
	{ "one cannot be given", LOOK, "GPU-2",
	  "nvidia.com/gpu: GPU-0@0 | GPU-1@1 | GPU-2@0 no CDI file has it", NULL },
	{ "its illness goes before that", LOOK "xid 2 79", "GPU-2",
	  "nvidia.com/gpu: GPU-0@0 | GPU-1@1 | GPU-2@0 Xid 79", NULL },
	{ "shares of each", LOOK, "",
	  "nvidia.com/gpu: GPU-0::0@0 of GPU-0 | GPU-0::1@0 of GPU-0 | GPU-1::0@1 of GPU-1 | "
	  "GPU-1::1@1 of GPU-1 | GPU-2::0@0 of GPU-2 | GPU-2::1@0 of GPU-2",
	  TWICE },
	{ "all shares of an unhealthy one", "begin 0; look 0; end 0; xid 0 79", "",
	  "nvidia.com/gpu: GPU-0::0@0 of GPU-0 Xid 79 | GPU-0::1@0 of GPU-0 Xid 79", TWICE },
	{ "shares under another name", "begin 0; look 0; end 0", "",
	  "nvidia.com/gpu.shared: GPU-0::0@0 of GPU-0 | GPU-0::1@0 of GPU-0", RENAMED },
	{ "shares of one GPU by its UUID, under another name", LOOK, "",
	  "nvidia.com/gpu: GPU-0@0 | GPU-2@0; "
	  "nvidia.com/some: GPU-1::0@1 of GPU-1 | GPU-1::1@1 of GPU-1",
	  PART("[GPU-1]", "some") },
	{ "shares of one GPU by its index", LOOK, "",
	  "nvidia.com/gpu: GPU-0@0 | GPU-2@0; "
	  "nvidia.com/some: GPU-1::0@1 of GPU-1 | GPU-1::1@1 of GPU-1",
	  PART("[1]", "some") },
	{ "shares beside whole GPUs", LOOK, "",
	  "nvidia.com/gpu: GPU-0@0 | GPU-1::0@1 of GPU-1 | GPU-1::1@1 of GPU-1 | GPU-2@0",
	  PART("[1]", "gpu") },
	{ "shares of the first one, that has not told its UUID",
	  "begin 0 1; problem 0; look 1; end 0 1", "", "nvidia.com/gpu: GPU-1@1",
	  PART("1", "gpu") },
	{ "another number of shares of each GPU", LOOK, "",
	  "nvidia.com/gpu: GPU-0::0@0 of GPU-0 | GPU-0::1@0 of GPU-0 | GPU-0::2@0 of GPU-0 | "
	  "GPU-1::0@1 of GPU-1 | GPU-1::1@1 of GPU-1 | GPU-2@0",
	  PARTS },
};

static void offer_matches_table(void **state)
{
	struct gpus_scene *scene = *state;
	const struct offer_case *c = suite_row(state);
	auto_free char *hindered = xstrdup(c->hindered);
	struct nvidia_type type = { .gpus = &scene->gpus, .hindrance = hinder, .arg = hindered };
	struct nvidia_config config;
	struct nvidia_offers told = { 0 };

	configure(&type, c->config, &config);
	gpus_scene_play(scene, c->play);
	nvidia_type_offer(&type, nvidia_offers_plugins(&told));
	nvidia_config_done(&config);
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
	const char *config;
} answers[] = {
	{ "by variable, in the order of the request", LOOK, ENVVAR, "GPU-2 GPU-0",
	  "NVIDIA_VISIBLE_DEVICES=GPU-2,GPU-0", NULL },
	{ "by mounts", LOOK, VOLUMES, "GPU-2 GPU-0",
	  "NVIDIA_VISIBLE_DEVICES=" MOUNTS " /dev/null>" MOUNTS "/GPU-2 /dev/null>" MOUNTS "/GPU-0",
	  NULL },
	{ "by both is by mounts", LOOK, ENVVAR | VOLUMES, "GPU-2",
	  "NVIDIA_VISIBLE_DEVICES=" MOUNTS " /dev/null>" MOUNTS "/GPU-2", NULL },
	{ "by CDI in both places", LOOK, ANNOTATIONS | CRI, "GPU-2",
	  RANDOM "=nvidia.com/gpu=GPU-2 nvidia.com/gpu=GPU-2", NULL },
	{ "by an annotation", LOOK, ANNOTATIONS, "GPU-2 GPU-0",
	  RANDOM "=nvidia.com/gpu=GPU-2,nvidia.com/gpu=GPU-0", NULL },
	{ "by CDI and variable", LOOK, CRI | ENVVAR, "GPU-2",
	  "NVIDIA_VISIBLE_DEVICES=GPU-2 nvidia.com/gpu=GPU-2", NULL },
	{ "an unhealthy GPU", LOOK "xid 0 79", ENVVAR, "GPU-2 GPU-0",
	  "GPU 'GPU-0' is not healthy: Xid 79", NULL },
	{ "a GPU that has gone", LOOK, ENVVAR, "GPU-9", "GPU 'GPU-9' is gone from the node", NULL },
	{ "a GPU that cannot be given", LOOK, ENVVAR, "GPU-1",
	  "GPU 'GPU-1' is not healthy: no CDI file has it", NULL },
	{ "a share is its GPU", LOOK, ENVVAR, "GPU-2::1", "NVIDIA_VISIBLE_DEVICES=GPU-2", TWICE },
	{ "shares of one GPU are one GPU", LOOK, ENVVAR, "GPU-2::1 GPU-0::0 GPU-2::0",
	  "NVIDIA_VISIBLE_DEVICES=GPU-2,GPU-0", TWICE },
	{ "and one mount", LOOK, VOLUMES, "GPU-2::1 GPU-2::0",
	  "NVIDIA_VISIBLE_DEVICES=" MOUNTS " /dev/null>" MOUNTS "/GPU-2", TWICE },
	{ "and one CDI device", LOOK, CRI, "GPU-2::1 GPU-2::0", "nvidia.com/gpu=GPU-2", TWICE },
	{ "a share of an unhealthy GPU", LOOK "xid 0 79", ENVVAR, "GPU-0::1",
	  "GPU 'GPU-0' is not healthy: Xid 79", TWICE },
	{ "a share of a GPU that has gone", LOOK, ENVVAR, "GPU-9::1",
	  "GPU 'GPU-9' is gone from the node", TWICE },
	{ "two shares where one is allowed", LOOK, ENVVAR, "GPU-2::1 GPU-2::0",
	  "invalid request: maximum request size for shared resources is 1; found 2", SINGLE },
	{ "one share there", LOOK, ENVVAR, "GPU-2::1", "NVIDIA_VISIBLE_DEVICES=GPU-2", SINGLE },
	{ "two whole GPUs there", LOOK, ENVVAR, "GPU-2 GPU-0", "NVIDIA_VISIBLE_DEVICES=GPU-2,GPU-0",
	  SINGLE },
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
	struct nvidia_config config;
	auto_free char *answer = NULL;

	configure(&type, c->config, &config);
	fake_clock_fix_random(clock, NUMBERS);
	gpus_scene_play(scene, c->play);
	answer = nvidia_offers_allocate(&type, c->ids);
	nvidia_config_done(&config);
	fake_clock_free(clock);
	assert_string_equal(answer, c->answer);
}

static void pairs_are_chosen_by_their_links(void **state)
{
	struct gpus_scene *scene = *state;
	const struct nvidia_config none = { 0 };
	struct nvidia_type type = { .gpus = &scene->gpus, .config = &none };

	gpus_scene_play(scene, LOOK "pair 0 2 10 4");
	assert_int_equal(nvidia_device_type.choose(&type, NVIDIA_RESOURCE), CHOICE_WEIGHTS);
	assert_int_equal(nvidia_device_type.weight(&type, NVIDIA_RESOURCE, "GPU-2", "GPU-0"), 450);
}

static struct choice_case {
	const char *name;
	const char *config;
	const char *resource;
	enum device_choice choice;
} choices[] = {
	{ "whole GPUs are chosen by their links", NULL, "nvidia.com/gpu", CHOICE_WEIGHTS },
	{ "shares are distributed", TWICE, "nvidia.com/gpu", CHOICE_DISTRIBUTED },
	{ "or packed", "flags: {plugin: {sharedDevicesAllocationPolicy: packed}}\n" RENAMED,
	  "nvidia.com/gpu.shared", CHOICE_PACKED },
	{ "whole GPUs beside renamed shares", PART("[1]", "some"), "nvidia.com/gpu",
	  CHOICE_WEIGHTS },
};

static void choice_matches_table(void **state)
{
	const struct choice_case *c = suite_row(state);
	struct nvidia_config config;
	struct nvidia_type type = { 0 };

	configure(&type, c->config, &config);
	assert_int_equal(nvidia_device_type.choose(&type, c->resource), c->choice);
	nvidia_config_done(&config);
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
	suite_rows(&suite, choices, choice_matches_table);
	suite_fixture(&suite, &gpus_scene_fixture);
	suite_rows(&suite, offers, offer_matches_table);
	suite_rows(&suite, answers, answer_matches_table);
	suite_add(&suite, "pairs are chosen by their links", pairs_are_chosen_by_their_links, NULL);
	return suite_run(&suite, "nvidia_type");
}
