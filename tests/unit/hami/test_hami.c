/* hami: GPUs of a made-up node from their health to the kubelet's list, to the Node's annotation and
 * into a container. */
#include "agent/hami/hami.h"

#include "agent/nvidia/nvidia.h"
#include "agent/nvidia/nvidia_config.h"
#include "agent/nvidia/nvidia_gpus.h"
#include "agent/nvidia/nvidia_type.h"
#include "agent/plugin/plugins.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "unit/folder.h"
#include "unit/hami/hami_bench.h"
#include "unit/nvidia/gpus_scene.h"

#define CHOSEN "GPU-1,NVIDIA,3000,30:GPU-0,NVIDIA,1000,0:;"
#define MOUNTS                                                      \
	"/usr/local/vgpu/containers/u1_c0>/usr/local/vgpu "         \
	"/usr/local/vgpu/libvgpu.so>/usr/local/vgpu/libvgpu.so:ro " \
	"/tmp/vgpulock>/tmp/vgpulock /usr/local/vgpu/ld.so.preload>/etc/ld.so.preload:ro "

struct bench {
	struct hami_bench api;
	struct folder host;
	struct gpus_scene scene;
	struct nvidia_config config;
	struct nvidia_type type;
	bool elsewhere, unknown;
	struct hami_options options;
	char *config_file;
	char *node_config_file;
	struct hami *hami;
	struct str offered; /* "nvidia.com/gpu: GPU-0-0 GPU-0-1!Xid 79" */
	const struct device_type *device_type;
	void *type_arg;
	unsigned changes;
	unsigned locks;
};

/* --- what stands in for other parts ----------------------------------------------------------- */

struct deferred {
	struct str said;
};

void deferred_answer(struct deferred *deferred, struct allocation *allocation)
{
	for (size_t i = 0; i < allocation->envs.len; i++) {
		const struct json_pair *env = &allocation->envs.items[i];
		bool random = strstr(env->key, "SHARED_CACHE") != NULL;

		if (random)
			assert_int_equal(strlen(env->value), strlen("/usr/local/vgpu/.cache") + 32);
		str_addf(&deferred->said, "%s=%s ", env->key, random ? "*" : env->value);
	}
	for (size_t i = 0; i < allocation->mounts.len; i++)
		str_addf(&deferred->said, "%s>%s%s ", allocation->mounts.items[i].host_path,
			 allocation->mounts.items[i].container_path,
			 allocation->mounts.items[i].read_only ? ":ro" : "");
	allocation_done(allocation);
}

void deferred_refuse(struct deferred *deferred, const struct err *err)
{
	str_addf(&deferred->said, "!%s", err->msg);
}

bool deferred_is_wanted(const struct deferred *deferred)
{
	return true;
}

const struct nvidia_type *nvidia_view(const struct nvidia *nvidia, bool *ret_elsewhere)
{
	const struct bench *b = (const struct bench *)(const void *)nvidia;

	*ret_elsewhere = b->elsewhere;
	return b->elsewhere || b->unknown ? NULL : &b->type;
}

void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	struct bench *b = (struct bench *)(void *)plugins;

	b->device_type = type;
	b->type_arg = type_arg;
	str_clear(&b->offered);
	assert_true(len <= 1);
	if (len > 0)
		str_addf(&b->offered, "%s:", resources->name);
	for (size_t i = 0; len > 0 && i < resources->ndevices; i++) {
		const struct plugin_device *device = &resources->devices[i];

		assert_int_equal(device->healthy, !device->trouble);
		str_addf(&b->offered, " %s%s%s", device->id, device->trouble ? "!" : "",
			 str_or_empty(device->trouble));
		if (device->numa_node >= 0)
			str_addf(&b->offered, "@%d", device->numa_node);
	}
}

/* --- the bench -------------------------------------------------------------------------------- */

static const char *hindrance(void *arg, const struct nvidia_device *device)
{
	const struct bench *b = arg;

	return hami_trouble(b->hami);
}

static void on_changed(void *arg)
{
	struct bench *b = arg;

	b->changes++;
	hami_offer(b->hami, (struct plugins *)(void *)b);
}

static void on_node(void *arg)
{
	const struct bench *b = arg;

	if (b->hami)
		hami_node_seen(b->hami);
}

