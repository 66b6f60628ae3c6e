#include "cli/show/pools.h"

#include <stdlib.h>
#include <string.h>

#include "api/devicepool.h"
#include "api/json_map.h"
#include "api/object.h"
#include "base/mem.h"
#include "cli/model/cluster.h"
#include "cli/show/out.h"
#include "cli/show/table.h"

static const struct table_column columns[] = {
	{ "RESOURCE", false },  { "DEVICES", false }, { "CLAIMED", false }, { "HEALTHY", false },
	{ "ALLOCATED", false }, { "FREE", false },    { "NODES", true },
};

static const struct table_column node_columns[] = {
	{ "RESOURCE", false }, { "NODE", false },      { "DEVICES", false }, { "CLAIMED", false },
	{ "HEALTHY", false },  { "ALLOCATED", false }, { "FREE", false },    { "NODE IS", false },
};

static void add_number(struct table *table, int number)
{
	auto_free char *text = xasprintf("%d", number);

	table_add(table, text);
}

struct counts {
	int devices;
	int claimed;
	int healthy;
	int allocated;
	int free;
};

static void add_counts(struct table *table, const struct counts *counts)
{
	add_number(table, counts->devices);
	add_number(table, counts->claimed);
	add_number(table, counts->healthy);
	add_number(table, counts->allocated);
	add_number(table, counts->free);
}

/* What has become unhealthy under a pod counts as allocated alone. */
static int free_of(int healthy, int allocated)
{
	return healthy > allocated ? healthy - allocated : 0;
}

/* The controller counts like this, too, once a node has not been well for a while. */
static struct counts count_node(const struct cluster *cluster, const struct devicepool_node *node)
{
	bool well = !cluster_node_fault(cluster, node->node_name).reason;
	int healthy = well ? node->healthy : 0;

	return (struct counts){ node->devices, node->claimed, healthy, node->allocated,
				free_of(healthy, node->allocated) };
}

/* Node by node as far as these are listed; what is not, the pool's own numbers have. */
static struct counts count_pool(const struct cluster *cluster, const struct devicepool *pool)
{
	const struct devicepool_status *s = &pool->status;
	struct counts sum = { s->devices, s->claimed, s->healthy, s->allocated, 0 };
	int healthy = s->healthy;
	int allocated = s->allocated;

	for (size_t i = 0; i < s->per_node.len; i++) {
		const struct devicepool_node *node = &s->per_node.items[i];
		struct counts counts = count_node(cluster, node);

		sum.healthy -= node->healthy - counts.healthy;
		sum.free += counts.free;
		healthy -= node->healthy;
		allocated -= node->allocated;
	}
	sum.free += free_of(healthy, allocated);
	return sum;
}

static void add_pool(struct table *table, const struct cluster *cluster,
		     const struct devicepool *pool)
{
	const struct counts counts = count_pool(cluster, pool);

	table_add(table, pool->spec.resource_name);
	add_counts(table, &counts);
	add_number(table, pool->status.nodes);
}

static void add_nodes(struct table *table, const struct cluster *cluster,
		      const struct devicepool *pool, int64_t now_wall_ms)
{
	for (size_t i = 0; i < pool->status.per_node.len; i++) {
		const struct devicepool_node *node = &pool->status.per_node.items[i];
		const struct node_fault fault = cluster_node_fault(cluster, node->node_name);
		const struct counts counts = count_node(cluster, node);
		auto_free char *text = fault.reason ? node_fault_text(&fault, now_wall_ms) : NULL;

		table_add(table, pool->spec.resource_name);
		table_add(table, node->node_name);
		add_counts(table, &counts);
		table_add_coloured(table, text, COLOUR_RED);
	}
}

static const char *resource_of(const struct devicepool *pool)
{
	return pool->spec.resource_name ? pool->spec.resource_name : "";
}

static int by_resource(const void *a, const void *b)
{
	const struct devicepool *const *x = a;
	const struct devicepool *const *y = b;

	return strcmp(resource_of(*x), resource_of(*y));
}

static void print_table(const struct cluster *cluster, const void *const *list, size_t len,
			const struct pools_look *look, struct out *out)
{
	struct table table;

	if (look->nodes)
		table_init(&table, node_columns, ARRAY_LEN(node_columns));
	else
		table_init(&table, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < len; i++) {
		if (look->nodes)
			add_nodes(&table, cluster, list[i], look->now_wall_ms);
		else
			add_pool(&table, cluster, list[i]);
	}
	if (table.len > 0)
		table_print(&table, out, true, &out->text);
	table_done(&table);
}

static void print_json(const void *const *list, size_t len, struct out *out)
{
	json_t *items = json_array();
	auto_json json_t *all =
		json_pack("{ss,ss,so}", "apiVersion", "v1", "kind", "List", "items", items);

	for (size_t i = 0; i < len; i++)
		json_array_append_new(items, api_object_encode(&devicepool_kind, list[i]));
	out_json(out, all);
}

void pools_print(const struct cluster *cluster, const struct pools_look *look, struct out *out)
{
	size_t len;
	auto_free const void **list = cluster_objects(cluster, CLUSTER_POOL, &len);

	qsort(list, len, sizeof(*list), by_resource);
	switch (out->format) {
	case OUT_TABLE:
	case OUT_WIDE:
		print_table(cluster, list, len, look, out);
		return;
	case OUT_JSON:
	case OUT_YAML:
		print_json(list, len, out);
		return;
	case OUT_NAME:
		for (size_t i = 0; i < len; i++) {
			out_kind_name(&out->text, &devicepool_kind,
				      ((const struct devicepool *)list[i])->meta.name);
			str_add_char(&out->text, '\n');
		}
		return;
	}
}
