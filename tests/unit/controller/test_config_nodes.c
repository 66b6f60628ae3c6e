/* config_nodes: whose items go from the status of the HostDeviceConfig, and when. */
#include "controller/config_nodes.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/cache/view.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/informer.h"
#include "unit/kube/random_life.h"
#include "unit/suite.h"

enum { MINUTE_MS = 60 * 1000 };

#define REMOVE "PATCH hostdeviceconfigs/default/status|"

struct scene {
	struct fake_clock *clock;
	struct config_nodes *nodes;
	struct api_kind kind;
	struct api_kind config_kind;
	struct fake_server *there;
	struct fake_server *configs;
	struct informer *node_cache;
	struct informer *config_cache;
	struct kube_client *client;
	bool follows; /* another replica leads */
};

static bool leads(void *arg)
{
	const struct scene *scene = arg;

	return !scene->follows;
}

/* As the controller does it. */
static void on_node(void *arg, const char *name, const struct entry *before,
		    const struct entry *after)
{
	const struct scene *scene = arg;

	(void)before;
	if (!after)
		config_nodes_on_change(scene->nodes, name);
}

static void on_config(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	const struct scene *scene = arg;

	(void)name;
	(void)before;
	(void)after;
	config_nodes_enqueue_all(scene->nodes);
}

static bool show(struct scene *scene)
{
	bool shown = fake_server_show(scene->there, 9);

	return fake_server_show(scene->configs, 9) || shown;
}

/* Everything is served and shown at once. */
static void run(struct scene *scene, uint64_t ms)
{
	for (uint64_t gone = 0;; gone += 500) {
		do {
			fake_clock_settle(scene->clock);
		} while (fake_server_serve(scene->there, FAULT_NONE) || show(scene));
		if (gone >= ms)
			return;
		fake_clock_advance(scene->clock, 500);
	}
}

/* The oldest request, which is about @part, is answered so. */
static void answer(struct scene *scene, const char *part, int status, const char *body)
{
	fake_clock_settle(scene->clock);
	fake_client_choose(scene->client, part);
	fake_client_answer(scene->client, status, body);
	fake_clock_settle(scene->clock);
}

static void assert_log(struct scene *scene, const char *wanted)
{
	assert_string_equal(fake_server_log(scene->there), wanted);
}

#define ITEM(node) "{'node':'" node "','observedGeneration':1}"
#define GONE(node)                                                                   \
	"{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{\"name\":\"" node \
	"\",\"kind\":\"nodes\"}}"

/* The HostDeviceConfig lists these nodes. */
static void list(struct scene *scene, const char *items)
{
	auto_free char *status = xasprintf("{'nodes':[%s]}", items);

	fake_server_write_status(scene->configs, "default", status);
	show(scene);
}

static struct informer *cache(struct scene *scene, const struct api_kind *kind,
			      void (*on_change)(void *arg, const char *name,
						const struct entry *before,
						const struct entry *after))
{
	struct informer *informer = informer_new(
		&(struct informer_deps){ scene->client, fake_clock_as_clock(scene->clock), NULL },
		&(struct informer_spec){
			.kind = kind, .handlers = { .on_change = on_change }, .arg = scene });

	return informer;
}

static void scene_open(struct scene *scene)
{
	log_set_level(LOG_ERROR);
	*scene = (struct scene){ .clock = fake_clock_new(),
				 .kind = view_kind(VIEW_NODE),
				 .config_kind = view_kind(VIEW_CONFIG) };
	scene->there = fake_server_new(&scene->kind);
	scene->configs = fake_server_join(scene->there, &scene->config_kind);
	scene->client = fake_server_client(scene->there);
	scene->node_cache = cache(scene, &scene->kind, on_node);
	scene->config_cache = cache(scene, &scene->config_kind, on_config);
	scene->nodes = config_nodes_new(
		&(struct config_nodes_deps){ .client = scene->client,
					     .clock = fake_clock_as_clock(scene->clock),
					     .nodes = scene->node_cache,
					     .configs = scene->config_cache,
					     .leads = leads,
					     .arg = scene });
	fake_server_write(scene->configs, "default", "{'spec':{}}");
	informer_start(scene->node_cache);
	informer_start(scene->config_cache);
	run(scene, 0);
}

static void scene_close(struct scene *scene)
{
	config_nodes_free(scene->nodes);
	informer_free(scene->node_cache);
	informer_free(scene->config_cache);
	assert_int_equal(fake_client_open(scene->client), 0);
	kube_client_free(scene->client);
	fake_server_free(scene->configs);
	fake_server_free(scene->there);
	fake_clock_free(scene->clock);
}

