/* nvidia_node: the Node's labels of its GPUs: what is written, when, and what is left alone. */
#include "agent/nvidia/nvidia_node.h"

#include <string.h>

#include "agent/node/this_node.h"
#include "api/json_map.h"
#include "api/node.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "unit/suite.h"
#include "unit/this_node.h"

#define COUNT   "nvidia.com/gpu.count"
#define PRODUCT "nvidia.com/gpu.product"
#define STAMP   "nvidia.com/gfd.timestamp"
#define LISTED  "nfd.node.kubernetes.io/feature-labels"

enum { PAIRS_MAX = 3 };

struct pair {
	const char *key, *value;
};

static void set_all(struct json_pairs *pairs, const struct pair *from)
{
	for (size_t i = 0; i < PAIRS_MAX && from[i].key; i++)
		(void)json_pairs_set(pairs, from[i].key, from[i].value);
}

/* --- the plan --------------------------------------------------------------------------------- */

static struct plan_case {
	const char *name;
	struct pair has[PAIRS_MAX]; /* labels of the Node */
	const char *record;         /* its annotation; NULL: none */
	const char *listed;         /* by Node Feature Discovery; NULL: it is not there */
	struct pair wants[PAIRS_MAX];
	const char *labels; /* of the apply; NULL: none */
	const char *kept;   /* the annotation of the apply */
	const char *foreign;
} plans[] = {
	{ "a new Node", .wants = { { COUNT, "8" } }, .labels = "{\"" COUNT "\":\"8\"}",
	  .kept = "{\"" COUNT "\":\"8\"}" },
	{ "labels of others do not matter", .has = { { "a", "b" } }, .wants = { { COUNT, "8" } },
	  .labels = "{\"" COUNT "\":\"8\"}", .kept = "{\"" COUNT "\":\"8\"}" },
	{ "what is there is not written again", .has = { { COUNT, "8" } },
	  .record = "{\"" COUNT "\":\"8\"}", .wants = { { COUNT, "8" } } },
	{ "another value", .has = { { COUNT, "8" } }, .record = "{\"" COUNT "\":\"8\"}",
	  .wants = { { COUNT, "7" } }, .labels = "{\"" COUNT "\":\"7\"}",
	  .kept = "{\"" COUNT "\":\"7\"}" },
	{ "one that somebody removed comes back", .record = "{\"" COUNT "\":\"8\"}",
	  .wants = { { COUNT, "8" } }, .labels = "{\"" COUNT "\":\"8\"}",
	  .kept = "{\"" COUNT "\":\"8\"}" },
	{ "one that is not wanted any more goes", .has = { { COUNT, "8" }, { PRODUCT, "A" } },
	  .record = "{\"" COUNT "\":\"8\",\"" PRODUCT "\":\"A\"}", .wants = { { COUNT, "8" } },
	  .labels = "{\"" COUNT "\":\"8\"}", .kept = "{\"" COUNT "\":\"8\"}" },
	{ "all go, and the record", .has = { { COUNT, "8" } }, .record = "{\"" COUNT "\":\"8\"}",
	  .labels = "{}", .kept = "" },
	{ "there was none, and none is wanted", .has = { { "a", "b" } } },
	{ "one that somebody else made stays", .has = { { COUNT, "5" } },
	  .wants = { { COUNT, "8" }, { PRODUCT, "A" } }, .labels = "{\"" PRODUCT "\":\"A\"}",
	  .kept = "{\"" PRODUCT "\":\"A\"}", .foreign = COUNT },
	{ "also with the value that is wanted", .has = { { COUNT, "8" } },
	  .wants = { { COUNT, "8" } }, .foreign = COUNT },
	{ "one that somebody changed is given up", .has = { { COUNT, "5" }, { PRODUCT, "A" } },
	  .record = "{\"" COUNT "\":\"8\",\"" PRODUCT "\":\"A\"}",
	  .wants = { { COUNT, "8" }, { PRODUCT, "A" } }, .labels = "{\"" PRODUCT "\":\"A\"}",
	  .kept = "{\"" PRODUCT "\":\"A\"}", .foreign = COUNT },
	{ "GPU Feature Discovery labels the Node", .has = { { STAMP, "1" } },
	  .wants = { { COUNT, "8" } } },
	{ "it has come", .has = { { STAMP, "1" }, { COUNT, "8" } },
	  .record = "{\"" COUNT "\":\"8\"}", .wants = { { COUNT, "8" } }, .labels = "{}",
	  .kept = "" },
	{ "without the time of its look", .has = { { COUNT, "8" } },
	  .record = "{\"" COUNT "\":\"8\"}", .listed = "cpu-model.id,nvidia.com/gpu.family",
	  .wants = { { COUNT, "8" } }, .labels = "{}", .kept = "" },
	{ "what it has as its own is not taken away", .has = { { COUNT, "8" }, { PRODUCT, "A" } },
	  .record = "{\"" COUNT "\":\"8\",\"" PRODUCT "\":\"A\"}",
	  .listed = COUNT ",nvidia.com/gpu.counter", .wants = { { COUNT, "8" } },
	  .labels = "{\"" COUNT "\":\"8\"}", .kept = "" },
	{ "labels of other hardware are no sign of it", .listed = "nvidia.com/other,gpu.count",
	  .wants = { { COUNT, "8" } }, .labels = "{\"" COUNT "\":\"8\"}",
	  .kept = "{\"" COUNT "\":\"8\"}" },
	{ "a record that is none says nothing", .has = { { COUNT, "8" } }, .record = "[1",
	  .wants = { { COUNT, "8" } }, .labels = "{}", .kept = "", .foreign = COUNT },
};

