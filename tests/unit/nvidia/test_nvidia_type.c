/* nvidia_type: what is offered of the GPUs, and what containers get, against the answers of
 * NVIDIA's plugin. */
#include "agent/nvidia/nvidia_type.h"

#include "agent/nvidia/nvidia_config.h"
#include "agent/process/helper_place.h"
#include "fake/fake_clock.h"
#include "unit/folder.h"
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

/* --- configurations --------------------------------------------------------------------------- */

#define SHARED(fields, resources) \
	"version: v1\nsharing: {timeSlicing: {" fields "resources: [" resources "]}}"
#define TWICE SHARED("", "{name: nvidia.com/gpu, replicas: 2}")
#define MPS                                                              \
	"sharing: {mps: {failRequestsGreaterThanOne: false, resources: " \
	"[{name: gpu, replicas: 2, devices: [2]}]}}"
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

static const char *hinder(void *arg, const struct nvidia_device *device)
{
	return strcmp(arg, device->uuid) == 0 ? "no CDI file has it" : NULL;
}

/* --- the offer -------------------------------------------------------------------------------- */

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

/* --- Allocate --------------------------------------------------------------------------------- */

/* --- MIG -------------------------------------------------------------------------------------- */

#define MIGS(gpu, a, b) \
	"begin " gpu "; mig " gpu " 7 " a "; mig " gpu " 8 " b "; look " gpu "+; end " gpu "; "
#define ALIKE(gpu) MIGS(gpu, "2g.10gb+me", "2g.10gb+me")
#define SMALL                             \
	SHARED("renameByDefault: true, ", \
	       "{name: mig-2g.10gb, replicas: 2, devices: [\"1:1\", \"1:0\"]}")
#define ODD "with the MIG strategy single, all GPUs must have MIG devices of one profile, or none"

static struct mig_case {
	const char *name;
	const char *play;
	enum nvidia_mig_strategy mig;
	const char *offer;
	const char *left_out;
	const char *config;
} migs[] = {
	{ "none: a whole GPU", LOOK ALIKE("1"), NVIDIA_MIG_NONE,
	  "nvidia.com/gpu: GPU-0@0 | GPU-1@1 | GPU-2@0", "", NULL },
	{ "none: it is ill with one of its MIG devices", LOOK ALIKE("1") "xid 1 79 8",
	  NVIDIA_MIG_NONE, "nvidia.com/gpu: GPU-0@0 | GPU-1@1 Xid 79 | GPU-2@0", "", NULL },
	{ "mixed: by profile", LOOK ALIKE("1"), NVIDIA_MIG_MIXED,
	  "nvidia.com/gpu: GPU-0@0 | GPU-2@0; "
	  "nvidia.com/mig-2g.10gb.me: MIG-7@1 of GPU-1 | MIG-8@1 of GPU-1",
	  "", NULL },
	{ "mixed: two profiles", LOOK MIGS("1", "1g.5gb", "2g.10gb") "xid 1 79 8", NVIDIA_MIG_MIXED,
	  "nvidia.com/gpu: GPU-0@0 | GPU-2@0; nvidia.com/mig-1g.5gb: MIG-7@1 of GPU-1; "
	  "nvidia.com/mig-2g.10gb: MIG-8@1 of GPU-1 Xid 79",
	  "", NULL },
	{ "mixed: all are ill with their GPU", LOOK ALIKE("1") "xid 1 79", NVIDIA_MIG_MIXED,
	  "nvidia.com/gpu: GPU-0@0 | GPU-2@0; "
	  "nvidia.com/mig-2g.10gb.me: MIG-7@1 of GPU-1 Xid 79 | MIG-8@1 of GPU-1 Xid 79",
	  "", NULL },
	{ "mixed: a part of a GPU instance", LOOK MIGS("1", "1c.2g.10gb", "2g.10gb"),
	  NVIDIA_MIG_MIXED,
	  "nvidia.com/gpu: GPU-0@0 | GPU-2@0; nvidia.com/mig-2g.10gb: MIG-8@1 of GPU-1",
	  "MIG-7: it is only a part of a GPU instance", NULL },
	{ "mixed: a GPU without MIG devices", LOOK "begin 1; look 1+; end 1", NVIDIA_MIG_MIXED,
	  "nvidia.com/gpu: GPU-0@0 | GPU-2@0", "GPU-1: it is in MIG mode and has no MIG device",
	  NULL },
	{ "mixed: a GPU that is not known is not a whole one",
	  "begin 0; problem 0; end 0; fail 1 2", NVIDIA_MIG_MIXED, "", "", NULL },
	{ "mixed: shares", LOOK MIGS("1", "2g.10gb", "2g.10gb"), NVIDIA_MIG_MIXED,
	  "nvidia.com/gpu: GPU-0@0 | GPU-2@0; nvidia.com/mig-2g.10gb.shared: "
	  "MIG-7::0@1 of GPU-1 | MIG-7::1@1 of GPU-1 | MIG-8::0@1 of GPU-1 | MIG-8::1@1 of GPU-1",
	  "", SMALL },
	{ "single: no GPU in MIG mode", LOOK, NVIDIA_MIG_SINGLE,
	  "nvidia.com/gpu: GPU-0@0 | GPU-1@1 | GPU-2@0", "", NULL },
	{ "single: all alike", "begin 0; end 0; " ALIKE("1") "fail 2", NVIDIA_MIG_SINGLE,
	  "nvidia.com/gpu: MIG-7@1 of GPU-1 | MIG-8@1 of GPU-1", "", NULL },
	{ "single: most are whole", LOOK ALIKE("1"), NVIDIA_MIG_SINGLE,
	  "nvidia.com/gpu: GPU-0@0 | GPU-2@0", "GPU-1: " ODD, NULL },
	{ "single: two profiles on a GPU", LOOK MIGS("1", "1g.5gb", "2g.10gb"), NVIDIA_MIG_SINGLE,
	  "nvidia.com/gpu: GPU-0@0 | GPU-2@0", "GPU-1: " ODD, NULL },
	{ "single: a GPU without MIG devices", LOOK "begin 1; look 1+; end 1", NVIDIA_MIG_SINGLE,
	  "nvidia.com/gpu: GPU-0@0 | GPU-2@0", "GPU-1: " ODD, NULL },
};

