#include "agent/node/this_node.h"

#include "kube/clock.h"
#include "kube/events.h"

void this_node_init(struct this_node *node, const char *name, struct uv_loop_s *loop,
		    struct kube_client *client, const struct this_node_options *options,
		    struct metrics *metrics)
{
	*node = (struct this_node){
		.name = name,
		.loop = loop,
		.client = client,
		.clock = clock_new(loop),
		.metrics = metrics,
		.helper = options->helper,
		.deadline_ms = options->deadline_ms,
		.kubelet_dir = options->kubelet_dir,
		.host_root = options->host_root,
		.vfio_drivers = options->vfio_drivers,
		.cdi = options->cdi,
	};
	node->helper.metrics = metrics;
	node->events = events_new(&(struct events_deps){
		.client = client,
		.clock = node->clock,
		.metrics = metrics,
		.component = "hostdev-agent",
		.host = name,
	});
}

void this_node_done(struct this_node *node)
{
	inventory_free(node->owned);
	events_free(node->events);
	clock_free(node->clock);
	*node = (struct this_node){ 0 };
}

struct inventory *this_node_set_inventory(struct this_node *node, struct inventory *inventory)
{
	struct inventory *before = node->owned;

	node->owned = inventory;
	node->inventory = inventory;
	return before;
}