static void plan_matches_table(void **state)
{
	const struct plan_case *c = *state;
	struct node node = { 0 };
	struct json_pairs wants = { 0 };
	struct decision d = { 0 };
	const json_t *meta;
	auto_free char *labels = NULL;

	node.meta.uid = xstrdup("u1");
	node.meta.resource_version = xstrdup("7");
	set_all(&node.meta.labels, c->has);
	set_all(&wants, c->wants);
	if (c->record)
		(void)json_pairs_set(&node.meta.annotations, NVIDIA_RECORD, c->record);
	if (c->listed)
		(void)json_pairs_set(&node.meta.annotations, LISTED, c->listed);
	nvidia_node_plan(&node, &wants, &d);
	assert_int_equal(d.step, c->labels ? STEP_APPLY : STEP_REST);
	assert_true(str_equal(d.job, c->foreign));
	if (c->labels) {
		assert_true(d.yields);
		meta = json_object_get(d.body, "metadata");
		labels = json_map_text(json_object_get(meta, "labels"));
		assert_string_equal(labels, c->labels);
		assert_string_equal(
			json_get_text(json_object_get(meta, "annotations"), NVIDIA_RECORD),
			c->kept);
		assert_string_equal(json_get_text(meta, "uid"), "u1");
	}
	free(d.job);
	json_decref(d.body);
	json_pairs_done(&wants);
	json_map_done(node_kind.map, &node);
}

/* --- the reconciler --------------------------------------------------------------------------- */

struct bench {
	struct fake_clock *clock;
	struct fake_server *nodes;
	struct kube_client *client;
	struct informer *informer;
	struct this_node node;
	struct nvidia_node *labelled;
};

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	const struct bench *b = arg;

	(void)name;
	(void)before;
	(void)after;
	if (b->labelled)
		nvidia_node_changed(b->labelled);
}

static void on_synced(void *arg)
{
	on_change(arg, NULL, NULL, NULL);
}

static void settle(struct bench *b)
{
	do {
		fake_clock_settle(b->clock);
	} while (fake_server_step(b->nodes));
}

static void open_bench(struct bench *b)
{
	log_set_level(LOG_ERROR);
	b->clock = fake_clock_new();
	b->nodes = fake_server_new(&node_kind);
	b->client = fake_server_client(b->nodes);
	b->node = this_node_of(b->client, fake_clock_as_clock(b->clock), NULL);
	b->informer =
		informer_new(&(struct informer_deps){ .client = b->client, .clock = b->node.clock },
			     &(struct informer_spec){
				     .kind = &node_kind,
				     .handlers = { .on_change = on_change, .on_synced = on_synced },
				     .arg = b });
	b->node.self = b->informer;
	fake_server_write(b->nodes, "node1", "{}");
	informer_start(b->informer);
	b->labelled = nvidia_node_new(&b->node);
	settle(b);
}