static void migs_match_table(void **state)
{
	struct gpus_scene *scene = *state;
	const struct mig_case *c = suite_row(state);
	struct nvidia_type type = { .gpus = &scene->gpus, .mig = c->mig };
	struct nvidia_config config;
	struct nvidia_offers told = { 0 };
	struct nvidia_devices devices;
	auto_str struct str left_out = STR_INIT;

	configure(&type, c->config, &config);
	gpus_scene_play(scene, c->play);
	nvidia_type_offer(&type, nvidia_offers_plugins(&told));
	nvidia_devices_make(&scene->gpus, &config, c->mig, &devices);
	for (size_t i = 0; i < devices.left_out.len; i++)
		str_addf(&left_out, "%s%s", i ? " | " : "", devices.left_out.items[i]);
	nvidia_devices_done(&devices);
	nvidia_config_done(&config);
	assert_string_equal(str_cstr(&told.text), c->offer);
	assert_string_equal(str_cstr(&left_out), c->left_out);
	str_done(&told.text);
}

static void a_mig_device_is_given_by_its_uuid(void **state)
{
	struct gpus_scene *scene = *state;
	const struct nvidia_config none = { 0 };
	struct nvidia_type type = {
		.gpus = &scene->gpus, .config = &none, .mig = NVIDIA_MIG_MIXED, .lists = ENVVAR
	};
	const struct nvidia_config by_index = { .by_index = true };
	auto_free char *answer = NULL;
	auto_free char *index = NULL;
	auto_free char *ill = NULL;

	gpus_scene_play(scene, LOOK ALIKE("1") "xid 1 79 8");
	answer = nvidia_offers_allocate(&type, "MIG-7");
	ill = nvidia_offers_allocate(&type, "MIG-8");
	assert_string_equal(answer, "NVIDIA_VISIBLE_DEVICES=MIG-7");
	type.config = &by_index;
	index = nvidia_offers_allocate(&type, "MIG-7");
	assert_string_equal(index, "NVIDIA_VISIBLE_DEVICES=1:0");
	type.config = &none;
	assert_string_equal(ill, "MIG device 'MIG-8' is not available: Xid 79");
	assert_int_equal(nvidia_device_type.choose(&type, "nvidia.com/mig-2g.10gb.me"),
			 CHOICE_DISTRIBUTED);
	assert_int_equal(nvidia_device_type.choose(&type, "nvidia.com/gpu"), CHOICE_WEIGHTS);
}

#define SHARED_NODES "/dev/nvidiactl:rw /dev/nvidia-uvm:rw"
#define CAPS         "gpu1/gi7/access 66\ngpu1/gi7/ci0/access 67\ngpu1/gi8/access 75\n"