SUITE_FIXTURE(scene, struct scene, scene_open, scene_close);

/* There is node1, and the cache shows it. */
static void see(struct scene *scene)
{
	fake_server_write(scene->there, "node1", "{}");
	run(scene, 0);
}

static void that_of_a_deleted_node_goes_and_no_other(void **state)
{
	const struct fake_request *request;
	struct scene *scene = *state;

	see(scene);
	list(scene, ITEM("node1") "," ITEM("node2"));
	fake_clock_settle(scene->clock);
	assert_true(fake_server_serve(scene->there, FAULT_NONE));
	fake_client_choose(scene->client, "/default/status?");
	request = fake_client_request(scene->client);
	assert_non_null(strstr(request->path, "fieldManager=hostdev-agent-node2&"));
	assert_non_null(strstr(request->body, "\"status\":{}"));
	assert_true(fake_server_serve(scene->there, FAULT_NONE));
	assert_log(scene, "GET nodes/node2|" REMOVE);
	run(scene, 2UL * MINUTE_MS); /* the watch does not show it */
	assert_log(scene, "");
	list(scene, ITEM("node1"));
	run(scene, 2UL * MINUTE_MS);
	assert_log(scene, "");
}

static void all_that_are_gone_go(void **state)
{
	struct scene *scene = *state;

	list(scene, ITEM("node1") "," ITEM("node2"));
	run(scene, 0);
	assert_log(scene, "GET nodes/node1|" REMOVE "GET nodes/node2|" REMOVE);
}

static void a_node_that_is_deleted_later_is_noticed_within_a_minute(void **state)
{
	struct scene *scene = *state;

	fake_server_hide(scene->there, "node1");
	fake_server_write(scene->there, "node1", "{}");
	list(scene, ITEM("node1"));
	run(scene, MINUTE_MS - 1000);
	assert_log(scene, "GET nodes/node1|");
	fake_server_delete(scene->there, "node1");
	run(scene, 2000);
	assert_log(scene, "GET nodes/node1|" REMOVE);
}

static void what_the_views_have_is_not_asked_for(void **state)
{
	struct scene *scene = *state;

	see(scene);
	list(scene, ITEM("node1"));
	run(scene, 2UL * MINUTE_MS);
	assert_log(scene, "");
	fake_server_delete(scene->there, "node1");
	run(scene, 0);
	assert_log(scene, "GET nodes/node1|" REMOVE);
}

static void a_node_that_is_not_listed_is_nobodys_business(void **state)
{
	struct scene *scene = *state;

	see(scene);
	fake_server_delete(scene->there, "node1");
	run(scene, 2UL * MINUTE_MS);
	assert_log(scene, "");
}

static void what_comes_back_meanwhile_stays(void **state)
{
	struct scene *scene = *state;

	see(scene);
	list(scene, ITEM("node1"));
	fake_server_delete(scene->there, "node1");
	show(scene);
	fake_clock_settle(scene->clock);
	fake_server_write(scene->there, "node1", "{}");
	run(scene, 2UL * MINUTE_MS);
	assert_log(scene, "GET nodes/node1|");
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

	list(scene, ITEM("node1"));
	answer(scene, "/nodes/node1", row->status, row->body);
	assert_false(fake_client_choose_call(scene->client));
	fake_clock_advance(scene->clock, MINUTE_MS);
	fake_client_choose(scene->client, "/nodes/node1");
}

static void who_leads_no_more_removes_nothing(void **state)
{
	struct scene *scene = *state;

	list(scene, ITEM("node1"));
	fake_clock_settle(scene->clock);
	scene->follows = true;
	run(scene, 2UL * MINUTE_MS);
	assert_log(scene, "GET nodes/node1|");
	scene->follows = false;
	config_nodes_enqueue_all(scene->nodes);
	run(scene, 0);
	assert_log(scene, "GET nodes/node1|" REMOVE);
}

static void a_write_that_failed_is_made_again(void **state)
{
	struct scene *scene = *state;

	list(scene, ITEM("node1"));
	fake_clock_settle(scene->clock);
	assert_true(fake_server_serve(scene->there, FAULT_NONE));
	assert_true(fake_server_serve(scene->there, FAULT_CONFLICT));
	assert_log(scene, "GET nodes/node1|" REMOVE);
	run(scene, MINUTE_MS);
	assert_log(scene, "GET nodes/node1|" REMOVE);
}

