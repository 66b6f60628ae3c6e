/* nvidia_labels: what a Node's labels say of its GPUs, against those of GPU Feature Discovery. */
#include "agent/nvidia/nvidia_labels.h"

#include "agent/nvidia/nvidia_config.h"
#include "unit/nvidia/gpus_scene.h"

#define SHARED "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}"
#define RENAMED                                                                              \
	"sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, " \
	"replicas: 4}]}}"
#define MPS      "sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}"
#define MIG_TWO  "sharing: {timeSlicing: {resources: [{name: nvidia.com/mig-1g.5gb, replicas: 2}]}}"
#define CLUSTER  "00112233445566778899aabbccddeeff"
#define A100     "NVIDIA A100-SXM4-40GB"
#define GPU_A100 "gpu.product=NVIDIA-A100-SXM4-40GB gpu.replicas="

enum { GPUS_MAX = 3 };

struct model {
	const char *name; /* NULL: there is no such GPU */
	int major, minor;
	const char *more; /* members of the line */
};

static struct label_case {
	const char *name;
	struct model models[GPUS_MAX];
	const char *play; /* before they are looked at */
	const char *config;
	enum nvidia_mig_strategy mig;
	const char *shown; /* those that the row is about, by key */
	const char *keys;  /* their beginnings */
} cases[] = {
	{ "no GPU, no label", { { 0 } }, "", NULL, NVIDIA_MIG_NONE, "", "" },
	{ "a GPU",
	  { { A100, 8, 0, "\"memoryMiB\":40960," } },
	  "",
	  NULL,
	  NVIDIA_MIG_NONE,
	  "gpu.compute.major=8 gpu.compute.minor=0 gpu.count=1 gpu.family=ampere "
	  "gpu.machine=DGX-Station gpu.memory=40960 gpu.mode=compute " GPU_A100
	  "1 gpu.sharing-strategy=none mig.capable=false mps.capable=false",
	  "gpu. mig mps" },
	{ "the versions of the driver and of CUDA",
	  { { A100, 8, 0, "" } },
	  "",
	  NULL,
	  NVIDIA_MIG_NONE,
	  "cuda.driver-version.full=550.54.15 cuda.driver-version.major=550 "
	  "cuda.driver-version.minor=54 cuda.driver-version.revision=15 cuda.driver.major=550 "
	  "cuda.driver.minor=54 cuda.driver.rev=15 cuda.runtime-version.full=12.4 "
	  "cuda.runtime-version.major=12 cuda.runtime-version.minor=4 cuda.runtime.major=12 "
	  "cuda.runtime.minor=4",
	  "cuda" },
	{ "the model of the most GPUs",
	  { { "Tesla V100", 7, 0, "" }, { A100, 8, 0, "" }, { A100, 8, 0, "" } },
	  "",
	  NULL,
	  NVIDIA_MIG_NONE,
	  "gpu.count=2 gpu.family=ampere " GPU_A100 "1",
	  "gpu.count gpu.family gpu.product gpu.replicas" },
	{ "of equal ones the first",
	  { { "Tesla V100", 7, 0, "" }, { A100, 8, 0, "" } },
	  "",
	  NULL,
	  NVIDIA_MIG_NONE,
	  "gpu.count=1 gpu.family=volta",
	  "gpu.count gpu.family" },
	{ "a GPU that a claim takes is not counted",
	  { { A100, 8, 0, "" }, { A100, 8, 0, "" } },
	  "claim 1",
	  NULL,
	  NVIDIA_MIG_NONE,
	  "gpu.count=1",
	  "gpu.count" },
	{ "an unhealthy one is",
	  { { A100, 8, 0, "" }, { A100, 8, 0, "" } },
	  "xid 1 79",
	  NULL,
	  NVIDIA_MIG_NONE,
	  "gpu.count=2",
	  "gpu.count" },
	{ "families by their compute capability",
	  { { "NVIDIA L4", 8, 9, "" } },
	  "",
	  NULL,
	  NVIDIA_MIG_NONE,
	  "gpu.family=ada-lovelace",
	  "gpu.family" },
	{ "Turing",
	  { { "Tesla T4", 7, 5, "" } },
	  "",
	  NULL,
	  NVIDIA_MIG_NONE,
	  "gpu.family=turing",
	  "gpu.family" },
	{ "one that is not known yet",
	  { { "New", 99, 0, "" } },
	  "",
	  NULL,
	  NVIDIA_MIG_NONE,
	  "gpu.family=undefined",
	  "gpu.family" },
	{ "shares",
	  { { A100, 8, 0, "" } },
	  "",
	  SHARED,
	  NVIDIA_MIG_NONE,
	  "gpu.product=NVIDIA-A100-SXM4-40GB-SHARED gpu.replicas=4 "
	  "gpu.sharing-strategy=time-slicing mps.capable=false",
	  "gpu.product gpu.replicas gpu.sharing mps" },
	{ "shares under another name",
	  { { A100, 8, 0, "" } },
	  "",
	  RENAMED,
	  NVIDIA_MIG_NONE,
	  GPU_A100 "4",
	  "gpu.product gpu.replicas" },
	{ "shares by MPS",
	  { { A100, 8, 0, "" } },
	  "",
	  MPS,
	  NVIDIA_MIG_NONE,
	  "gpu.product=NVIDIA-A100-SXM4-40GB-SHARED gpu.replicas=4 gpu.sharing-strategy=mps "
	  "mps.capable=true",
	  "gpu.product gpu.replicas gpu.sharing mps" },
	{ "what a value cannot have is left out, and it is cut",
	  { { " (R) One+two  a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4", 8, 0,
	      "" } },
	  "",
	  NULL,
	  NVIDIA_MIG_NONE,
	  "gpu.product=R-Onetwo-a-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q-r-s-t-u-v-w-x-y-z-0",
	  "gpu.product" },
	{ "the clique of a fabric",
	  { { A100, 8, 0, "\"cluster\":\"" CLUSTER "\",\"clique\":7," }, { A100, 8, 0, "" } },
	  "",
	  NULL,
	  NVIDIA_MIG_NONE,
	  "gpu.clique=00112233-4455-6677-8899-aabbccddeeff.7",
	  "gpu.clique" },
	{ "two cliques are none",
	  { { A100, 8, 0, "\"cluster\":\"" CLUSTER "\",\"clique\":7," },
	    { A100, 8, 0, "\"cluster\":\"" CLUSTER "\",\"clique\":8," } },
	  "",
	  NULL,
	  NVIDIA_MIG_NONE,
	  "",
	  "gpu.clique" },
	{ "a GPU in MIG mode as a whole",
	  { { A100, 8, 0, "\"mig\":true,\"migCapable\":true," } },
	  "",
	  SHARED,
	  NVIDIA_MIG_NONE,
	  "gpu.count=1 " GPU_A100 "0 mig.capable=true",
	  "gpu.count gpu.product gpu.replicas mig" },
	{ "its MIG devices in place of it",
	  { { A100, 8, 0, "\"mig\":true,\"migCapable\":true,\"memoryMiB\":40960," } },
	  "begin 0; mig 0 7 1g.5gb; mig 0 8 1g.5gb",
	  NULL,
	  NVIDIA_MIG_SINGLE,
	  "gpu.count=2 gpu.product=NVIDIA-A100-SXM4-40GB-MIG-1g.5gb gpu.replicas=1 "
	  "gpu.slices.ci=2 gpu.slices.gi=2 mig.strategy=single",
	  "gpu.count gpu.product gpu.replicas gpu.slices mig.s" },
	{ "none of them with the strategy single",
	  { { A100, 8, 0, "\"mig\":true,\"memoryMiB\":40960," } },
	  "",
	  NULL,
	  NVIDIA_MIG_SINGLE,
	  "gpu.count=0 gpu.memory=0 gpu.product=NVIDIA-A100-SXM4-40GB-MIG-INVALID gpu.replicas=0",
	  "gpu.count gpu.memory gpu.product gpu.replicas" },
	{ "beside whole GPUs, by their profile",
	  { { A100, 8, 0, "" }, { A100, 8, 0, "\"mig\":true," } },
	  "begin 1; mig 1 7 1g.5gb; mig 1 8 1g.5gb+me",
	  MIG_TWO,
	  NVIDIA_MIG_MIXED,
	  "gpu.count=2 " GPU_A100 "1 mig-1g.5gb.count=1 mig-1g.5gb.me.count=1 "
	  "mig-1g.5gb.me.product=NVIDIA-A100-SXM4-40GB-MIG-1g.5gbme mig-1g.5gb.me.replicas=1 "
	  "mig-1g.5gb.me.slices.ci=2 mig-1g.5gb.me.slices.gi=2 "
	  "mig-1g.5gb.product=NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED mig-1g.5gb.replicas=2 "
	  "mig-1g.5gb.slices.ci=2 mig-1g.5gb.slices.gi=2",
	  "gpu.count gpu.product gpu.replicas mig-" },
};