/* With a /dev that has two of the nodes that all GPUs share. */
static struct nodes_case {
	const char *name;
	const char *play;
	const char *caps; /* mig-minors; NULL: there is no such file */
	const char *ids;
	const char *answer; /* a part of it */
} nodes[] = {
	{ "GPUs", LOOK, NULL, "GPU-2 GPU-0",
	  "NVIDIA_VISIBLE_DEVICES=GPU-2,GPU-0 " SHARED_NODES " /dev/nvidia2:rw /dev/nvidia0:rw" },
	{ "a MIG device", LOOK ALIKE("1"), CAPS, "MIG-7",
	  SHARED_NODES " /dev/nvidia1:rw /dev/nvidia-caps/nvidia-cap66:rw "
		       "/dev/nvidia-caps/nvidia-cap67:rw" },
	{ "a compute instance that the driver does not number", LOOK ALIKE("1"), CAPS, "MIG-8",
	  "NVIDIA's driver does not tell the device node of gpu1/gi8/ci0/access" },
	{ "a number that is none", LOOK ALIKE("1"), "gpu1/gi7/access 6x", "MIG-7",
	  "does not tell the device node of gpu1/gi7/access" },
	{ "a driver that numbers nothing", LOOK ALIKE("1"), NULL, "MIG-7", "mig-minors" },
	{ "a GPU whose node is not known", LOOK, NULL, "GPU-0",
	  "NVIDIA's library does not tell the device node of 'GPU-0'" },
};

static void nodes_are_told_where_the_file_asks_for_them(void **state)
{
	struct gpus_scene *scene = *state;
	const struct nodes_case *c = suite_row(state);
	struct folder folder;
	const struct helper_place place = { .dev_root = folder.path, .proc_root = folder.path };
	struct nvidia_type type = {
		.gpus = &scene->gpus, .mig = NVIDIA_MIG_MIXED, .lists = ENVVAR, .place = &place
	};
	struct nvidia_config config;
	auto_free char *answer = NULL;

	folder_init(&folder);
	folder_put(&folder, "nvidiactl", "");
	folder_put(&folder, "nvidia-uvm", "");
	folder_put(&folder, "driver/none", "");
	if (c->caps)
		folder_put(&folder, "driver/nvidia-caps/mig-minors", c->caps);
	gpus_scene_play(scene, c->play);
	if (strstr(c->answer, "NVIDIA's library"))
		scene->gpus.items[0].minor = -1;
	configure(&type, "flags: {plugin: {passDeviceSpecs: true}}", &config);
	answer = nvidia_offers_allocate(&type, c->ids);
	nvidia_config_done(&config);
	folder_done(&folder);
	if (!strstr(answer, c->answer))
		fail_msg("'%s' is not in '%s'", c->answer, answer);
}

/* On a node with the channel, or without. */
static struct imex_case {
	const char *name;
	const char *channel;
	unsigned lists;
	const char *config;
	const char *answer;
} imexes[] = {
	{ "by variable", "0", ENVVAR, "", "NVIDIA_IMEX_CHANNELS=0 NVIDIA_VISIBLE_DEVICES=GPU-2" },
	{ "by mounts", "0", VOLUMES, "",
	  "NVIDIA_VISIBLE_DEVICES=" MOUNTS " /dev/null>" MOUNTS "/GPU-2 /dev/null>" MOUNTS
	  "/imex/0" },
	{ "by device nodes", "0", ENVVAR, "flags: {plugin: {passDeviceSpecs: true}}\n",
	  "NVIDIA_IMEX_CHANNELS=0 NVIDIA_VISIBLE_DEVICES=GPU-2 "
	  "/dev/nvidia-caps-imex-channels/channel0:rw /dev/nvidia2:rw" },
	{ "another channel", "1", ENVVAR, "", "NVIDIA_VISIBLE_DEVICES=GPU-2" },
};

static void the_imex_channel_is_given_where_it_is(void **state)
{
	struct gpus_scene *scene = *state;
	const struct imex_case *c = suite_row(state);
	struct folder folder;
	const struct helper_place place = { .dev_root = folder.path };
	struct nvidia_type type = { .gpus = &scene->gpus, .lists = c->lists, .place = &place };
	struct nvidia_config config;
	auto_free char *text = xasprintf("%simex: {channelIDs: [0]}", c->config);
	auto_free char *channel = xasprintf("nvidia-caps-imex-channels/channel%s", c->channel);
	auto_free char *answer = NULL;

	folder_init(&folder);
	folder_put(&folder, channel, "");
	gpus_scene_play(scene, LOOK);
	configure(&type, text, &config);
	answer = nvidia_offers_allocate(&type, "GPU-2");
	nvidia_config_done(&config);
	folder_done(&folder);
	assert_string_equal(answer, c->answer);
}

