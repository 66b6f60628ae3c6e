/* config_nodes: whose items go from the status of the HostDeviceConfig, and when. */
#include "controller/config_nodes.h"

#include <string.h>

#include "base/err.h"
#include "base/json_read.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/views/view.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/store.h"
#include "unit/suite.h"

enum { MINUTE_MS = 60 * 1000 };

struct scene {
	struct kube_client *client;
	struct fake_clock *clock;
	struct config_nodes *nodes;
	struct api_kind kind;
	struct api_kind config_kind;
	struct store *there;   /* nodes, as the views have them */
	struct store *configs; /* the HostDeviceConfig, likewise */
	int version;
	bool follows; /* somebody else leads           */
};

static bool leads(void *arg)
{
	const struct scene *scene = arg;

	return !scene->follows;
}

static void answer(struct scene *scene, const char *part, int status, const char *body)
{
	fake_client_choose(scene->client, part);
	fake_client_answer(scene->client, status, body);
	fake_clock_settle(scene->clock);
}

static void on_change(void *arg, const struct entry *before, const struct entry *after)
{
	(void)arg;
	(void)before;
	(void)after;
}

/* The views have read the HostDeviceConfig with these nodes. */
static void put(struct scene *scene, const char *items)
{
	auto_free char *text = xasprintf("{\"metadata\":{\"name\":\"default\",\"uid\":\"u\","
					 "\"resourceVersion\":\"%d\"},\"status\":{\"nodes\":[%s]}}",
					 ++scene->version, items);
	struct json_text json = { text, strlen(text) };
	struct err err = { 0 };

	store_put(scene->configs, entry_decode(&scene->config_kind, &json, &err), on_change, NULL);
}

static void tell(struct scene *scene, const char *items)
{
	put(scene, items);
	config_nodes_look(scene->nodes);
	fake_clock_settle(scene->clock);
}

#define ITEM(node) "{\"node\":\"" node "\",\"observedGeneration\":1}"
#define GONE(node)                                                                   \
	"{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{\"name\":\"" node \
	"\",\"kind\":\"nodes\"}}"
#define NODE(node) "{\"metadata\":{\"name\":\"" node "\",\"uid\":\"n\"}}"

static void scene_open(struct scene *scene, const char *items)
{
	log_set_level(LOG_ERROR);
	*scene = (struct scene){ .client = fake_client_new(),
				 .clock = fake_clock_new(),
				 .kind = view_kind(VIEW_NODE),
				 .config_kind = view_kind(VIEW_CONFIG) };
	scene->there = store_new(&scene->kind);
	scene->configs = store_new(&scene->config_kind);
	put(scene, items);
	scene->nodes = config_nodes_new(
		&(struct config_nodes_deps){ .client = scene->client,
					     .clock = fake_clock_as_clock(scene->clock),
					     .nodes = scene->there,
					     .configs = scene->configs,
					     .leads = leads,
					     .arg = scene });
	fake_clock_settle(scene->clock);
}

static void scene_close(struct scene *scene)
{
	config_nodes_free(scene->nodes);
	store_free(scene->there);
	store_free(scene->configs);
	assert_int_equal(fake_client_open(scene->client), 0);
	kube_client_free(scene->client);
	fake_clock_free(scene->clock);
}

SUITE_CLOSING(scene, struct scene, scene_close);

/* The views have read that there is node1. */
static void see(struct scene *scene)
{
	static const char text[] = NODE("node1");
	struct json_text json = { text, strlen(text) };
	struct err err = { 0 };

	store_put(scene->there, entry_decode(&scene->kind, &json, &err), on_change, NULL);
}

/* The views have read that it is deleted. */
static void lose(struct scene *scene)
{
	store_remove(scene->there, "node1", NULL, on_change, NULL);
	config_nodes_gone(scene->nodes, "node1");
	fake_clock_settle(scene->clock);
}

/* Requests that wait. */
static size_t waiting(const struct scene *scene)
{
	return fake_client_open(scene->client);
}

static void that_of_a_deleted_node_goes_and_no_other(void **state)
{
	const struct fake_request *request;
	struct scene *scene = *state;

	scene_open(scene, ITEM("node1") "," ITEM("node2"));
	answer(scene, "/nodes/node1", 200, NODE("node1"));
	answer(scene, "/nodes/node2", 404, GONE("node2"));
	fake_client_choose(scene->client, "/default/status?");
	request = fake_client_request(scene->client);
	assert_non_null(strstr(request->path, "fieldManager=hostdev-agent-node2&"));
	assert_non_null(strstr(request->body, "\"status\":{}"));
	answer(scene, "/default/status?", 200, "{}");
	tell(scene, ITEM("node1"));
	answer(scene, "/nodes/node1", 200, NODE("node1"));
	assert_int_equal(waiting(scene), 0);
}

