#include "cli/pools.h"

#include <stdlib.h>
#include <string.h>

#include "api/devicepool.h"
#include "api/json_map.h"
#include "api/object.h"
#include "base/mem.h"
#include "cli/cluster.h"
#include "cli/out.h"
#include "cli/table.h"

static const struct table_column columns[] = {
	{ "RESOURCE", false },  { "DEVICES", false }, { "CLAIMED", false }, { "HEALTHY", false },
	{ "ALLOCATED", false }, { "FREE", false },    { "NODES", true },
};

static const struct table_column node_columns[] = {
	{ "RESOURCE", false }, { "NODE", false },      { "DEVICES", false }, { "CLAIMED", false },
	{ "HEALTHY", false },  { "ALLOCATED", false }, { "FREE", false },
};

static void add_number(struct table *table, int number)
{
	auto_free char *text = xasprintf("%d", number);

	table_add(table, text);
}

static void add_counts(struct table *table, int devices, int claimed, int healthy, int allocated)
{
	add_number(table, devices);
	add_number(table, claimed);
	add_number(table, healthy);
	add_number(table, allocated);
	/* What has become unhealthy under a pod counts as allocated alone. */
	add_number(table, healthy > allocated ? healthy - allocated : 0);
}

static void add_pool(struct table *table, const struct devicepool *pool)
{
	const struct devicepool_status *s = &pool->status;

	table_add(table, pool->spec.resource_name);
	add_counts(table, s->devices, s->claimed, s->healthy, s->allocated);
	add_number(table, s->nodes);
}

static void add_nodes(struct table *table, const struct devicepool *pool)
{
	for (size_t i = 0; i < pool->status.per_node.len; i++) {
		const struct devicepool_node *node = &pool->status.per_node.items[i];

		table_add(table, pool->spec.resource_name);
		table_add(table, node->node_name);
		add_counts(table, node->devices, node->claimed, node->healthy, node->allocated);
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

static void print_table(const void *const *list, size_t len, bool nodes, struct out *out)
{
	struct table table;

	if (nodes)
		table_init(&table, node_columns, ARRAY_LEN(node_columns));
	else
		table_init(&table, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < len; i++) {
		if (nodes)
			add_nodes(&table, list[i]);
		else
			add_pool(&table, list[i]);
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

void pools_print(const struct cluster *cluster, bool nodes, struct out *out)
{
	size_t len;
	auto_free const void **list = cluster_objects(cluster, CLUSTER_POOL, &len);

	qsort(list, len, sizeof(*list), by_resource);
	switch (out->format) {
	case OUT_TABLE:
	case OUT_WIDE:
		print_table(list, len, nodes, out);
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