static void look(struct bench *b, const char *gpu, const char *memory, const char *mig)
{
	auto_free char *line = xasprintf(
		"{\"kind\":\"gpu\",\"n\":1,\"address\":\"0000:3%s:00.0\",\"uuid\":\"GPU-%s\","
		"\"name\":\"NVIDIA A2\",\"index\":%s,\"minor\":%s,\"mig\":%s%s%s,"
		"\"recovery\":0,\"well\":true}",
		gpu, gpu, gpu, gpu, mig, *memory ? ",\"memoryMiB\":" : "", memory);

	gpus_scene_line(&b->scene, line);
}

static void open_bench(struct bench *b)
{
	hami_bench_init(&b->api);
	folder_init(&b->host);
	folder_put(&b->host, "tmp/none", "");
	folder_put(&b->host, "usr/none", "");
	folder_put(&b->host, "usr/local/none", "");
	folder_put(&b->host, "usr/local/vgpu/libvgpu.so", "ELF");
	folder_put(&b->host, "usr/local/vgpu/ld.so.preload", "/usr/local/vgpu/libvgpu.so\n");
	b->api.node.host_root = b->host.path;
	b->api.on_node = on_node;
	b->api.arg = b;
	gpus_scene_open(&b->scene);
	gpus_scene_set(&b->scene, 2);
	look(b, "0", "15360", "false");
	look(b, "1", "15360", "false");
	b->type = (struct nvidia_type){ .gpus = &b->scene.gpus,
					.config = &b->config,
					.lists = NVIDIA_LIST_ENVVAR,
					.clock = b->api.node.clock,
					.place = &b->api.node.helper,
					.hindrance = hindrance,
					.arg = b };
	b->options = (struct hami_options){ .on = true, .hook = "/usr/local" };
	folder_put(&b->host, "cluster.yaml", "nvidia: {deviceSplitCount: 2}");
	b->config_file = folder_path(&b->host, "cluster.yaml");
	b->options.config_file = b->config_file;
	hami_bench_settle(&b->api);
}

