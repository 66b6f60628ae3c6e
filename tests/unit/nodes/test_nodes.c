#include "controller/nodes/nodes.h"

#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "controller/nodes/node_index.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "unit/kube/random_life.h"
#include "unit/suite.h"

enum { GONE_MS = 5 * 60 * 1000, LONG_MS = 3 * GONE_MS, SETTLE_MS = 250 };

#define CONDITION(status) "{'conditions':[{'type':'Ready','status':'" status "'}]}"
#define DEVICE            "{'nodeName':'n','resourceName':'a.b/c'}"
#define OURS              "wrangler.cattle.io/PCIDeviceClaimOnRemove"
#define OURS_USB          "wrangler.cattle.io/usbClaimClient-device-claim-remove"
#define CLAIM             "{'metadata':{'finalizers':['x/y','" OURS "']},'spec':{'nodeName':'n'}}"
#define SAYS              "GET pcideviceclaims/n-1|PATCH pcideviceclaims/n-1/status|"

/* One kind. */
struct cache {
	struct bench *bench;
	enum view_kind kind;
	struct api_kind api;
	struct fake_server *server;
	struct informer *informer;
};

struct bench {
	struct cache caches[VIEW_KINDS];
	const struct store *stores[VIEW_KINDS];
	const struct informer *informers[VIEW_KINDS];
	struct kube_client *client;
	struct fake_clock *clock;
	struct metrics *metrics;
	struct nodes *nodes;
	bool follows;     /* another replica leads         */
	struct str reach; /* "n- n+" as on_reach was told */
};

static bool leads(void *arg)
{
	const struct bench *b = arg;

	return !b->follows;
}

static void on_reach(void *arg, const char *node, bool reachable)
{
	struct bench *b = arg;

	str_addf(&b->reach, "%s%c ", node, reachable ? '+' : '-');
}

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	const struct cache *cache = arg;

	nodes_on_change(cache->bench->nodes, cache->kind, name, before, after);
}

static bool is_used(enum view_kind kind)
{
	return kind <= VIEW_AGENT;
}

static bool show(struct bench *b)
{
	bool shown = false;

	for (int kind = 0; kind < VIEW_KINDS; kind++) {
		if (is_used((enum view_kind)kind))
			shown = fake_server_show(b->caches[kind].server, 9) || shown;
	}
	return shown;
}

/* Everything is served and shown at once. */
static void settle(struct bench *b)
{
	do {
		fake_clock_settle(b->clock);
	} while (fake_server_serve(b->caches[0].server, FAULT_NONE) || show(b));
}

static void run(struct bench *b, uint64_t ms)
{
	settle(b);
	for (uint64_t gone = 0; gone < ms; gone += SETTLE_MS) {
		fake_clock_advance(b->clock, ms - gone < SETTLE_MS ? ms - gone : SETTLE_MS);
		settle(b);
	}
}

static void open_cache(struct bench *b, enum view_kind kind)
{
	struct cache *cache = &b->caches[kind];

	*cache = (struct cache){ .bench = b, .kind = kind, .api = view_kind(kind) };
	if (!is_used(kind))
		return;
	cache->server = kind == 0 ? fake_server_new(&cache->api)
				  : fake_server_join(b->caches[0].server, &cache->api);
	b->client = fake_server_client(cache->server);
	cache->informer =
		informer_new(&(struct informer_deps){ .client = b->client,
						      .clock = fake_clock_as_clock(b->clock) },
			     &(struct informer_spec){ .kind = &cache->api,
						      .handlers = { .on_change = on_change },
						      .arg = cache });
	b->informers[kind] = cache->informer;
	b->stores[kind] = informer_store(cache->informer);
}

static void open_bench(struct bench *b)
{
	log_set_level(LOG_ERROR);
	*b = (struct bench){ .clock = fake_clock_new(), .metrics = metrics_new() };
	for (int kind = 0; kind < VIEW_KINDS; kind++)
		open_cache(b, (enum view_kind)kind);
	b->nodes = nodes_new(&(struct nodes_deps){
		.client = b->client,
		.clock = fake_clock_as_clock(b->clock),
		.metrics = b->metrics,
		.stores = b->stores,
		.informers = b->informers,
		.agents = true,
		.gone_ms = GONE_MS,
		.leads = leads,
		.on_reach = on_reach,
		.arg = b,
	});
	for (int kind = 0; kind < VIEW_KINDS; kind++) {
		if (is_used((enum view_kind)kind))
			informer_start(b->caches[kind].informer);
	}
	settle(b);
}