#define INDEX "flags: {plugin: {deviceIDStrategy: index}}"

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
	  "GPU 'GPU-0' is not available: Xid 79", NULL },
	{ "a GPU that a claim takes", LOOK "claim 0", ENVVAR, "GPU-0",
	  "GPU 'GPU-0' is not available: the PCIDeviceClaim 'vm1-gpu' takes it", NULL },
	{ "a GPU that has gone", LOOK, ENVVAR, "GPU-9", "GPU 'GPU-9' is gone from the node", NULL },
	{ "a GPU that cannot be given", LOOK, ENVVAR, "GPU-1",
	  "GPU 'GPU-1' is not available: no CDI file has it", NULL },
	{ "a share is its GPU", LOOK, ENVVAR, "GPU-2::1", "NVIDIA_VISIBLE_DEVICES=GPU-2", TWICE },
	{ "shares of one GPU are one GPU", LOOK, ENVVAR, "GPU-2::1 GPU-0::0 GPU-2::0",
	  "NVIDIA_VISIBLE_DEVICES=GPU-2,GPU-0", TWICE },
	{ "and one mount", LOOK, VOLUMES, "GPU-2::1 GPU-2::0",
	  "NVIDIA_VISIBLE_DEVICES=" MOUNTS " /dev/null>" MOUNTS "/GPU-2", TWICE },
	{ "and one CDI device", LOOK, CRI, "GPU-2::1 GPU-2::0", "nvidia.com/gpu=GPU-2", TWICE },
	{ "a share of an unhealthy GPU", LOOK "xid 0 79", ENVVAR, "GPU-0::1",
	  "GPU 'GPU-0' is not available: Xid 79", TWICE },
	{ "a share of a GPU that has gone", LOOK, ENVVAR, "GPU-9::1",
	  "GPU 'GPU-9' is gone from the node", TWICE },
	{ "two shares where one is allowed", LOOK, ENVVAR, "GPU-2::1 GPU-2::0",
	  "invalid request: maximum request size for shared resources is 1; found 2", SINGLE },
	{ "one share there", LOOK, ENVVAR, "GPU-2::1", "NVIDIA_VISIBLE_DEVICES=GPU-2", SINGLE },
	{ "by indexes", LOOK, ENVVAR, "GPU-2 GPU-0", "NVIDIA_VISIBLE_DEVICES=2,0", INDEX },
	{ "by mounts of indexes", LOOK, VOLUMES, "GPU-2",
	  "NVIDIA_VISIBLE_DEVICES=" MOUNTS " /dev/null>" MOUNTS "/2", INDEX },
	{ "CDI devices have UUIDs", LOOK, CRI, "GPU-2", "nvidia.com/gpu=GPU-2", INDEX },
	{ "what NVIDIA's runtime gives besides", LOOK, ENVVAR, "GPU-2",
	  "NVIDIA_GDRCOPY=enabled NVIDIA_GDS=enabled NVIDIA_MOFED=enabled "
	  "NVIDIA_VISIBLE_DEVICES=GPU-2",
	  "flags: {gdsEnabled: true, mofedEnabled: true, gdrcopyEnabled: true}" },
	{ "a client of MPS", LOOK, ENVVAR, "GPU-2::1",
	  "CUDA_MPS_PIPE_DIRECTORY=/mps/nvidia.com/gpu/pipe NVIDIA_VISIBLE_DEVICES=GPU-2 "
	  "/run/nvidia/mps/nvidia.com/gpu/pipe>/mps/nvidia.com/gpu/pipe "
	  "/run/nvidia/mps/shm>/dev/shm",
	  MPS },
	{ "a GPU that MPS does not share", LOOK, ENVVAR, "GPU-0", "NVIDIA_VISIBLE_DEVICES=GPU-0",
	  MPS },
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
	struct gpus_scene *scene = *state;
	const struct choice_case *c = suite_row(state);
	struct nvidia_config config;
	struct nvidia_type type = { .gpus = &scene->gpus };

	configure(&type, c->config, &config);
	gpus_scene_play(scene, LOOK);
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
	suite_fixture(&suite, &gpus_scene_fixture);
	suite_rows(&suite, offers, offer_matches_table);
	suite_rows(&suite, answers, answer_matches_table);
	suite_rows(&suite, choices, choice_matches_table);
	suite_rows(&suite, migs, migs_match_table);
	suite_rows(&suite, nodes, nodes_are_told_where_the_file_asks_for_them);
	suite_rows(&suite, imexes, the_imex_channel_is_given_where_it_is);
	suite_add(&suite, "a MIG device is given by its UUID", a_mig_device_is_given_by_its_uuid,
		  NULL);
	suite_add(&suite, "pairs are chosen by their links", pairs_are_chosen_by_their_links, NULL);
	return suite_run(&suite, "nvidia_type");
}