static void close_bench(struct bench *b)
{
	b->labelled = nvidia_node_free(b->labelled);
	informer_free(b->informer);
	assert_int_equal(fake_client_open(b->client), 0);
	kube_client_free(b->client);
	fake_server_free(b->nodes);
	fake_clock_free(b->clock);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static const char *label_of(const struct bench *b, const char *key)
{
	const json_t *meta = json_object_get(fake_server_get(b->nodes, "node1"), "metadata");

	return json_get_text(json_object_get(meta, "labels"), key);
}

/* @count NULL: no label at all. */
static void want(struct bench *b, const char *count)
{
	struct json_pairs labels = { 0 };

	if (count) {
		(void)json_pairs_set(&labels, COUNT, count);
		(void)json_pairs_set(&labels, PRODUCT, "NVIDIA-A2");
	}
	nvidia_node_set(b->labelled, &labels);
	json_pairs_done(&labels);
	settle(b);
}

static void a_change_is_one_write_and_an_idle_node_none(void **state)
{
	struct bench *b = *state;
	size_t before = fake_server_writes(b->nodes);

	for (int i = 0; i < 600; i++) {
		want(b, "2");
		fake_clock_advance(b->clock, 1000);
		settle(b);
	}
	assert_string_equal(label_of(b, COUNT), "2");
	assert_string_equal(label_of(b, PRODUCT), "NVIDIA-A2");
	assert_int_equal(fake_server_writes(b->nodes), before + 1);
	want(b, "1");
	assert_string_equal(label_of(b, COUNT), "1");
	assert_int_equal(fake_server_writes(b->nodes), before + 2);
	fake_server_write(b->nodes, "node1", "{'metadata':{'labels':{'a':'b'}}}");
	before = fake_server_writes(b->nodes);
	settle(b);
	assert_int_equal(fake_server_writes(b->nodes), before);
}

static void nothing_is_written_before_the_gpus_are_known(void **state)
{
	struct bench *b = *state;
	size_t before;

	fake_server_write(b->nodes, "node1",
			  "{'metadata':{'labels':{'" COUNT "':'2'},'annotations':{'" NVIDIA_RECORD
			  "':'x'}}}");
	before = fake_server_writes(b->nodes);
	settle(b);
	assert_int_equal(fake_server_writes(b->nodes), before);
	assert_string_equal(label_of(b, COUNT), "2");
}

static void labels_go_with_the_gpus(void **state)
{
	struct bench *b = *state;
	size_t before;

	fake_server_write(b->nodes, "node1", "{'metadata':{'labels':{'a':'b'}}}");
	want(b, "2");
	before = fake_server_writes(b->nodes);
	want(b, NULL);
	assert_string_equal(label_of(b, COUNT), "");
	assert_string_equal(label_of(b, PRODUCT), "");
	assert_string_equal(label_of(b, "a"), "b");
	assert_int_equal(fake_server_writes(b->nodes), before + 1);
}

static void one_that_somebody_removes_comes_back(void **state)
{
	struct bench *b = *state;

	want(b, "2");
	fake_server_write(b->nodes, "node1", "{'metadata':{'labels':{'" COUNT "':null}}}");
	settle(b);
	assert_string_equal(label_of(b, COUNT), "2");
}

static void one_that_somebody_changes_is_his(void **state)
{
	struct bench *b = *state;
	size_t before;

	want(b, "2");
	fake_server_write(b->nodes, "node1", "{'metadata':{'labels':{'" COUNT "':'9'}}}");
	settle(b);
	before = fake_server_writes(b->nodes);
	want(b, "1");
	assert_string_equal(label_of(b, COUNT), "9");
	assert_string_equal(label_of(b, PRODUCT), "NVIDIA-A2");
	assert_int_equal(fake_server_writes(b->nodes), before);
	fake_server_write(b->nodes, "node1", "{'metadata':{'labels':{'" COUNT "':null}}}");
	settle(b);
	assert_string_equal(label_of(b, COUNT), "1");
}

static void the_agent_stops_when_gpu_feature_discovery_begins(void **state)
{
	struct bench *b = *state;
	size_t before;

	want(b, "2");
	fake_server_write(b->nodes, "node1",
			  "{'metadata':{'labels':{'" STAMP "':'1','" PRODUCT "':'other'}}}");
	settle(b);
	assert_string_equal(label_of(b, COUNT), "");
	before = fake_server_writes(b->nodes);
	want(b, "1");
	assert_int_equal(fake_server_writes(b->nodes), before);
	fake_server_write(b->nodes, "node1",
			  "{'metadata':{'labels':{'" STAMP "':null,'" PRODUCT "':null}}}");
	settle(b);
	assert_string_equal(label_of(b, COUNT), "1");
}

static void a_write_that_fails_is_repeated(void **state)
{
	struct bench *b = *state;
	struct json_pairs labels = { 0 };

	(void)json_pairs_set(&labels, COUNT, "2");
	nvidia_node_set(b->labelled, &labels);
	json_pairs_done(&labels);
	fake_clock_settle(b->clock);
	assert_true(fake_server_serve(b->nodes, FAULT_CONFLICT));
	for (int i = 0; i < 60; i++) {
		fake_clock_advance(b->clock, 1000);
		settle(b);
	}
	assert_string_equal(label_of(b, COUNT), "2");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, plans, plan_matches_table);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a change is one write, and an idle node none",
		  a_change_is_one_write_and_an_idle_node_none, NULL);
	suite_add(&suite, "nothing is written before the GPUs are known",
		  nothing_is_written_before_the_gpus_are_known, NULL);
	suite_add(&suite, "labels go with the GPUs", labels_go_with_the_gpus, NULL);
	suite_add(&suite, "one that somebody removes comes back",
		  one_that_somebody_removes_comes_back, NULL);
	suite_add(&suite, "one that somebody changes is theirs", one_that_somebody_changes_is_his,
		  NULL);
	suite_add(&suite, "the agent stops when GPU Feature Discovery begins",
		  the_agent_stops_when_gpu_feature_discovery_begins, NULL);
	suite_add(&suite, "a write that fails is repeated", a_write_that_fails_is_repeated, NULL);
	return suite_run(&suite, "nvidia_node");
}