static void close_bench(struct bench *b)
{
	nodes_free(b->nodes);
	for (int kind = 0; kind < VIEW_KINDS; kind++)
		informer_free(b->caches[kind].informer);
	assert_int_equal(fake_client_open(b->client), 0);
	kube_client_free(b->client);
	for (int kind = VIEW_KINDS - 1; kind >= 0; kind--)
		fake_server_free(b->caches[kind].server);
	str_done(&b->reach);
	metrics_free(b->metrics);
	fake_clock_free(b->clock);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static void put(struct bench *b, enum view_kind kind, const char *name, const char *text)
{
	fake_server_write(b->caches[kind].server, name, text);
}

static void put_status(struct bench *b, enum view_kind kind, const char *name, const char *text)
{
	if (!fake_server_get(b->caches[kind].server, name))
		put(b, kind, name, "{}");
	fake_server_write_status(b->caches[kind].server, name, text);
	show(b);
}

static void put_node(struct bench *b, const char *name, const char *ready)
{
	auto_free char *status = xasprintf(CONDITION("%s"), ready);

	put_status(b, VIEW_NODE, name, status);
}

/* A pod of the agent on the node "n". */
static void put_agent(struct bench *b, const char *name, const char *ready)
{
	auto_free char *status = xasprintf(CONDITION("%s"), ready);

	put(b, VIEW_AGENT, name, "{'spec':{'nodeName':'n'}}");
	put_status(b, VIEW_AGENT, name, status);
}

static void delete (struct bench *b, enum view_kind kind, const char *name)
{
	fake_server_delete(b->caches[kind].server, name);
	show(b);
}

static const json_t *get(const struct bench *b, enum view_kind kind, const char *name)
{
	return fake_server_get(b->caches[kind].server, name);
}

/* These requests have been made since the last call. */
static void assert_log(struct bench *b, const char *wanted)
{
	assert_string_equal(fake_server_log(b->caches[0].server), wanted);
}

static void assert_quiet(struct bench *b, uint64_t ms)
{
	run(b, ms);
	assert_log(b, "");
}

static void assert_reach(struct bench *b, const char *wanted)
{
	assert_string_equal(str_cstr(&b->reach), wanted);
}

/* What the claim "n-1" says of its node. */
static void assert_says(const struct bench *b, const char *reason)
{
	const json_t *status = json_object_get(get(b, VIEW_PCICLAIM, "n-1"), "status");
	const json_t *condition = json_array_get(json_object_get(status, "conditions"), 0);

	assert_string_equal(json_string_value(json_object_get(condition, "type")), "NodeReachable");
	assert_string_equal(json_string_value(json_object_get(condition, "reason")), reason);
}

/* A bench with a node that is well and has a device that is claimed. */
static void open_well(struct bench *b)
{
	put_node(b, "n", "True");
	put_agent(b, "a", "True");
	put_status(b, VIEW_PCIDEVICE, "n-1", DEVICE);
	put(b, VIEW_PCICLAIM, "n-1", CLAIM);
	settle(b);
	nodes_enqueue_all(b->nodes);
	assert_quiet(b, SETTLE_MS);
	assert_reach(b, "n+ ");
	str_clear(&b->reach);
}

static void assert_shows(const struct bench *b, const char *line)
{
	auto_str struct str text = STR_INIT;

	metrics_write(b->metrics, &text);
	if (!strstr(str_cstr(&text), line))
		fail_msg("no %s in %s", line, str_cstr(&text));
}

static void a_node_whose_agent_does_not_run_is_counted(void **state)
{
	struct bench *b = *state;

	assert_shows(b, "hostdev_cluster_nodes{reach=\"AgentNotRunning\"} 0\n");
	put_node(b, "n", "True");
	put_agent(b, "a", "False");
	assert_shows(b, "hostdev_cluster_nodes{reach=\"AgentNotRunning\"} 1\n");
	put_agent(b, "a", "True");
	assert_shows(b, "hostdev_cluster_nodes{reach=\"Reachable\"} 1\n");
	assert_shows(b, "hostdev_cluster_nodes{reach=\"AgentNotRunning\"} 0\n");
	delete (b, VIEW_AGENT, "a");
	assert_shows(b, "hostdev_cluster_nodes{reach=\"Reachable\"} 0\n");
	assert_shows(b, "hostdev_cluster_nodes{reach=\"AgentNotRunning\"} 0\n");
	put_status(b, VIEW_PCIDEVICE, "n-1", DEVICE);
	assert_shows(b, "hostdev_cluster_nodes{reach=\"AgentNotRunning\"} 1\n");
	assert_quiet(b, 1000);
}

static void a_well_node_is_no_work(void **state)
{
	struct bench *b = *state;

	open_well(b);
	put(b, VIEW_PCICLAIM, "n-1", "{'metadata':{'labels':{'a':'b'}}}");
	assert_quiet(b, LONG_MS);
}

static void a_claim_of_an_unready_node_says_so_and_later_that_it_is_well(void **state)
{
	struct bench *b = *state;

	open_well(b);
	put_node(b, "n", "Unknown");
	assert_quiet(b, NODE_INDEX_HOLD_MS - 1);
	assert_reach(b, "");
	run(b, 1);
	assert_reach(b, "n- ");
	assert_log(b, SAYS);
	assert_says(b, "NodeNotReady");
	assert_quiet(b, LONG_MS);

	put_node(b, "n", "True");
	run(b, SETTLE_MS);
	assert_reach(b, "n- n+ ");
	assert_log(b, SAYS);
	assert_says(b, "Reachable");
	assert_quiet(b, LONG_MS);
}

/* The agent writes the claim between the read and the patch. */
static void a_claim_that_changes_meanwhile_is_read_again(void **state)
{
	struct bench *b = *state;

	open_well(b);
	put_node(b, "n", "Unknown");
	fake_clock_advance(b->clock, NODE_INDEX_HOLD_MS);
	assert_true(fake_server_serve(b->caches[0].server, FAULT_NONE));
	put_status(b, VIEW_PCICLAIM, "n-1", "{'passthroughEnabled':true}");
	run(b, 10000);
	assert_log(b, SAYS SAYS);
	assert_says(b, "NodeNotReady");
}

static void a_claim_without_room_is_left_alone(void **state)
{
	auto_str struct str text = STR_INIT;
	struct bench *b = *state;

	open_well(b);
	str_add(&text, "{'conditions':[");
	for (int i = 0; i < 16; i++)
		str_addf(&text, "%s{'type':'t%d','status':'True'}", i > 0 ? "," : "", i);
	str_add(&text, "]}");
	put_status(b, VIEW_PCICLAIM, "n-1", str_cstr(&text));
	put_node(b, "n", "Unknown");
	run(b, NODE_INDEX_HOLD_MS);
	assert_log(b, "GET pcideviceclaims/n-1|");
	assert_quiet(b, LONG_MS);
}

static void a_restart_of_the_agent_is_not_told(void **state)
{
	struct bench *b = *state;

	open_well(b);
	delete (b, VIEW_AGENT, "a");
	assert_quiet(b, NODE_INDEX_HOLD_MS / 2);
	put_agent(b, "b", "True");
	assert_quiet(b, GONE_MS);
	assert_reach(b, "n+ ");
}

static void a_well_node_is_heard_of_while_another_is_held(void **state)
{
	struct bench *b = *state;

	open_well(b);
	put_node(b, "m", "Unknown");
	assert_quiet(b, SETTLE_MS);
	put_node(b, "n", "False");
	put_node(b, "n", "True");
	assert_quiet(b, SETTLE_MS);
	assert_reach(b, "n+ ");
	assert_quiet(b, NODE_INDEX_HOLD_MS);
	assert_reach(b, "n+ m- ");
}

/* From the claim's first word until just before the node has been missing for long enough. */
static void open_gone(struct bench *b)
{
	open_well(b);
	delete (b, VIEW_AGENT, "a");
	delete (b, VIEW_NODE, "n");
	run(b, NODE_INDEX_HOLD_MS);
	assert_log(b, SAYS);
	assert_says(b, "NodeGone");
	assert_quiet(b, GONE_MS - NODE_INDEX_HOLD_MS - 1);
}

static void what_a_gone_node_has_left_is_removed(void **state)
{
	struct bench *b = *state;

	open_gone(b);
	put_status(b, VIEW_PCIDEVICE, "m-1", "{'nodeName':'m'}");
	put(b, VIEW_PCICLAIM, "n-2", "{'spec':{'nodeName':'n'}}"); /* no agent has seen it */
	put_status(
		b, VIEW_PCICLAIM, "n-2",
		"{'conditions':[{'type':'NodeReachable','status':'False','reason':'NodeGone'}]}");
	run(b, 1);
	assert_log(b, "GET nodes/n|DELETE pcideviceclaims/n-1|DELETE pcidevices/n-1|"
		      "PATCH pcideviceclaims/n-1|");
	assert_null(get(b, VIEW_PCIDEVICE, "n-1"));
	assert_non_null(get(b, VIEW_PCIDEVICE, "m-1"));
	assert_non_null(get(b, VIEW_PCICLAIM, "n-2"));
	assert_quiet(b, 1000);
	put(b, VIEW_PCICLAIM, "n-1", "{'metadata':{'finalizers':[]}}"); /* "x/y" was left */
	assert_quiet(b, 1000);
	assert_null(get(b, VIEW_PCICLAIM, "n-1"));
	assert_reach(b, "n- ");
	delete (b, VIEW_PCICLAIM, "n-2");
	assert_quiet(b, 1000);
	assert_reach(b, "n- n+ ");
}

/* A claim that a user deletes when its node has been gone for long loses our finalizer. */
static void a_claim_that_is_deleted_later_is_let_go(void **state)
{
	struct bench *b = *state;

	open_gone(b);
	run(b, 1);
	put(b, VIEW_PCICLAIM, "n-2", CLAIM);
	put_status(
		b, VIEW_PCICLAIM, "n-2",
		"{'conditions':[{'type':'NodeReachable','status':'False','reason':'NodeGone'}]}");
	run(b, 1000);
	(void)fake_server_log(b->caches[0].server);
	delete (b, VIEW_PCICLAIM, "n-2");
	run(b, 1000);
	assert_log(b, "GET pcideviceclaims/n-2|PATCH pcideviceclaims/n-2|");
}

/* A USB claim that no agent has written to yet says nothing of its node, and others delete, too. */
static void a_claim_whose_device_went_first_is_let_go(void **state)
{
	struct bench *b = *state;

	put_status(b, VIEW_USBDEVICE, "n-u", DEVICE);
	put(b, VIEW_USBCLAIM, "n-u", "{'metadata':{'finalizers':['" OURS_USB "']}}");
	settle(b);
	nodes_enqueue_all(b->nodes);
	run(b, GONE_MS - 1);
	assert_log(b, "GET usbdeviceclaims/n-u|PATCH usbdeviceclaims/n-u/status|");
	fake_clock_advance(b->clock, 1);
	assert_true(fake_server_serve(b->caches[0].server, FAULT_NONE));
	fake_clock_settle(b->clock);
	assert_true(fake_server_serve(b->caches[0].server, FAULT_CONFLICT));
	assert_log(b, "GET nodes/n|DELETE usbdeviceclaims/n-u|");
	run(b, 1000);
	assert_log(b, "DELETE usbdevices/n-u|");
	assert_null(get(b, VIEW_USBDEVICE, "n-u"));
	run(b, 10000);
	assert_log(b, "DELETE usbdeviceclaims/n-u|PATCH usbdeviceclaims/n-u|");
	assert_null(get(b, VIEW_USBCLAIM, "n-u"));
	assert_quiet(b, LONG_MS);
}

/* The watch does not show it. */
static void a_node_that_the_server_knows_is_not_gone(void **state)
{
	struct bench *b = *state;

	open_gone(b);
	fake_server_hide(b->caches[VIEW_NODE].server, "n");
	put(b, VIEW_NODE, "n", "{}");
	run(b, 1);
	assert_log(b, "GET nodes/n|");
	assert_quiet(b, 59999);
	run(b, 1);
	assert_log(b, "GET nodes/n|");
	assert_quiet(b, 59999);
	delete (b, VIEW_NODE, "n");
	fake_clock_advance(b->clock, 1);
	assert_true(fake_server_serve(b->caches[0].server, FAULT_TROUBLE));
	assert_log(b, "GET nodes/n|");
	fake_server_hide(b->caches[VIEW_NODE].server, "");
	put_node(b, "n", "True");
	put_agent(b, "a", "True");
	run(b, LONG_MS);
	assert_log(b, SAYS);
	assert_says(b, "Reachable");
}

/* A 404 that names nothing is about the path. */
static void an_answer_that_does_not_name_the_node_removes_nothing(void **state)
{
	struct bench *b = *state;

	open_gone(b);
	fake_clock_advance(b->clock, 1);
	assert_true(fake_server_serve(b->caches[0].server, FAULT_NOT_SERVED));
	assert_log(b, "GET nodes/n|");
	assert_non_null(get(b, VIEW_PCIDEVICE, "n-1"));
	run(b, 1000);
	assert_null(get(b, VIEW_PCIDEVICE, "n-1"));
}

static void a_node_that_comes_back_stops_it(void **state)
{
	struct bench *b = *state;

	open_gone(b);
	fake_clock_advance(b->clock, 1);
	put_node(b, "n", "True");
	put_agent(b, "a", "True");
	fake_client_choose(b->client, "/nodes/n");
	fake_client_answer(b->client, 404, "{\"details\":{\"name\":\"n\"}}");
	run(b, LONG_MS);
	assert_log(b, SAYS);
	assert_says(b, "Reachable");
	assert_non_null(get(b, VIEW_PCIDEVICE, "n-1"));
}

static size_t finalizers(const struct bench *b, const char *claim)
{
	const json_t *meta = json_object_get(get(b, VIEW_PCICLAIM, claim), "metadata");

	return json_array_size(json_object_get(meta, "finalizers"));
}

/* A node that is missing again is missing since then. */
static void a_node_that_goes_again_is_waited_for_again(void **state)
{
	struct bench *b = *state;

	open_gone(b);
	run(b, 1);
	put_node(b, "n", "True");
	put_status(b, VIEW_PCIDEVICE, "n-1", DEVICE);
	put(b, VIEW_PCICLAIM, "n-2", CLAIM);
	run(b, 1000);
	delete (b, VIEW_NODE, "n");
	delete (b, VIEW_PCICLAIM, "n-2");
	run(b, GONE_MS - 1000);
	assert_non_null(get(b, VIEW_PCIDEVICE, "n-1"));
	assert_int_equal(finalizers(b, "n-2"), 2);
	run(b, 2000);
	assert_null(get(b, VIEW_PCIDEVICE, "n-1"));
	assert_int_equal(finalizers(b, "n-2"), 1);
}

/* Nothing is known any more of a node that nothing is left of. */
static void a_node_that_nothing_is_left_of_is_forgotten(void **state)
{
	struct bench *b = *state;

	put_status(b, VIEW_PCIDEVICE, "n-1", DEVICE);
	settle(b);
	nodes_enqueue_all(b->nodes);
	run(b, GONE_MS + 61000);
	assert_null(get(b, VIEW_PCIDEVICE, "n-1"));
	put(b, VIEW_PCICLAIM, "n-2", CLAIM);
	delete (b, VIEW_PCICLAIM, "n-2");
	run(b, GONE_MS - 1000);
	assert_int_equal(finalizers(b, "n-2"), 2);
	run(b, 2000);
	assert_int_equal(finalizers(b, "n-2"), 1);
}

/* Its node was never there. */
static void an_object_that_comes_later_is_removed_in_time(void **state)
{
	struct bench *b = *state;

	nodes_enqueue_all(b->nodes);
	run(b, 1000);
	put_status(b, VIEW_PCIDEVICE, "n-1", DEVICE);
	assert_quiet(b, GONE_MS - 1000);
	run(b, 2000);
	assert_log(b, "GET nodes/n|DELETE pcidevices/n-1|");
}

static void an_object_that_changes_meanwhile_is_removed_as_it_is(void **state)
{
	struct bench *b = *state;

	put_status(b, VIEW_PCIDEVICE, "n-1", DEVICE);
	settle(b);
	nodes_enqueue_all(b->nodes);
	run(b, GONE_MS - 1);
	fake_clock_advance(b->clock, 1);
	assert_true(fake_server_serve(b->caches[0].server, FAULT_NONE));
	fake_clock_settle(b->clock);
	put(b, VIEW_PCIDEVICE, "n-1", "{'metadata':{'labels':{'a':'b'}}}");
	assert_true(fake_server_serve(b->caches[0].server, FAULT_NONE));
	assert_log(b, "GET nodes/n|DELETE pcidevices/n-1|");
	assert_non_null(get(b, VIEW_PCIDEVICE, "n-1"));
	fake_clock_advance(b->clock, 100); /* the watch is slow */
	run(b, 500);
	assert_log(b, "DELETE pcidevices/n-1|");
	assert_null(get(b, VIEW_PCIDEVICE, "n-1"));
}

static void who_does_not_lead_removes_nothing(void **state)
{
	struct bench *b = *state;

	open_well(b);
	b->follows = true;
	delete (b, VIEW_NODE, "n");
	assert_quiet(b, LONG_MS);
	b->follows = false;
	nodes_enqueue_all(b->nodes);
	fake_clock_settle(b->clock);
	assert_true(fake_server_serve(b->caches[0].server, FAULT_NONE));
	fake_clock_settle(b->clock);
	assert_log(b, "GET nodes/n|");
	b->follows = true;
	run(b, LONG_MS); /* what was under way */
	assert_log(b, "DELETE pcideviceclaims/n-1|DELETE pcidevices/n-1|");
}

static void what_comes_to_be_again_is_removed_a_minute_later(void **state)
{
	struct bench *b = *state;

	put_status(b, VIEW_PCIDEVICE, "n-1", DEVICE);
	settle(b);
	nodes_enqueue_all(b->nodes);
	run(b, GONE_MS);
	assert_log(b, "GET nodes/n|DELETE pcidevices/n-1|");
	put_status(b, VIEW_PCIDEVICE, "n-1", DEVICE);
	assert_quiet(b, 59000);
	run(b, GONE_MS);
	assert_log(b, "GET nodes/n|DELETE pcidevices/n-1|");
	assert_quiet(b, LONG_MS);
}

static void what_is_under_way_ends_with_the_nodes(void **state)
{
	struct bench *b = *state;

	open_gone(b);
	fake_clock_advance(b->clock, 1);
	assert_true(fake_server_serve(b->caches[0].server, FAULT_NONE));
	fake_clock_settle(b->clock);
	assert_true(fake_client_open(b->client) > VIEW_AGENT + 2); /* two objects are deleted */
}

/* --- random lives ----------------------------------------------------------------------------- */

static void *life_open(struct random_world *world)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	open_bench(b);
	*world = (struct random_world){ .server = b->caches[0].server, .clock = b->clock };
	return b;
}

