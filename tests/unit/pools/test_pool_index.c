#include "controller/pools/pool_index.h"

#include <stdio.h>
#include <string.h>

#include "api/devicepool.h"
#include "api/json_map.h"
#include "api/names.h"
#include "base/str.h"
#include "unit/suite.h"

struct scene {
	struct pool_index *index;
	size_t told;
};

static void on_changed(void *arg, const char *pool)
{
	struct scene *scene = arg;

	assert_true(strlen(pool) > 0);
	scene->told++;
}

static void open_scene(struct scene *scene)
{
	*scene = (struct scene){ 0 };
	scene->index = pool_index_new(on_changed, scene);
}

/* "n1 a.b/c" and any of "claimed", "ready", "allocated" by their first letters: "n1 a.b/c cr". The
 * texts are the case's own. */
static struct pool_share *share_of(const char *text, char node[64], char resource[64],
				   struct pool_share *share)
{
	char flags[8] = "";

	if (sscanf(text, "%63s %63s %7s", node, resource, flags) < 2)
		return NULL;
	*share = (struct pool_share){ .node = node, .resource = resource };
	share->claimed = strchr(flags, 'c') != NULL;
	share->ready = strchr(flags, 'r') != NULL;
	share->allocated = strchr(flags, 'a') != NULL;
	return share;
}

static void move(struct scene *scene, const char *before, const char *after)
{
	char texts[4][64];
	struct pool_share shares[2];

	pool_index_move(scene->index, share_of(before, texts[0], texts[1], &shares[0]),
			share_of(after, texts[2], texts[3], &shares[1]));
}

/* "5/4/3/2 on 2: n1 3/2/1/0 n2 ..." or "none". */
static void write_pool(const struct scene *scene, const char *resource, struct str *out)
{
	auto_free char *name = names_devicepool(resource);
	struct devicepool_status status;

	str_clear(out);
	if (!pool_index_resource(scene->index, name)) {
		str_add(out, "none");
		return;
	}
	pool_index_status(scene->index, name, &status);
	str_addf(out, "%d/%d/%d/%d on %d:", status.devices, status.claimed, status.healthy,
		 status.allocated, status.nodes);
	for (size_t i = 0; i < status.per_node.len; i++) {
		const struct devicepool_node *node = &status.per_node.items[i];

		str_addf(out, " %s %d/%d/%d/%d", node->node_name, node->devices, node->claimed,
			 node->healthy, node->allocated);
	}
	json_map_done(devicepool_status_map, &status);
}

static struct count_case {
	const char *name;
	const char *moves[8]; /* before, after, before, after ... */
	const char *pool;     /* what a.b/c is then               */
	size_t told;
} counts[] = {
	{ "nothing", { NULL }, "none", 0 },
	{ "a device nobody has claimed", { "", "n a.b/c" }, "1/0/0/0 on 1: n 1/0/0/0", 1 },
	{ "a device that pods can have", { "", "n a.b/c cr" }, "1/1/1/0 on 1: n 1/1/1/0", 1 },
	{ "ready without a claim is nothing", { "", "n a.b/c r" }, "1/0/0/0 on 1: n 1/0/0/0", 1 },
	{ "nodes in the order of their names",
	  { "", "z a.b/c", "", "b a.b/c cra", "", "b a.b/c" },
	  "3/1/1/1 on 2: b 2/1/1/1 z 1/0/0/0",
	  3 },
	{ "a change of the device",
	  { "", "n a.b/c", "n a.b/c", "n a.b/c c" },
	  "1/1/0/0 on 1: n 1/1/0/0",
	  3 },
	{ "a change that changes no count is none",
	  { "", "n a.b/c", "n a.b/c", "n a.b/c" },
	  "1/0/0/0 on 1: n 1/0/0/0",
	  1 },
	{ "it becomes another pool's", { "", "n a.b/c", "n a.b/c", "n x.y/z" }, "none", 3 },
	{ "it comes to another node",
	  { "", "n a.b/c", "n a.b/c", "m a.b/c" },
	  "1/0/0/0 on 1: m 1/0/0/0",
	  3 },
	{ "the last one goes", { "", "n a.b/c ca", "n a.b/c ca", "" }, "none", 2 },
};

static void counts_match(void **state)
{
	const struct count_case *c = *state;
	auto_str struct str out = STR_INIT;
	struct scene scene;

	open_scene(&scene);
	for (size_t i = 0; c->moves[i]; i += 2)
		move(&scene, c->moves[i], c->moves[i + 1]);
	write_pool(&scene, "a.b/c", &out);
	assert_string_equal(str_cstr(&out), c->pool);
	assert_int_equal(scene.told, c->told);
	pool_index_free(scene.index);
}