/* An inventory with this GPU. */
static void look(struct gpus_scene *scene, size_t number, const struct model *model)
{
	auto_free char *line = xasprintf(
		"{\"kind\":\"gpu\",\"n\":1,\"address\":\"0000:3%zu:00.0\",\"uuid\":\"GPU-%zu\","
		"\"index\":%zu,\"name\":\"%s\",\"computeMajor\":%d,\"computeMinor\":%d,%s"
		"\"well\":true}",
		number, number, number, model->name, model->major, model->minor, model->more);

	gpus_scene_line(scene, line);
}

/* Does @key begin with one of the words of @list? */
static bool is_asked(const char *key, const char *list)
{
	auto_free char *copy = xstrdup(list);
	char *rest = copy;
	const char *word;

	while ((word = strsep(&rest, " "))) {
		if (*word && strncmp(key, word, strlen(word)) == 0)
			return true;
	}
	return false;
}

static void labels_match_table(void **state)
{
	struct gpus_scene *scene = *state;
	const struct label_case *c = suite_row(state);
	struct nvidia_config config = { 0 };
	struct json_pairs labels;
	auto_str struct str shown = STR_INIT;
	struct err err = { 0 };
	size_t len = 0;

	if (c->config &&
	    nvidia_config_parse("file", c->config, strlen(c->config), &config, &err) < 0)
		fail_msg("%s", err.msg);
	while (len < GPUS_MAX && c->models[len].name)
		len++;
	gpus_scene_set(scene, len);
	gpus_scene_play(scene, c->play);
	for (size_t i = 0; i < len; i++)
		look(scene, i, &c->models[i]);
	nvidia_labels_make(&(struct nvidia_label_case){ .gpus = &scene->gpus,
							.config = &config,
							.mig = c->mig,
							.driver = "550.54.15",
							.cuda = 12040,
							.machine = "DGX Station" },
			   &labels);
	for (size_t i = 0; i < labels.len; i++) {
		const char *key = labels.items[i].key + strlen("nvidia.com/");

		assert_int_equal(strncmp(labels.items[i].key, "nvidia.com/", 11), 0);
		assert_in_range(strlen(labels.items[i].value), 0, 63);
		if (is_asked(key, c->keys))
			str_addf(&shown, "%s%s=%s", shown.len ? " " : "", key,
				 labels.items[i].value);
	}
	assert_string_equal(str_cstr(&shown), c->shown);
	if (len == 0)
		assert_int_equal(labels.len, 0);
	json_pairs_done(&labels);
	nvidia_config_done(&config);
}