static void life_close(void *arg)
{
	close_bench(arg);
	free(arg);
}

/* As put_status(), but the watch shows it later. */
static void write_status(struct bench *b, enum view_kind kind, const char *name, const char *status)
{
	if (!fake_server_get(b->caches[kind].server, name))
		put(b, kind, name, "{}");
	fake_server_write_status(b->caches[kind].server, name, status);
}

static void something(void *arg, uint64_t *seed)
{
	static const char *const conditions[] = { CONDITION("True"), CONDITION("False"),
						  CONDITION("Unknown") };
	struct bench *b = arg;

	switch (suite_random(seed) % 8) {
	case 0:
		b->follows = suite_random(seed) % 3 == 0;
		return;
	case 1:
		fake_server_delete(b->caches[VIEW_NODE].server, "n");
		return;
	case 2:
		fake_server_delete(b->caches[VIEW_PCICLAIM].server, "n-1");
		return;
	case 3:
		put(b, VIEW_PCICLAIM, "n-1", CLAIM);
		return;
	case 4:
		write_status(b, VIEW_PCIDEVICE, "n-1", DEVICE);
		return;
	case 5:
		fake_clock_advance(b->clock, GONE_MS / 4);
		return;
	default:
		write_status(b, VIEW_NODE, "n",
			     conditions[suite_random(seed) % ARRAY_LEN(conditions)]);
		return;
	}
}

