/* hami_config: HAMi's two files, which of them goes first, and values that make no sense. */
#include "agent/hami/hami_config.h"

#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

#define DEFAULTS "nvidia.com/gpu 10 1000 1000 0 - - - "

/* Of the chart of HAMi 2.10, with what other vendors have. */
#define CLUSTER                                                                        \
	"nvidia:\n  resourceCountName: nvidia.com/vgpu\n"                              \
	"  resourceMemoryName: nvidia.com/gpumem\n  overwriteEnv: false\n"             \
	"  defaultMemory: 0\n  deviceSplitCount: 5\n  deviceMemoryScaling: 1.8\n"      \
	"  deviceCoreScaling: 1\n  preConfiguredDeviceMemory: 4096\n"                  \
	"  enableNumaTopology: true\n  gpuCorePolicy: default\n  libCudaLogLevel: 1\n" \
	"  runtimeClassName: \"\"\n  migProfileAllowlist:\n  - models: [ A30 ]\n"      \
	"    profiles: [ 1g.6gb ]\ncambricon:\n  resourceCountName: cambricon.com/mlu\n"

#define NODE(members) \
	"{\"nodeconfig\": [{\"name\": \"other\", \"devicesplitcount\": 99}, \
	{\"name\": \"node1\", " members "}]}"

static struct config_case {
	const char *name;
	const char *cluster;
	const char *node;
	const char
		*text; /* resource split memory cores MiB numa no-limit log filters, or the error */
} configs[] = {
	{ "no file", NULL, NULL, DEFAULTS },
	{ "empty files", "", "{}", DEFAULTS },
	{ "HAMi's own file", CLUSTER, NULL, "nvidia.com/vgpu 5 1800 1000 4096 numa - 1 " },
	{ "no part of NVIDIA", "amd: {}\n", NULL, DEFAULTS },
	{ "an entry of another node", NULL,
	  "{\"nodeconfig\": [{\"name\": \"x\", \"devicesplitcount\": 9}]}", DEFAULTS },
	{ "the entry of the node goes first", CLUSTER,
	  NODE("\"operatingmode\": \"hami-core\", \"devicememoryscaling\": 0.5, \"devicesplitcount\": 2, "
	       "\"devicecorescaling\": 2, \"preconfigureddevicememory\": 1, \"libcudaloglevel\": \"3\", "
	       "\"enablenumatopology\": false, \"migstrategy\": \"none\""),
	  "nvidia.com/vgpu 2 500 2000 1 - - 3 " },
	{ "filters", NULL, NODE("\"filterdevices\": {\"uuid\": [\"GPU-a\"], \"index\": [0, 3]}"),
	  DEFAULTS "GPU-a 0 3 " },
	{ "empty filters", NULL, NODE("\"filterdevices\": {\"uuid\": [], \"index\": []}"),
	  DEFAULTS },
	{ "no core limit", "nvidia: {disableCoreLimit: true}", NULL,
	  "nvidia.com/gpu 10 1000 1000 0 - nolimit - " },
	{ "a text that is no YAML", "nvidia: [", NULL, "!cluster:" },
	{ "a list for a mapping", "nvidia: []", NULL, "!cluster: nvidia: expected a mapping" },
	{ "no shares", "nvidia: {deviceSplitCount: 0}", NULL,
	  "!cluster: nvidia: deviceSplitCount: expected 1 to 1000" },
	{ "too many", "nvidia: {deviceSplitCount: 1001}", NULL,
	  "!cluster: nvidia: deviceSplitCount" },
	{ "a word for a number", "nvidia: {deviceSplitCount: many}", NULL,
	  "!cluster: nvidia: deviceSplitCount" },
	{ "a factor of nothing", "nvidia: {deviceMemoryScaling: 0}", NULL,
	  "!cluster: nvidia: deviceMemoryScaling: expected a factor" },
	{ "a negative one", "nvidia: {deviceCoreScaling: -1.5}", NULL,
	  "!cluster: nvidia: deviceCoreScaling" },
	{ "one beyond reason", "nvidia: {deviceMemoryScaling: 1e300}", NULL,
	  "!cluster: nvidia: deviceMemoryScaling" },
	{ "a name that is no resource", "nvidia: {resourceCountName: a b}", NULL,
	  "!cluster: nvidia: resourceCountName" },
	{ "a log level that is none", "nvidia: {libCudaLogLevel: 10}", NULL,
	  "!cluster: nvidia: libCudaLogLevel" },
	{ "MIG mode", NULL, NODE("\"operatingmode\": \"mig\""),
	  "!node: nodeconfig[1]: operatingmode: expected hami-core" },
	{ "a filter that is no list", NULL, NODE("\"filterdevices\": {\"index\": 0}"),
	  "!node: nodeconfig[1]: filterdevices: index" },
	{ "a filter of lists", NULL, NODE("\"filterdevices\": {\"index\": [[0]]}"),
	  "!node: nodeconfig[1]: filterdevices: index" },
	{ "no list of nodes", NULL, "{\"nodeconfig\": 1}", "!node: nodeconfig: expected a list" },
};

static void show(const struct hami_config *config, struct str *out)
{
	str_addf(out, "%s %u %u %u %llu %s %s %s ", config->resource, config->split, config->memory,
		 config->cores, (unsigned long long)config->memory_mib, config->numa ? "numa" : "-",
		 config->no_core_limit ? "nolimit" : "-",
		 config->log_level ? config->log_level : "-");
	for (size_t i = 0; i < config->filtered.len; i++)
		str_addf(out, "%s ", config->filtered.items[i]);
}

static void config_matches_table(void **state)
{
	const struct config_case *c = *state;
	struct hami_config config;
	struct err err = { 0 };
	struct str out = STR_INIT;
	int r = 0;

	hami_config_init(&config);
	if (c->cluster)
		r = hami_config_take_cluster("cluster", c->cluster, strlen(c->cluster), &config,
					     &err);
	if (r == 0 && c->node)
		r = hami_config_take_node("node", c->node, strlen(c->node), "node1", &config, &err);
	if (r < 0) {
		assert_int_equal(err.kind, ERR_INVALID);
		str_addf(&out, "!%s", err.msg);
		assert_non_null(strstr(str_cstr(&out), c->text));
		str_clear(&out);
	}
	show(&config, &out);
	assert_string_equal(str_cstr(&out), r < 0 ? DEFAULTS : c->text);
	str_done(&out);
	hami_config_done(&config);
}

static void filters_are_by_uuid_and_index(void **state)
{
	static const char node[] =
		NODE("\"filterdevices\": {\"uuid\": [\"GPU-a\"], \"index\": [2]}");
	struct hami_config config;
	struct err err = { 0 };

	hami_config_init(&config);
	assert_int_equal(hami_config_take_node("n", node, strlen(node), "node1", &config, &err), 0);
	assert_true(hami_config_filters(&config, "GPU-a", 0));
	assert_true(hami_config_filters(&config, "GPU-b", 2));
	assert_false(hami_config_filters(&config, "GPU-b", 1));
	assert_false(hami_config_filters(&config, "GPU-b", -1));
	hami_config_done(&config);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, configs, config_matches_table);
	suite_add(&suite, "filters are by UUID and index", filters_are_by_uuid_and_index, NULL);
	return suite_run(&suite, "hami_config");
}
