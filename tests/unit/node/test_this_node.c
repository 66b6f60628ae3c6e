/* this_node: what it hands to the parts, and which inventory is whose. */
#include "agent/node/this_node.h"

#include <uv.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/id_names.h"
#include "fake/fake_client.h"
#include "kube/clock.h"
#include "kube/metrics.h"
#include "unit/suite.h"

struct scene {
	uv_loop_t loop;
	struct kube_client *client;
	struct metrics *metrics;
	struct id_names *names;
	struct this_node node;
};

static void scene_open(struct scene *scene)
{
	static char driver[] = "mlx5_vfio_pci";
	static char *drivers[] = { driver };
	const struct this_node_options options = {
		.helper = { .path = "/helper", .dev_root = "/d" },
		.deadline_ms = 4,
		.kubelet_dir = "/kubelet",
		.host_root = "/host",
		.vfio_drivers = { .items = drivers, .len = 1 },
	};

	*scene = (struct scene){ .client = fake_client_new(),
				 .metrics = metrics_new(),
				 .names = id_names_new() };
	assert_int_equal(uv_loop_init(&scene->loop), 0);
	this_node_init(&scene->node, "node1", &scene->loop, scene->client, &options,
		       scene->metrics);
}

static void scene_close(struct scene *scene)
{
	this_node_done(&scene->node);
	uv_run(&scene->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&scene->loop), 0);
	kube_client_free(scene->client);
	metrics_free(scene->metrics);
	id_names_free(scene->names);
}

SUITE_FIXTURE(scene, struct scene, scene_open, scene_close);

static struct inventory *scan(struct scene *scene)
{
	return inventory_new(&(struct inventory_options){ .node_name = "node1" }, facts_new(),
			     scene->names, 0);
}

static void parts_get_all_options_and_the_helper_the_metrics(void **state)
{
	const struct scene *scene = *state;
	const struct this_node *node = &scene->node;

	assert_string_equal(node->name, "node1");
	assert_ptr_equal(node->loop, &scene->loop);
	assert_ptr_equal(node->client, scene->client);
	assert_non_null(node->clock);
	assert_non_null(node->events);
	assert_ptr_equal(node->metrics, scene->metrics);
	assert_string_equal(node->helper.path, "/helper");
	assert_string_equal(node->helper.dev_root, "/d");
	assert_ptr_equal(node->helper.metrics, scene->metrics);
	assert_int_equal(node->deadline_ms, 4);
	assert_string_equal(node->kubelet_dir, "/kubelet");
	assert_string_equal(node->host_root, "/host");
	assert_int_equal(node->vfio_drivers.len, 1);
	assert_null(node->inventory);
}

/* The last one is freed at the end: the sanitizers see it. */
static void an_inventory_is_kept_until_the_next_and_then_handed_back(void **state)
{
	struct scene *scene = *state;
	struct inventory *first = scan(scene);
	struct inventory *second = scan(scene);

	assert_null(this_node_set_inventory(&scene->node, first));
	assert_ptr_equal(scene->node.inventory, first);
	assert_ptr_equal(this_node_set_inventory(&scene->node, second), first);
	assert_ptr_equal(scene->node.inventory, second);
	inventory_free(first);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "parts get all options, and the helper the metrics",
		  parts_get_all_options_and_the_helper_the_metrics, NULL);
	suite_add(&suite, "an inventory is kept until the next, and then handed back",
		  an_inventory_is_kept_until_the_next_and_then_handed_back, NULL);
	return suite_run(&suite, "this_node");
}
