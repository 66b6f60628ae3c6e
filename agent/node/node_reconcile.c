#include "agent/node/node_reconcile.h"

#include "agent/node/this_node.h"
#include "api/node.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "kube/store.h"

const struct node *node_reconcile_object(const struct this_node *node)
{
	return node->self ? store_object(informer_store(node->self), node->name) : NULL;
}

struct reconcile *node_reconcile_new(const struct this_node *node,
				     const struct reconcile_spec *spec)
{
	struct reconcile_spec own = *spec;

	own.client = node->client;
	own.clock = node->clock;
	own.events = node->events;
	own.metrics = node->metrics;
	if (!own.field_manager)
		own.field_manager = "hostdev-agent";
	return reconcile_new(&own);
}

struct reconcile *node_reconcile_self(const struct this_node *node,
				      const struct reconcile_spec *spec)
{
	struct reconcile_spec own = *spec;

	own.kind = &node_kind;
	own.objects = node->self;
	own.max_running = 1;
	return node_reconcile_new(node, &own);
}