static void a_node_that_is_deleted_later_is_noticed_within_a_minute(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, ITEM("node1"));
	answer(scene, "/nodes/node1", 200, NODE("node1"));
	fake_clock_advance(scene->clock, MINUTE_MS - 1);
	assert_int_equal(waiting(scene), 0);
	fake_clock_advance(scene->clock, 1);
	answer(scene, "/nodes/node1", 404, GONE("node1"));
	answer(scene, "/default/status?", 200, "{}");
	tell(scene, "");
	fake_clock_advance(scene->clock, 2UL * MINUTE_MS);
	assert_int_equal(waiting(scene), 0);
}

static void what_the_views_have_is_not_asked_for(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, "");
	see(scene);
	tell(scene, ITEM("node1"));
	fake_clock_advance(scene->clock, 2UL * MINUTE_MS);
	assert_int_equal(waiting(scene), 0);
	lose(scene);
	answer(scene, "/nodes/node1", 404, GONE("node1"));
	answer(scene, "/default/status?", 200, "{}");
}

static void a_node_that_is_not_listed_is_nobodys_business(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, ITEM("node2"));
	answer(scene, "/nodes/node2", 200, NODE("node2"));
	see(scene);
	lose(scene);
	assert_int_equal(waiting(scene), 0);
}

static void what_comes_back_meanwhile_stays(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, "");
	see(scene);
	tell(scene, ITEM("node1"));
	lose(scene);
	answer(scene, "/nodes/node1", 200, NODE("node1"));
	assert_int_equal(waiting(scene), 0);
	see(scene);
	fake_clock_advance(scene->clock, 2UL * MINUTE_MS);
	assert_int_equal(waiting(scene), 0);
}

static struct doubt {
	const char *name;
	int status;
	const char *body;
} doubts[] = {
	{ "a path that is not served says nothing of the node", 404, "404 page not found" },
	{ "nor does a word of another one", 404, GONE("node2") },
	{ "nor a server that may not be asked", 403, "{\"kind\":\"Status\"}" },
	{ "nor one that is in trouble", 500, "{\"kind\":\"Status\"}" },
};

static void is_left_and_asked_again(void **state)
{
	const struct doubt *row = suite_row(state);
	struct scene *scene = *state;

	scene_open(scene, ITEM("node1"));
	answer(scene, "/nodes/node1", row->status, row->body);
	assert_int_equal(waiting(scene), 0);
	fake_clock_advance(scene->clock, MINUTE_MS);
	fake_client_choose(scene->client, "/nodes/node1");
}

static void who_leads_no_more_removes_nothing(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, ITEM("node1"));
	scene->follows = true;
	answer(scene, "/nodes/node1", 404, GONE("node1"));
	assert_int_equal(waiting(scene), 0);
}

static void a_write_that_failed_is_made_again(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, ITEM("node1"));
	answer(scene, "/nodes/node1", 404, GONE("node1"));
	answer(scene, "/default/status?", 409, "{\"kind\":\"Status\",\"reason\":\"Conflict\"}");
	fake_clock_advance(scene->clock, MINUTE_MS);
	answer(scene, "/nodes/node1", 404, GONE("node1"));
	answer(scene, "/default/status?", 200, "{}");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "that of a deleted node goes, and no other",
		  that_of_a_deleted_node_goes_and_no_other, NULL);
	suite_add(&suite, "a node that is deleted later is noticed within a minute",
		  a_node_that_is_deleted_later_is_noticed_within_a_minute, NULL);
	suite_add(&suite, "what the views have is not asked for",
		  what_the_views_have_is_not_asked_for, NULL);
	suite_add(&suite, "a node that is not listed is nobody's business",
		  a_node_that_is_not_listed_is_nobodys_business, NULL);
	suite_add(&suite, "what comes back meanwhile stays", what_comes_back_meanwhile_stays, NULL);
	suite_rows(&suite, doubts, is_left_and_asked_again);
	suite_add(&suite, "who leads no more removes nothing", who_leads_no_more_removes_nothing,
		  NULL);
	suite_add(&suite, "a write that failed is made again", a_write_that_failed_is_made_again,
		  NULL);
	return suite_run(&suite, "config_nodes");
}