static void close_bench(struct bench *b)
{
	b->hami = hami_free(b->hami);
	gpus_scene_close(&b->scene);
	free(b->config_file);
	free(b->node_config_file);
	str_done(&b->offered);
	folder_done(&b->host);
	hami_bench_done(&b->api);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static void settle(struct bench *b)
{
	hami_bench_settle(&b->api);
}

static void start(struct bench *b)
{
	b->hami = hami_new(&b->api.node, &b->options,
			   &(struct hami_deps){ .nvidia = (const struct nvidia *)(const void *)b,
						.changed = on_changed,
						.arg = b });
	settle(b);
}

static void pass(struct bench *b, uint64_t ms)
{
	fake_clock_advance(b->api.clock, ms);
	settle(b);
}

static const char *list_of(struct bench *b)
{
	return hami_bench_annotation(b->api.nodes, "node1", HAMI_REGISTER);
}

/* What a container gets that the kubelet asks @ids for. */
static char *allocated(struct bench *b, const char *chosen, const char *gpus)
{
	struct json_strs ids = { 0 };
	struct deferred deferred = { 0 };
	auto_free char *lock = xasprintf("{'metadata':{'annotations':{'" HAMI_LOCK
					 "':'2026-11-27T20:00:%02uZ,default,train'}}}",
					 ++b->locks);

	if (fake_server_get(b->api.pods, "train"))
		fake_server_delete(b->api.pods, "train");
	hami_bench_pod(&b->api, "train", chosen, gpus);
	fake_server_write(b->api.nodes, "node1", lock);
	settle(b);
	for (char i = '0'; i < *gpus; i++)
		json_strs_add(&ids, "GPU-0-0");
	assert_true(b->device_type->later_ms <= 5000);
	b->device_type->allocate_later(b->type_arg, "nvidia.com/gpu", &ids, &deferred);
	settle(b);
	json_strs_done(&ids);
	return str_detach(&deferred.said);
}

/* --- the offer -------------------------------------------------------------------------------- */

#define GPU(uuid, index, health)                                          \
	"{\"id\":\"" uuid "\"," index                                     \
	"\"count\":2,\"devmem\":15360,\"devcore\":100,\"type\":\"NVIDIA " \
	"A2\"," health ",\"devicevendor\":\"NVIDIA\"}"
#define WELL  "\"mode\":\"hami-core\",\"health\":true"
#define NUMA1 "\"numa\":1,"

static void gpus_are_divided_and_registered(void **state)
{
	struct bench *b = *state;

	start(b);
	assert_string_equal(str_cstr(&b->offered),
			    "nvidia.com/gpu: GPU-0-0 GPU-0-1 GPU-1-0 GPU-1-1");
	assert_string_equal(list_of(b), "[" GPU("GPU-0", "", WELL) "," GPU("GPU-1", "\"index\":1,",
									   NUMA1 WELL) "]");
	assert_int_equal(fake_server_writes(b->api.nodes), 2); /* one is the Node itself */
	for (int i = 0; i < 120; i++)
		pass(b, HAMI_LOOK_MS);
	assert_int_equal(b->changes, 1);
	assert_int_equal(fake_server_writes(b->api.nodes), 2);
}

static void a_gpu_that_falls_ill_stays_in_the_list(void **state)
{
	struct bench *b = *state;

	start(b);
	gpus_scene_play(&b->scene, "xid 1 79");
	on_changed(b);
	settle(b);
	assert_non_null(strstr(str_cstr(&b->offered), "GPU-0-1 GPU-1-0!"));
	assert_non_null(strstr(list_of(b), "GPU-1"));
	assert_non_null(strstr(list_of(b), "\"health\":false"));
	assert_int_equal(fake_server_writes(b->api.nodes), 3);
}

static void gpus_that_cannot_be_divided_are_left_out(void **state)
{
	struct bench *b = *state;

	look(b, "0", "15360", "true");
	start(b);
	assert_string_equal(str_cstr(&b->offered), "nvidia.com/gpu: GPU-1-0 GPU-1-1");
	assert_null(strstr(list_of(b), "GPU-0"));
}

static void memory_can_be_configured_where_it_is_not_told(void **state)
{
	struct bench *b = *state;

	look(b, "0", "", "false");
	start(b);
	assert_string_equal(str_cstr(&b->offered), "nvidia.com/gpu: GPU-1-0 GPU-1-1");
	folder_put(&b->host, "cluster.yaml",
		   "nvidia: {deviceSplitCount: 1, preConfiguredDeviceMemory: 9999, "
		   "deviceMemoryScaling: 1.5, enableNumaTopology: true}");
	pass(b, HAMI_LOOK_MS);
	assert_string_equal(str_cstr(&b->offered), "nvidia.com/gpu: GPU-0-0@0 GPU-1-0@1");
	assert_non_null(strstr(list_of(b), "\"devmem\":14998"));
	assert_non_null(strstr(list_of(b), "\"devmem\":23040"));
}

static void the_entry_of_the_node_filters(void **state)
{
	struct bench *b = *state;

	folder_put(&b->host, "config.json",
		   "{\"nodeconfig\":[{\"name\":\"node1\",\"filterdevices\":{\"index\":[0]}}]}");
	b->node_config_file = folder_path(&b->host, "config.json");
	b->options.node_config_file = b->node_config_file;
	start(b);
	assert_string_equal(str_cstr(&b->offered), "nvidia.com/gpu: GPU-1-0 GPU-1-1");
	assert_null(strstr(list_of(b), "GPU-0"));
}

static void a_file_that_is_wrong_leaves_what_there_was(void **state)
{
	struct bench *b = *state;

	folder_put(&b->host, "cluster.yaml", "nvidia: {deviceSplitCount: 0}");
	start(b);
	assert_string_equal(str_cstr(&b->offered), "");
	assert_string_equal(list_of(b), "");
	folder_put(&b->host, "cluster.yaml", "nvidia: {deviceSplitCount: 1}");
	pass(b, HAMI_LOOK_MS);
	assert_string_equal(str_cstr(&b->offered), "nvidia.com/gpu: GPU-0-0 GPU-1-0");
	folder_put(&b->host, "cluster.yaml", "nvidia: [");
	pass(b, HAMI_LOOK_MS);
	assert_string_equal(str_cstr(&b->offered), "nvidia.com/gpu: GPU-0-0 GPU-1-0");
}

static void without_hami_core_units_are_unhealthy(void **state)
{
	struct bench *b = *state;
	auto_free char *library = folder_path(&b->host, "usr/local/vgpu/libvgpu.so");

	start(b);
	assert_int_equal(unlink(library), 0);
	pass(b, HAMI_LOOK_MS);
	assert_non_null(strstr(str_cstr(&b->offered),
			       "GPU-0-0!HAMi-core is not on the node: there is no libvgpu.so in "
			       "'/usr/local/vgpu'"));
	assert_null(strstr(list_of(b), "\"health\":true"));
}

static void nothing_is_said_beside_another_plugin(void **state)
{
	struct bench *b = *state;

	start(b);
	b->elsewhere = true;
	on_changed(b);
	fake_server_write(b->api.nodes, "node1",
			  "{'metadata':{'annotations':{'" HAMI_REGISTER "':'theirs'}}}");
	settle(b);
	assert_string_equal(str_cstr(&b->offered), "");
	assert_string_equal(list_of(b), "theirs");
}

static void it_is_off_by_default(void **state)
{
	struct bench *b = *state;

	b->options.on = false;
	start(b);
	on_changed(b);
	settle(b);
	pass(b, HAMI_LOOK_MS);
	assert_null(b->device_type);
	assert_string_equal(list_of(b), "");
}

/* --- Allocate --------------------------------------------------------------------------------- */

static void allocates(struct bench *b, const char *chosen, const char *gpus, const char *text)
{
	auto_free char *said = allocated(b, chosen, gpus);

	assert_string_equal(said, text);
}

static void refuses(struct bench *b, const char *chosen, const char *text)
{
	auto_free char *said = allocated(b, chosen, "1");

	assert_int_equal(*said, '!');
	if (!strstr(said, text))
		assert_string_equal(said, text);
}

static void a_container_gets_what_the_scheduler_has_chosen(void **state)
{
	struct bench *b = *state;

	start(b);
	allocates(b, CHOSEN, "2",
		  "CUDA_DEVICE_MEMORY_LIMIT_0=3000m CUDA_DEVICE_MEMORY_LIMIT_1=1000m "
		  "CUDA_DEVICE_MEMORY_SHARED_CACHE=* CUDA_DEVICE_SM_LIMIT=30 "
		  "NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-0 " MOUNTS);
}

static void the_configuration_adds_variables(void **state)
{
	struct bench *b = *state;

	folder_put(&b->host, "cluster.yaml",
		   "nvidia: {deviceMemoryScaling: 2, libCudaLogLevel: 3, disableCoreLimit: true}");
	start(b);
	allocates(b, "GPU-0,NVIDIA,20000,0:;", "1",
		  "CUDA_DEVICE_MEMORY_LIMIT_0=20000m CUDA_DEVICE_MEMORY_SHARED_CACHE=* "
		  "CUDA_DEVICE_SM_LIMIT=0 CUDA_OVERSUBSCRIBE=true "
		  "GPU_CORE_UTILIZATION_POLICY=disable LIBCUDA_LOG_LEVEL=3 "
		  "NVIDIA_VISIBLE_DEVICES=GPU-0 " MOUNTS);
}

static void what_the_node_does_not_have_is_refused(void **state)
{
	struct bench *b = *state;

	start(b);
	refuses(b, "GPU-7,NVIDIA,1000,0:;", "the node offers no GPU 'GPU-7'");
	refuses(b, "GPU-0,NVIDIA,15361,0:;", "15361 MiB of the GPU 'GPU-0', which has 15360");
	refuses(b, "GPU-0,NVIDIA,1000,101:;", "101 percent of the GPU 'GPU-0', which has 100");
	gpus_scene_play(&b->scene, "xid 0 79");
	refuses(b, "GPU-0,NVIDIA,1000,0:;", "GPU 'GPU-0' is not available: ");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "GPUs are divided and registered", gpus_are_divided_and_registered, NULL);
	suite_add(&suite, "a GPU that falls ill stays in the list",
		  a_gpu_that_falls_ill_stays_in_the_list, NULL);
	suite_add(&suite, "GPUs that cannot be divided are left out",
		  gpus_that_cannot_be_divided_are_left_out, NULL);
	suite_add(&suite, "memory can be configured where it is not told",
		  memory_can_be_configured_where_it_is_not_told, NULL);
	suite_add(&suite, "the entry of the node filters", the_entry_of_the_node_filters, NULL);
	suite_add(&suite, "a file that is wrong leaves what there was",
		  a_file_that_is_wrong_leaves_what_there_was, NULL);
	suite_add(&suite, "without HAMi-core, units are unhealthy",
		  without_hami_core_units_are_unhealthy, NULL);
	suite_add(&suite, "nothing is said beside another plugin",
		  nothing_is_said_beside_another_plugin, NULL);
	suite_add(&suite, "it is off by default", it_is_off_by_default, NULL);
	suite_add(&suite, "a container gets what the scheduler has chosen",
		  a_container_gets_what_the_scheduler_has_chosen, NULL);
	suite_add(&suite, "the configuration adds variables", the_configuration_adds_variables,
		  NULL);
	suite_add(&suite, "what the node does not have is refused",
		  what_the_node_does_not_have_is_refused, NULL);
	return suite_run(&suite, "hami");
}
