#include "controller/nodes/nodes.h"

#include <string.h>

#include "base/str.h"
#include "controller/nodes/node_book.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/metrics.h"
#include "unit/suite.h"
#include "unit/views/stage.h"

enum { GONE_MS = 5 * 60 * 1000, LONG_MS = 3 * GONE_MS, SETTLE_MS = 250 };

#define CONDITION(status) \
	"\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"" status "\"}]}"
#define DEVICE   "\"status\":{\"nodeName\":\"n\",\"resourceName\":\"a.b/c\"}"
#define CLAIM    "\"spec\":{\"nodeName\":\"n\"}"
#define MARKED   "\"finalizers\":[\"x/y\",\"wrangler.cattle.io/PCIDeviceClaimOnRemove\"]"
#define DELETING ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\""
#define TOLD                                                                                   \
	CLAIM ",\"status\":{\"conditions\":[{\"type\":\"NodeReachable\",\"status\":\"False\"," \
	      "\"reason\":\"NodeGone\"}]}"
#define CLAIM_TEXT(meta)                                                                   \
	"{\"metadata\":{\"name\":\"n-1\",\"uid\":\"u-n-1\",\"resourceVersion\":\"9\"" meta \
	"},\"spec\":{\"nodeName\":\"n\"}}"

struct bench {
	struct stage stage;
	struct kube_client *client;
	struct fake_clock *clock;
	struct metrics *metrics;
	struct nodes *nodes;
	bool leads;
	struct str reach; /* "n- n+" as on_reach was told */
};

static bool leads(void *arg)
{
	const struct bench *b = arg;

	return b->leads;
}

static void on_reach(void *arg, const char *node, bool reachable)
{
	struct bench *b = arg;

	str_addf(&b->reach, "%s%c ", node, reachable ? '+' : '-');
}

static void hear(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		 const struct entry *after)
{
	struct bench *b = arg;

	nodes_hear(b->nodes, kind, name, before, after);
	if (kind < VIEW_OWNED && after && before)
		assert_string_equal(before->name, after->name);
}

static void open_bench(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(),
			     .clock = fake_clock_new(),
			     .metrics = metrics_new(),
			     .leads = true };
	stage_open(&b->stage);
	b->stage.hear = hear;
	b->stage.arg = b;
	b->nodes = nodes_new(&(struct nodes_deps){
		.client = b->client,
		.clock = fake_clock_as_clock(b->clock),
		.metrics = b->metrics,
		.stores = b->stage.seen,
		.agents = true,
		.gone_ms = GONE_MS,
		.leads = leads,
		.on_reach = on_reach,
		.arg = b,
	});
}