static void devices_of_a_node_out_of_reach_are_not_healthy(void **state)
{
	auto_str struct str out = STR_INIT;
	struct scene scene;

	open_scene(&scene);
	pool_index_reach(scene.index, "n", false);
	move(&scene, "", "n a.b/c cra");
	move(&scene, "", "m a.b/c cr");
	move(&scene, "", "n x.y/z c");
	write_pool(&scene, "a.b/c", &out);
	assert_string_equal(str_cstr(&out), "2/2/1/1 on 2: m 1/1/1/0 n 1/1/0/1");

	scene.told = 0;
	pool_index_reach(scene.index, "n", true);
	assert_int_equal(scene.told, 1); /* not the pool that has nothing ready there */
	pool_index_reach(scene.index, "n", true);
	assert_int_equal(scene.told, 1);
	write_pool(&scene, "a.b/c", &out);
	assert_string_equal(str_cstr(&out), "2/2/2/1 on 2: m 1/1/1/0 n 1/1/1/1");
	pool_index_free(scene.index);
}

static void of_many_nodes_the_first_are_listed(void **state)
{
	auto_free char *name = names_devicepool("a.b/c");
	struct devicepool_status status;
	uint64_t seed = 7;
	struct scene scene;
	char text[64];

	open_scene(&scene);
	for (int i = 0; i < 1000;
	     i++) { /* in an order of its own: 619 and 1000 have no common divisor */
		(void)snprintf(text, sizeof(text), "n%04d a.b/c%s", i * 619 % 1000,
			       suite_random(&seed) % 2 ? " c" : "");
		move(&scene, "", text);
	}
	pool_index_status(scene.index, name, &status);
	assert_int_equal(status.devices, 1000);
	assert_int_equal(status.nodes, 1000);
	assert_int_equal(status.per_node.len, DEVICEPOOL_NODES_MAX);
	for (int i = 0; i < DEVICEPOOL_NODES_MAX; i++) {
		(void)snprintf(text, sizeof(text), "n%04d", i);
		assert_string_equal(status.per_node.items[i].node_name, text);
	}
	json_map_done(devicepool_status_map, &status);
	pool_index_free(scene.index);
}

enum { DEVICES = 40, STEPS = 4000 };

/* A device as a random number says; "" for none. */
static void random_share(uint64_t random, char text[64])
{
	static const char *const flags[] = { "", "c", "cr", "cra", "ca", "a", "r", "ra" };

	if (random % 5 == 0)
		text[0] = '\0';
	else
		(void)snprintf(text, 64, "n%d p/%d %s", (int)(random >> 8) % 4,
			       (int)(random >> 16) % 3, flags[(random >> 24) % ARRAY_LEN(flags)]);
}

/* However devices come, change and go: the counts are those of an index that saw only the devices
 * that exist now. */
static void counts_are_those_of_what_is_there(void **state)
{
	char now[DEVICES][64] = { "" };
	struct scene churned;
	struct scene fresh;
	uint64_t seed = 1;

	open_scene(&churned);
	open_scene(&fresh);
	for (int i = 0; i < STEPS; i++) {
		uint64_t random = suite_random(&seed);
		char *device = now[random % DEVICES];
		char after[64];

		random_share(suite_random(&seed), after);
		if (random >> 32 & 1)
			pool_index_reach(churned.index, "n1", random >> 33 & 1);
		move(&churned, device, after);
		memcpy(device, after, sizeof(after));
	}
	pool_index_reach(churned.index, "n1", true);
	for (int i = 0; i < DEVICES; i++)
		move(&fresh, "", now[i]);
	for (int i = 0; i < 3; i++) {
		auto_free char *resource = xasprintf("p/%d", i);
		auto_str struct str a = STR_INIT;
		auto_str struct str b = STR_INIT;

		write_pool(&churned, resource, &a);
		write_pool(&fresh, resource, &b);
		assert_string_equal(str_cstr(&a), str_cstr(&b));
	}
	pool_index_free(churned.index);
	pool_index_free(fresh.index);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, counts, counts_match);
	suite_add(&suite, "devices of a node out of reach are not healthy",
		  devices_of_a_node_out_of_reach_are_not_healthy, NULL);
	suite_add(&suite, "of many nodes the first are listed", of_many_nodes_the_first_are_listed,
		  NULL);
	suite_add(&suite, "the counts are those of what is there, whatever was before",
		  counts_are_those_of_what_is_there, NULL);
	return suite_run(&suite, "pool_index");
}