/* The node is gone for good. */
static void end_well(void *arg)
{
	struct bench *b = arg;

	b->follows = false;
	fake_server_delete(b->caches[VIEW_NODE].server, "n");
	nodes_enqueue_all(b->nodes);
}

/* Its device is gone, and of a claim only what others keep. */
static void assert_end(void *arg)
{
	const struct bench *b = arg;
	const json_t *claim = get(b, VIEW_PCICLAIM, "n-1");
	auto_free char *text = claim ? json_dumps(claim, 0) : NULL;

	assert_null(get(b, VIEW_PCIDEVICE, "n-1"));
	if (text && strstr(text, "deletionTimestamp"))
		assert_null(strstr(text, OURS));
}

static const struct random_kind lives = {
	.name = "Nodes",
	.open = life_open,
	.close = life_close,
	.something = something,
	.end_well = end_well,
	.assert_end = assert_end,
};

int main(void)
{
	struct suite suite = { 0 };

	random_lives(&suite, &lives, 30);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a node whose agent does not run is counted",
		  a_node_whose_agent_does_not_run_is_counted, NULL);
	suite_add(&suite, "a node that is well is no work", a_well_node_is_no_work, NULL);
	suite_add(&suite, "a claim says that its node is not Ready, and later that it is",
		  a_claim_of_an_unready_node_says_so_and_later_that_it_is_well, NULL);
	suite_add(&suite, "a claim that changes meanwhile is read again",
		  a_claim_that_changes_meanwhile_is_read_again, NULL);
	suite_add(&suite, "a claim without room for a condition is left alone",
		  a_claim_without_room_is_left_alone, NULL);
	suite_add(&suite, "a restart of the agent is not told", a_restart_of_the_agent_is_not_told,
		  NULL);
	suite_add(&suite, "a well node is heard of while another is held",
		  a_well_node_is_heard_of_while_another_is_held, NULL);
	suite_add(&suite, "what a gone node has left is removed",
		  what_a_gone_node_has_left_is_removed, NULL);
	suite_add(&suite, "a claim that is deleted later is let go",
		  a_claim_that_is_deleted_later_is_let_go, NULL);
	suite_add(&suite, "a claim whose device went first is let go",
		  a_claim_whose_device_went_first_is_let_go, NULL);
	suite_add(&suite, "a node that the server knows is not gone",
		  a_node_that_the_server_knows_is_not_gone, NULL);
	suite_add(&suite, "an answer that does not name the node removes nothing",
		  an_answer_that_does_not_name_the_node_removes_nothing, NULL);
	suite_add(&suite, "a node that goes again is waited for again",
		  a_node_that_goes_again_is_waited_for_again, NULL);
	suite_add(&suite, "a node that nothing is left of is forgotten",
		  a_node_that_nothing_is_left_of_is_forgotten, NULL);
	suite_add(&suite, "an object that comes later is removed in time",
		  an_object_that_comes_later_is_removed_in_time, NULL);
	suite_add(&suite, "an object that changes meanwhile is removed as it is",
		  an_object_that_changes_meanwhile_is_removed_as_it_is, NULL);
	suite_add(&suite, "a node that comes back stops it", a_node_that_comes_back_stops_it, NULL);
	suite_add(&suite, "who does not lead removes nothing", who_does_not_lead_removes_nothing,
		  NULL);
	suite_add(&suite, "what comes to be again is removed a minute later",
		  what_comes_to_be_again_is_removed_a_minute_later, NULL);
	suite_add(&suite, "what is under way ends with the nodes",
		  what_is_under_way_ends_with_the_nodes, NULL);
	return suite_run(&suite, "nodes");
}