static void close_bench(struct bench *b)
{
	nodes_free(b->nodes);
	assert_int_equal(fake_client_open(b->client), 0);
	stage_close(&b->stage);
	str_done(&b->reach);
	metrics_free(b->metrics);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

/* Nothing is under way any more. */
static void assert_idle(const struct bench *b)
{
	assert_int_equal(fake_client_open(b->client), 0);
}

/* The oldest request is this one; it is answered so. */
static void serve(struct bench *b, const char *method, const char *part, int status,
		  const char *body)
{
	const struct fake_request *request = fake_client_request(b->client);

	assert_string_equal(request->method, method);
	if (!strstr(request->path, part) && !strstr(request->body, part))
		fail_msg("no '%s' in %s %s", part, request->path, request->body);
	fake_client_answer(b->client, status, body);
	fake_clock_settle(b->clock);
}

/* The oldest request is made on exactly this state. */
static void assert_made_on(struct bench *b, const char *state)
{
	const struct fake_request *request = fake_client_request(b->client);

	if (!strstr(request->body, state))
		fail_msg("no '%s' in %s %s", state, request->path, request->body);
}

static void assert_quiet(struct bench *b, uint64_t ms)
{
	fake_clock_advance(b->clock, ms);
	assert_int_equal(fake_client_open(b->client), 0);
}

/* A bench with a node that is well and has a device that is claimed. */
static void open_well(struct bench *b)
{
	stage_put(&b->stage, VIEW_NODE, "n", CONDITION("True"));
	stage_put(&b->stage, VIEW_AGENT, "a", CONDITION("True") ",\"spec\":{\"nodeName\":\"n\"}");
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-1", DEVICE);
	stage_put_meta(&b->stage, VIEW_PCICLAIM, "n-1", MARKED, CLAIM);
	nodes_look(b->nodes);
	assert_quiet(b, SETTLE_MS);
	assert_string_equal(str_cstr(&b->reach), "n+ ");
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
	stage_put(&b->stage, VIEW_NODE, "n", CONDITION("True"));
	stage_put(&b->stage, VIEW_AGENT, "a", CONDITION("False") ",\"spec\":{\"nodeName\":\"n\"}");
	assert_shows(b, "hostdev_cluster_nodes{reach=\"AgentNotRunning\"} 1\n");
	stage_put(&b->stage, VIEW_AGENT, "a", CONDITION("True") ",\"spec\":{\"nodeName\":\"n\"}");
	assert_shows(b, "hostdev_cluster_nodes{reach=\"Reachable\"} 1\n");
	assert_shows(b, "hostdev_cluster_nodes{reach=\"AgentNotRunning\"} 0\n");
	stage_remove(&b->stage, VIEW_AGENT, "a");
	assert_shows(b, "hostdev_cluster_nodes{reach=\"Reachable\"} 0\n");
	assert_shows(b, "hostdev_cluster_nodes{reach=\"AgentNotRunning\"} 0\n");
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-1", DEVICE);
	assert_shows(b, "hostdev_cluster_nodes{reach=\"AgentNotRunning\"} 1\n");
	assert_idle(b);
}

static void a_well_node_is_no_work(void **state)
{
	struct bench *b = *state;

	open_well(b);
	stage_put_meta(&b->stage, VIEW_PCICLAIM, "n-1", MARKED, CLAIM);
	assert_quiet(b, LONG_MS);
	assert_idle(b);
}

static void a_claim_of_an_unready_node_says_so_and_later_that_it_is_well(void **state)
{
	struct bench *b = *state;

	open_well(b);
	stage_put(&b->stage, VIEW_NODE, "n", CONDITION("Unknown"));
	assert_quiet(b, NODE_BOOK_HOLD_MS - 1);
	assert_string_equal(str_cstr(&b->reach), "");
	fake_clock_advance(b->clock, 1);
	assert_string_equal(str_cstr(&b->reach), "n- ");
	serve(b, "GET", "/pcideviceclaims/n-1", 200, CLAIM_TEXT(""));
	serve(b, "PATCH", "\"NodeNotReady\"", 200, "{}");
	stage_put_meta(&b->stage, VIEW_PCICLAIM, "n-1", MARKED,
		       CLAIM ",\"status\":{\"conditions\":[{\"type\":\"NodeReachable\",\"status\":"
			     "\"False\",\"reason\":\"NodeNotReady\"}]}");
	assert_quiet(b, LONG_MS);

	stage_put(&b->stage, VIEW_NODE, "n", CONDITION("True"));
	fake_clock_advance(b->clock, SETTLE_MS);
	assert_string_equal(str_cstr(&b->reach), "n- n+ ");
	serve(b, "GET", "/pcideviceclaims/n-1", 200,
	      "{\"metadata\":{\"name\":\"n-1\",\"uid\":\"u\",\"resourceVersion\":\"9\"},\"status\":"
	      "{\"conditions\":[{\"type\":\"NodeReachable\",\"status\":\"False\",\"reason\":"
	      "\"NodeNotReady\"}]}}");
	serve(b, "PATCH", "\"Reachable\"", 200, "{}");
	assert_idle(b);
}

static void a_restart_of_the_agent_is_not_told(void **state)
{
	struct bench *b = *state;

	open_well(b);
	stage_remove(&b->stage, VIEW_AGENT, "a");
	assert_quiet(b, NODE_BOOK_HOLD_MS / 2);
	stage_put(&b->stage, VIEW_AGENT, "b", CONDITION("True") ",\"spec\":{\"nodeName\":\"n\"}");
	assert_quiet(b, GONE_MS);
	assert_string_equal(str_cstr(&b->reach), "n+ ");
	assert_idle(b);
}

static void a_well_node_is_heard_of_while_another_is_held(void **state)
{
	struct bench *b = *state;

	open_well(b);
	stage_put(&b->stage, VIEW_NODE, "m", CONDITION("Unknown"));
	assert_quiet(b, SETTLE_MS);
	stage_put(&b->stage, VIEW_NODE, "n", CONDITION("True"));
	assert_quiet(b, SETTLE_MS);
	assert_string_equal(str_cstr(&b->reach), "n+ ");
	assert_quiet(b, NODE_BOOK_HOLD_MS);
	assert_string_equal(str_cstr(&b->reach), "n+ m- ");
	assert_idle(b);
}

/* From the claim's first word to what is left: the node has been missing for long enough. */
static void open_gone(struct bench *b)
{
	open_well(b);
	stage_remove(&b->stage, VIEW_AGENT, "a");
	stage_remove(&b->stage, VIEW_NODE, "n");
	fake_clock_advance(b->clock, NODE_BOOK_HOLD_MS);
	serve(b, "GET", "/pcideviceclaims/n-1", 200, CLAIM_TEXT(""));
	serve(b, "PATCH", "\"NodeGone\"", 200, "{}");
	stage_put_meta(&b->stage, VIEW_PCICLAIM, "n-1", MARKED, TOLD);
	assert_quiet(b, GONE_MS - NODE_BOOK_HOLD_MS - 1);
	fake_clock_advance(b->clock, 1);
}

static void what_a_gone_node_has_left_is_removed(void **state)
{
	struct bench *b = *state;

	open_gone(b);
	stage_put(&b->stage, VIEW_PCIDEVICE, "m-1", "\"status\":{\"nodeName\":\"m\"}");
	serve(b, "GET", "/api/v1/nodes/n", 404, "{}");
	/* As they were put: the device with open_well(), the claim anew with open_gone(). */
	assert_made_on(b, "\"preconditions\":{\"uid\":\"u-n-1\",\"resourceVersion\":\"5\"}");
	serve(b, "DELETE", "/pcideviceclaims/n-1", 200, "{}");
	assert_made_on(b, "\"preconditions\":{\"uid\":\"u-n-1\",\"resourceVersion\":\"3\"}");
	serve(b, "DELETE", "/pcidevices/n-1", 404, "{}");
	assert_quiet(b, 1000);

	stage_put_meta(&b->stage, VIEW_PCICLAIM, "n-1", MARKED DELETING, TOLD);
	fake_clock_settle(b->clock);
	serve(b, "GET", "/pcideviceclaims/n-1", 200, CLAIM_TEXT("," MARKED DELETING));
	assert_made_on(b, "\"uid\":\"u-n-1\",\"resourceVersion\":\"9\"");
	serve(b, "PATCH", "\"finalizers\":[\"x/y\"]", 200, "{}");
	stage_remove(&b->stage, VIEW_PCICLAIM, "n-1");
	stage_remove(&b->stage, VIEW_PCIDEVICE, "n-1");
	assert_quiet(b, 1000);
	assert_string_equal(str_cstr(&b->reach), "n- n+ ");
	stage_remove(&b->stage, VIEW_PCIDEVICE, "m-1");
	assert_idle(b);
}

/* A USB claim that no agent has written to yet says nothing of its node, and others delete, too. */
static void a_claim_whose_device_went_first_is_let_go(void **state)
{
	static const char marked[] =
		"\"finalizers\":[\"wrangler.cattle.io/usbClaimClient-device-claim-remove\"]";
	struct bench *b = *state;

	stage_put(&b->stage, VIEW_USBDEVICE, "n-u", DEVICE);
	stage_put_meta(&b->stage, VIEW_USBCLAIM, "n-u", marked, "");
	nodes_look(b->nodes);
	fake_clock_advance(b->clock, NODE_BOOK_HOLD_MS);
	serve(b, "GET", "/usbdeviceclaims/n-u", 404, "{}"); /* to say that the node is gone */
	fake_clock_advance(b->clock, GONE_MS);
	serve(b, "GET", "/api/v1/nodes/n", 404, "{}");
	serve(b, "DELETE", "/usbdeviceclaims/n-u", 200, "{}");
	serve(b, "DELETE", "/usbdevices/n-u", 200, "{}");
	stage_remove(&b->stage, VIEW_USBDEVICE, "n-u");
	stage_put_meta(
		&b->stage, VIEW_USBCLAIM, "n-u",
		"\"finalizers\":[\"wrangler.cattle.io/usbClaimClient-device-claim-remove\"]" DELETING,
		"");
	fake_clock_settle(b->clock);
	serve(b, "GET", "/usbdeviceclaims/n-u", 200,
	      "{\"metadata\":{\"name\":\"n-u\",\"uid\":\"u\",\"resourceVersion\":\"9\",\"finalizers\":"
	      "[\"wrangler.cattle.io/usbClaimClient-device-claim-remove\"]" DELETING "}}");
	serve(b, "PATCH", "\"finalizers\":[]", 200, "{}");
	stage_remove(&b->stage, VIEW_USBCLAIM, "n-u");
	assert_quiet(b, LONG_MS);
	assert_idle(b);
}

/* The claim is to say that its node is well again; it went meanwhile. */
static void tell_well(struct bench *b)
{
	fake_clock_advance(b->clock, SETTLE_MS);
	serve(b, "GET", "/pcideviceclaims/n-1", 404, "{}");
}

static void a_node_that_the_server_knows_is_not_gone(void **state)
{
	struct bench *b = *state;

	open_gone(b);
	serve(b, "GET", "/api/v1/nodes/n", 200, "{}");
	assert_quiet(b, 59999);
	fake_clock_advance(b->clock, 1);
	serve(b, "GET", "/api/v1/nodes/n", 500, "{}"); /* nor one of which it says nothing */
	assert_quiet(b, 100);
	stage_put(&b->stage, VIEW_NODE, "n", CONDITION("True"));
	stage_put(&b->stage, VIEW_AGENT, "a", CONDITION("True") ",\"spec\":{\"nodeName\":\"n\"}");
	tell_well(b);
	assert_quiet(b, LONG_MS);
	assert_idle(b);
}

static void a_node_that_comes_back_stops_it(void **state)
{
	struct bench *b = *state;

	open_gone(b);
	fake_client_choose(b->client, "/nodes/n");
	stage_put(&b->stage, VIEW_NODE, "n", CONDITION("True"));
	stage_put(&b->stage, VIEW_AGENT, "a", CONDITION("True") ",\"spec\":{\"nodeName\":\"n\"}");
	serve(b, "GET", "/api/v1/nodes/n", 404, "{}");
	tell_well(b);
	assert_quiet(b, LONG_MS);
	assert_idle(b);
}

static void who_does_not_lead_removes_nothing(void **state)
{
	struct bench *b = *state;

	open_well(b);
	b->leads = false;
	stage_remove(&b->stage, VIEW_NODE, "n");
	assert_quiet(b, LONG_MS);
	b->leads = true;
	nodes_look(b->nodes);
	fake_clock_settle(b->clock);
	serve(b, "GET", "/api/v1/nodes/n", 404, "{}");
	b->leads = false;
	serve(b, "DELETE", "/pcideviceclaims/n-1", 200, "{}"); /* was under way */
	serve(b, "DELETE", "/pcidevices/n-1", 200, "{}");
	stage_put_meta(&b->stage, VIEW_PCICLAIM, "n-1", MARKED DELETING, CLAIM);
	assert_quiet(b, LONG_MS);
	assert_idle(b);
}

static void what_comes_to_be_again_is_removed_a_minute_later(void **state)
{
	struct bench *b = *state;

	stage_put(&b->stage, VIEW_PCIDEVICE, "n-1", DEVICE);
	nodes_look(b->nodes);
	fake_clock_advance(b->clock, GONE_MS);
	serve(b, "GET", "/api/v1/nodes/n", 404, "{}");
	serve(b, "DELETE", "/pcidevices/n-1", 200, "{}");
	stage_remove(&b->stage, VIEW_PCIDEVICE, "n-1");
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-1", DEVICE);
	assert_quiet(b, 59999);
	fake_clock_advance(b->clock, GONE_MS);
	serve(b, "GET", "/api/v1/nodes/n", 404, "{}");
	serve(b, "DELETE", "/pcidevices/n-1", 409, "{}");
	stage_remove(&b->stage, VIEW_PCIDEVICE, "n-1");
	assert_quiet(b, LONG_MS);
	assert_idle(b);
}

static void what_is_under_way_ends_with_the_nodes(void **state)
{
	struct bench *b = *state;

	open_gone(b);
	stage_put_meta(&b->stage, VIEW_PCICLAIM, "n-2", MARKED, CLAIM);
	fake_clock_settle(b->clock);
	fake_client_choose(b->client, "/nodes/n");
	serve(b, "GET", "/api/v1/nodes/n", 404, "{}");
	assert_true(fake_client_open(b->client) >=
		    3); /* a claim is read, two objects are deleted */
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a node whose agent does not run is counted",
		  a_node_whose_agent_does_not_run_is_counted, NULL);
	suite_add(&suite, "a node that is well is no work", a_well_node_is_no_work, NULL);
	suite_add(&suite, "a claim says that its node is not Ready, and later that it is",
		  a_claim_of_an_unready_node_says_so_and_later_that_it_is_well, NULL);
	suite_add(&suite, "a restart of the agent is not told", a_restart_of_the_agent_is_not_told,
		  NULL);
	suite_add(&suite, "a well node is heard of while another is held",
		  a_well_node_is_heard_of_while_another_is_held, NULL);
	suite_add(&suite, "what a gone node has left is removed",
		  what_a_gone_node_has_left_is_removed, NULL);
	suite_add(&suite, "a claim whose device went first is let go",
		  a_claim_whose_device_went_first_is_let_go, NULL);
	suite_add(&suite, "a node that the server knows is not gone",
		  a_node_that_the_server_knows_is_not_gone, NULL);
	suite_add(&suite, "a node that comes back stops it", a_node_that_comes_back_stops_it, NULL);
	suite_add(&suite, "who does not lead removes nothing", who_does_not_lead_removes_nothing,
		  NULL);
	suite_add(&suite, "what comes to be again is removed a minute later",
		  what_comes_to_be_again_is_removed_a_minute_later, NULL);
	suite_add(&suite, "what is under way ends with the nodes",
		  what_is_under_way_ends_with_the_nodes, NULL);
	return suite_run(&suite, "nodes");
}
