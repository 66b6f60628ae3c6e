#include "agent/node/this_node.h"

#include "api/node.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "kube/store.h"

#define AGENT "hostdev-agent"

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
		.component = AGENT,
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

const struct node *this_node_object(const struct this_node *node)
{
	return node->self ? store_object(informer_store(node->self), node->name) : NULL;
}

struct reconcile *this_node_reconcile(const struct this_node *node,
				      const struct reconcile_spec *spec)
{
	struct reconcile_spec own = *spec;

	own.client = node->client;
	own.clock = node->clock;
	own.events = node->events;
	own.metrics = node->metrics;
	if (!own.field_manager)
		own.field_manager = AGENT;
	return reconcile_new(&own);
}

struct reconcile *this_node_reconcile_self(const struct this_node *node,
					   const struct reconcile_spec *spec)
{
	struct reconcile_spec own = *spec;

	own.kind = &node_kind;
	own.objects = node->self;
	own.max_running = 1;
	return this_node_reconcile(node, &own);
}