/* Its agent runs once more, and the node is deleted again. */
static void what_is_listed_again_goes_again(void **state)
{
	struct scene *scene = *state;

	list(scene, ITEM("node1"));
	run(scene, 0);
	list(scene, "");
	run(scene, 0);
	(void)fake_server_log(scene->there);
	list(scene, ITEM("node1"));
	run(scene, 0);
	assert_log(scene, "GET nodes/node1|" REMOVE);
}

static void what_is_under_way_ends_with_it(void **state)
{
	struct scene *scene = *state;

	list(scene, ITEM("node1"));
	fake_clock_settle(scene->clock);
	assert_true(fake_server_serve(scene->there, FAULT_NONE));
	assert_true(fake_client_choose_call(scene->client));
}

/* --- random lives ----------------------------------------------------------------------------- */

enum { LIFE_NODES = 3 };

struct life {
	struct scene scene;
	bool reports[LIFE_NODES]; /* the node's agent has something to report */
};

static void *life_open(struct random_world *ret_world)
{
	struct life *life = xcalloc(1, sizeof(*life));

	scene_open(&life->scene);
	*ret_world =
		(struct random_world){ .server = life->scene.there, .clock = life->scene.clock };
	return life;
}

static void life_close(void *arg)
{
	struct life *life = arg;

	scene_close(&life->scene);
	free(life);
}

/* The agent of the node writes what it has to report. */
static void report_as_agent(struct life *life, size_t i)
{
	auto_free char *manager = xasprintf("hostdev-agent-node%zu", i);
	auto_free char *status =
		life->reports[i] ? xasprintf("{'nodes':[{'node':'node%zu'}]}", i) : xstrdup("{}");

	if (fake_server_get(life->scene.configs, "default"))
		fake_server_apply_status(life->scene.configs, manager, "default", status);
}

static void something(void *arg, uint64_t *seed)
{
	struct life *life = arg;
	struct scene *scene = &life->scene;
	size_t i = suite_random(seed) % LIFE_NODES;
	auto_free char *name = xasprintf("node%zu", i);

	switch (suite_random(seed) % 10) {
	case 0:
		scene->follows = suite_random(seed) % 2;
		config_nodes_enqueue_all(scene->nodes);
		return;
	case 1:
		fake_server_delete(scene->configs, "default");
		return;
	case 2:
	case 3:
		fake_server_write(scene->configs, "default", "{'spec':{}}");
		return;
	case 4:
	case 5:
		fake_server_write(scene->there, name, "{}");
		return;
	case 6:
		fake_server_delete(scene->there, name);
		return;
	default:
		life->reports[i] = suite_random(seed) % 4 != 0;
		report_as_agent(life, i);
		return;
	}
}

/* An agent that runs sees that its item is missing. */
static void end_well(void *arg)
{
	struct life *life = arg;

	life->scene.follows = false;
	config_nodes_enqueue_all(life->scene.nodes);
	for (size_t i = 0; i < LIFE_NODES; i++) {
		auto_free char *name = xasprintf("node%zu", i);

		if (fake_server_get(life->scene.there, name))
			report_as_agent(life, i);
	}
}

static bool is_in_status(const struct life *life, const char *name)
{
	const json_t *config = fake_server_get(life->scene.configs, "default");
	const json_t *items = json_object_get(json_object_get(config, "status"), "nodes");
	const json_t *item;
	size_t i;

	json_array_foreach (items, i, item) {
		if (strcmp(json_string_value(json_object_get(item, "node")), name) == 0)
			return true;
	}
	return false;
}

static void assert_end(void *arg)
{
	const struct life *life = arg;

	for (size_t i = 0; i < LIFE_NODES; i++) {
		auto_free char *name = xasprintf("node%zu", i);
		bool stays = life->reports[i] && fake_server_get(life->scene.there, name) &&
			     fake_server_get(life->scene.configs, "default");

		assert_int_equal(is_in_status(life, name), stays);
	}
}

static const struct random_kind lives = {
	.name = "nodes in the HostDeviceConfig",
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
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "that of a deleted node goes, and no other",
		  that_of_a_deleted_node_goes_and_no_other, NULL);
	suite_add(&suite, "all that are gone go", all_that_are_gone_go, NULL);
	suite_add(&suite, "what is listed again goes again", what_is_listed_again_goes_again, NULL);
	suite_add(&suite, "what is under way ends with it", what_is_under_way_ends_with_it, NULL);
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