/* A driver with two numbers has no third one, and what nobody knows has no label. */
static void what_is_not_known_has_no_label(void **state)
{
	struct gpus_scene *scene = *state;
	const struct model model = { A100, -1, -1, "" };
	struct nvidia_config config = { 0 };
	struct json_pairs labels;

	gpus_scene_set(scene, 1);
	look(scene, 0, &model);
	nvidia_labels_make(
		&(struct nvidia_label_case){
			.gpus = &scene->gpus, .config = &config, .driver = "550.54", .cuda = -1 },
		&labels);
	assert_string_equal(json_pairs_get(&labels, "nvidia.com/cuda.driver.rev"), "");
	assert_string_equal(json_pairs_get(&labels, "nvidia.com/gpu.machine"), "unknown");
	assert_null(json_pairs_get(&labels, "nvidia.com/cuda.runtime.major"));
	assert_null(json_pairs_get(&labels, "nvidia.com/gpu.family"));
	assert_null(json_pairs_get(&labels, "nvidia.com/gpu.memory"));
	assert_null(json_pairs_get(&labels, "nvidia.com/mig.strategy"));
	json_pairs_done(&labels);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &gpus_scene_fixture);
	suite_rows(&suite, cases, labels_match_table);
	suite_add(&suite, "what is not known has no label", what_is_not_known_has_no_label, NULL);
	return suite_run(&suite, "nvidia_labels");
}
